//! A [`MemoryQuery`] as a statement. Only its shape depends on the query; every value is bound.

use galatea_core::store::MemoryQuery;

use super::page;
use crate::{read::Select, search};

/// Which conditions a query has, with their values.
pub(super) struct Filter<'a> {
    query: &'a MemoryQuery,
    matching: Option<String>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(query: &'a MemoryQuery) -> Self {
        Self { query, matching: query.matching.as_deref().and_then(search::expression) }
    }

    /// True when the full-text index is needed.
    pub(super) fn searches(&self) -> bool {
        self.matching.is_some()
    }

    /// Parameters in their fixed order; those without a value are not numbered.
    fn conditions(&self) -> (Vec<String>, usize) {
        let mut n = 0;
        let mut number = || {
            n += 1;
            n
        };
        let mut out = Vec::new();
        if self.matching.is_some() {
            out.push(format!("f.memories_fts MATCH ?{}", number()));
        }
        let query = self.query;
        // A plus keeps a column from choosing the index: a room's is narrower than a person's, that one narrower than the agent's.
        let (agent, entity) = (
            if query.room.is_some() || query.entity.is_some() { "+m.agent_id" } else { "m.agent_id" },
            if query.room.is_some() { "+m.entity_id" } else { "m.entity_id" },
        );
        out.push(format!("{agent} = ?{}", number()));
        let column = |name: &str, given: bool, comparison: &str, number: &mut dyn FnMut() -> usize| given.then(|| format!("{name} {comparison} ?{}", number()));
        out.extend(column("m.room_id", query.room.is_some(), "=", &mut number));
        out.extend(column("m.world_id", query.world.is_some(), "=", &mut number));
        out.extend(column(entity, query.entity.is_some(), "=", &mut number));
        out.extend(column("m.created_at", query.since.is_some(), ">=", &mut number));
        out.extend(column("m.created_at", query.before.is_some(), "<", &mut number));
        (out, n)
    }

    fn from(&self) -> &'static str {
        if self.searches() { "memories_fts f JOIN memories m ON m.seq = f.rowid" } else { "memories m" }
    }

    /// The kinds as conditions. Each kind is a range of every index in the order of time, several are merged: so one page of a room
    /// with millions of messages costs one page.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<&'static str> = self.query.kinds.iter().map(|kind| kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() && !self.searches() { vec!["messages", "action_result", "facts", "documents", "fragments", "custom"] } else { kinds }
    }

    fn kind_condition(kinds: &[&'static str]) -> Option<String> {
        (!kinds.is_empty()).then(|| format!("m.type IN ('{}')", kinds.join("', '")))
    }

    /// The matching rows as one page, newest or most relevant first; the last parameter is the limit.
    pub(super) fn page(&self) -> String {
        // The limit inside keeps the inner order.
        format!("SELECT group_concat(line, char({})) FROM ({})", page::ROW as u8, self.lines())
    }

    fn lines(&self) -> String {
        let (mut conditions, count) = self.conditions();
        let (kinds, limit) = (self.kinds(), count + 1);
        if self.searches() {
            conditions.extend(Self::kind_condition(&kinds));
            return format!(
                "SELECT {} AS line FROM {} WHERE {} ORDER BY f.rank, m.created_at DESC, m.seq DESC LIMIT +?{limit}",
                page::line(),
                self.from(),
                conditions.join(" AND ")
            );
        }
        let conditions = conditions.join(" AND ");
        let newest: Vec<String> = kinds
            .iter()
            .map(|kind| {
                format!(
                    "SELECT * FROM (SELECT m.seq, m.created_at FROM memories m WHERE m.type = '{kind}' AND {conditions} \
                     ORDER BY m.created_at DESC, m.seq DESC LIMIT +?{limit})"
                )
            })
            .collect();
        format!(
            "SELECT {} AS line FROM ({}) n JOIN memories m ON m.seq = n.seq ORDER BY m.created_at DESC, m.seq DESC LIMIT +?{limit}",
            page::line(),
            newest.join(" UNION ALL ")
        )
    }

    /// How many rows match.
    pub(super) fn count(&self) -> String {
        let (mut conditions, _) = self.conditions();
        conditions.extend(Self::kind_condition(&self.kinds()));
        format!("SELECT count(*) FROM {} WHERE {}", self.from(), conditions.join(" AND "))
    }

    /// Binds the values of the conditions, in their order.
    pub(super) fn bind<O>(&self, mut select: Select<O>) -> Select<O> {
        let query = self.query;
        if let Some(matching) = &self.matching {
            select = select.bind(matching.clone());
        }
        select = select.bind(query.agent.0);
        if let Some(room) = query.room {
            select = select.bind(room.0);
        }
        if let Some(world) = query.world {
            select = select.bind(world.0);
        }
        if let Some(entity) = query.entity {
            select = select.bind(entity.0);
        }
        if let Some(since) = query.since {
            select = select.bind(since.0);
        }
        if let Some(before) = query.before {
            select = select.bind(before.0);
        }
        select
    }
}

/// Both statements of a query.
#[cfg(test)]
pub(crate) fn statements(query: &MemoryQuery) -> [String; 2] {
    let filter = Filter::new(query);
    [filter.page(), filter.count()]
}
