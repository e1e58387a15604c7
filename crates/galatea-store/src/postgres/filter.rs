//! A [`MemoryQuery`] as a statement. Only its shape depends on the query; every value is bound.

use galatea_core::store::MemoryQuery;

use crate::dialect::Value;

pub(crate) const COLUMNS: &str = "m.id, m.type AS kind, m.agent_id, m.entity_id, m.room_id, m.world_id, m.created_at, m.metadata::text AS metadata, m.content::text AS content";

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
        let query = self.query;
        let mut out = Vec::new();
        for (given, condition) in [
            (true, "m.agent_id = $"),
            (query.room.is_some(), "m.room_id = $"),
            (query.world.is_some(), "m.world_id = $"),
            (query.entity.is_some(), "m.entity_id = $"),
            (query.since.is_some(), "m.created_at >= $"),
            (query.before.is_some(), "m.created_at < $"),
        ] {
            if given {
                out.push(condition.replace('$', &format!("${}", out.len() + 1)));
            }
        }
        let count = out.len();
        (out, count)
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

    /// The matching rows, newest first; the last parameter is the limit.
    pub(crate) fn page(&self) -> String {
        self.rows("")
    }

    /// Of the matching rows those without an embedding that no model has refused; after the limit
    /// come model and width, or no width. A value is looked up for each row, by its number; for NOT
    /// EXISTS the server reads all embeddings.
    pub(crate) fn without_embedding(&self) -> String {
        let next = self.conditions().1 + 2;
        self.rows(&format!(
            " AND (SELECT true FROM embeddings e WHERE e.seq = m.seq AND e.model = ${next} AND e.width = coalesce(${}::integer, e.width)) IS NULL \
             AND (SELECT true FROM embedding_due d WHERE d.seq = m.seq AND d.claimed_until = 9223372036854775807) IS NULL",
            next + 1
        ))
    }

    fn rows(&self, further: &str) -> String {
        let (conditions, count) = self.conditions();
        let (kinds, limit) = (self.kinds(), count + 1);
        let conditions = conditions.join(" AND ");
        let newest: Vec<String> = kinds
            .iter()
            .map(|kind| {
                format!(
                    "(SELECT {COLUMNS}, m.seq FROM memories m WHERE m.type = '{kind}' AND {conditions}{further} \
                     ORDER BY m.created_at DESC, m.seq DESC LIMIT ${limit})"
                )
            })
            .collect();
        format!(
            "SELECT * FROM ({}) n ORDER BY created_at DESC, seq DESC LIMIT ${limit}",
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

/// All statements of a query that every server takes.
#[cfg(test)]
pub(crate) fn statements(query: &MemoryQuery) -> [String; 3] {
    let filter = Filter::new(query);
    [filter.page(), filter.count(), filter.without_embedding()]
}
