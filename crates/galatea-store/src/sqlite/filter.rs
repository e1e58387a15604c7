//! A [`MemoryQuery`] as a statement. Only its shape depends on the query; every value is bound.

use galatea_core::store::MemoryQuery;

use super::page;
use crate::{dialect::Value, plan::no_index};

/// Which conditions a query has, with their values.
pub(crate) struct Filter<'a> {
    query: &'a MemoryQuery,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(query: &'a MemoryQuery) -> Self {
        Self { query }
    }

    /// Parameters in their fixed order; those without a value are not numbered.
    fn conditions(&self) -> (Vec<String>, usize) {
        let mut n = 0;
        let mut number = || {
            n += 1;
            n
        };
        let mut out = Vec::new();
        let query = self.query;
        // The index of a room is narrower than that of a person, that one narrower than the agent's.
        let (agent, entity) = (
            if query.room.is_some() || query.entity.is_some() {
                no_index!("m.agent_id")
            } else {
                "m.agent_id"
            },
            if query.room.is_some() { no_index!("m.entity_id") } else { "m.entity_id" },
        );
        out.push(format!("{agent} = ${}", number()));
        let column =
            |name: &str, given: bool, comparison: &str, number: &mut dyn FnMut() -> usize| {
                given.then(|| format!("{name} {comparison} ${}", number()))
            };
        out.extend(column("m.room_id", query.room.is_some(), "=", &mut number));
        out.extend(column("m.world_id", query.world.is_some(), "=", &mut number));
        out.extend(column(entity, query.entity.is_some(), "=", &mut number));
        out.extend(column("m.created_at", query.since.is_some(), ">=", &mut number));
        out.extend(column("m.created_at", query.before.is_some(), "<", &mut number));
        (out, n)
    }

    /// The kinds as conditions. Each kind is a range of every index in the order of time, several
    /// are merged: so one page of a room with millions of messages costs one page.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<&'static str> =
            self.query.kinds.iter().map(|kind| kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() {
            vec!["messages", "action_result", "facts", "documents", "fragments", "custom"]
        } else {
            kinds
        }
    }

    fn kind_condition(kinds: &[&'static str]) -> Option<String> {
        (!kinds.is_empty()).then(|| format!("m.type IN ('{}')", kinds.join("', '")))
    }

    /// The matching rows as one page, newest first; the last parameter is the limit.
    pub(crate) fn page(&self) -> String {
        page::aggregate(&self.lines(""))
    }

    /// Of the matching rows those without an embedding that no model has refused; after the limit
    /// come model and width, or no width.
    pub(crate) fn without_embedding(&self) -> String {
        let next = self.conditions().1 + 2;
        page::aggregate(&self.lines(&format!(
            " AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.seq = m.seq AND e.model = ${next} AND e.width = coalesce(${}, e.width)) \
             AND NOT EXISTS (SELECT 1 FROM embedding_due d WHERE d.seq = m.seq AND d.claimed_until = 9223372036854775807)",
            next + 1
        )))
    }

    fn lines(&self, further: &str) -> String {
        let (conditions, count) = self.conditions();
        let (kinds, limit) = (self.kinds(), count + 1);
        let conditions = conditions.join(" AND ");
        let newest: Vec<String> = kinds
            .iter()
            .map(|kind| {
                format!(
                    "SELECT * FROM (SELECT m.seq, m.created_at FROM memories m WHERE m.type = '{kind}' AND {conditions}{further} \
                     ORDER BY m.created_at DESC, m.seq DESC LIMIT +${limit})"
                )
            })
            .collect();
        format!(
            "SELECT {} AS line FROM ({}) n JOIN memories m ON m.seq = n.seq ORDER BY m.created_at DESC, m.seq DESC LIMIT +${limit}",
            page::line(),
            newest.join(" UNION ALL ")
        )
    }

    /// How many rows match.
    pub(crate) fn count(&self) -> String {
        let (mut conditions, _) = self.conditions();
        conditions.extend(Self::kind_condition(&self.kinds()));
        format!("SELECT count(*) FROM memories m WHERE {}", conditions.join(" AND "))
    }

    /// The values of the conditions, in their order.
    pub(crate) fn values(&self) -> Vec<Value> {
        let query = self.query;
        let ids =
            [query.room.map(|id| id.0), query.world.map(|id| id.0), query.entity.map(|id| id.0)];
        let times = [query.since, query.before];
        let mut out: Vec<Value> = vec![query.agent.0.into()];
        out.extend(ids.into_iter().flatten().map(Value::from));
        out.extend(times.into_iter().flatten().map(|time| Value::from(time.0)));
        out
    }
}

/// All statements of a query.
#[cfg(test)]
pub(crate) fn statements(query: &MemoryQuery) -> [String; 3] {
    let filter = Filter::new(query);
    [filter.page(), filter.count(), filter.without_embedding()]
}
