//! A query's view as conditions on `memories m`, for both dialects. Only the shape depends on the
//! query; every value is bound.

use galatea_core::{EntityId, MemoryKind, MemoryScope, store::RecallQuery, visibility::View};

use uuid::Uuid;

use crate::{
    dialect::{Statement, Value},
    plan::no_index,
    terms,
};

/// The language of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A number of rows.
pub(super) fn limit(most: usize) -> Value {
    Value::Int(Some(i64::try_from(most).unwrap_or(i64::MAX)))
}

/// A statement while it is put together.
pub(super) struct Builder<'a> {
    pub(super) dialect: Dialect,
    query: &'a RecallQuery,
    values: Vec<Value>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(dialect: Dialect, query: &'a RecallQuery) -> Self {
        Self { dialect, query, values: Vec::new() }
    }

    /// Binds a value: its placeholder.
    pub(super) fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    pub(super) fn finish(self, text: String) -> Statement {
        match self.dialect {
            Dialect::Sqlite => Statement::for_sqlite(text, self.values),
            Dialect::Postgres => Statement::for_postgres(text, self.values),
        }
    }

    fn one_of(&mut self, ids: &[EntityId]) -> String {
        self.owned(ids.iter().map(|id| id.0).collect())
    }

    /// One of these ids.
    pub(super) fn owned(&mut self, ids: Vec<Uuid>) -> String {
        let ids = self.bind(Value::Ids(ids));
        match self.dialect {
            Dialect::Sqlite => format!("IN (SELECT unhex(value) FROM json_each({ids}))"),
            Dialect::Postgres => format!("= ANY ({ids})"),
        }
    }

    /// A number among those bound.
    pub(super) fn among(&mut self, seqs: &[i64]) -> String {
        let seqs = self.bind(Value::Ints(seqs.to_vec()));
        match self.dialect {
            Dialect::Sqlite => format!("IN (SELECT value FROM json_each({seqs}))"),
            Dialect::Postgres => format!("= ANY ({seqs})"),
        }
    }

    /// Conditions beside place and sort: none for an ordinary question.
    pub(super) fn further(&mut self) -> Vec<String> {
        let query = self.query;
        let mut out = Vec::new();
        if let Some(room) = query.room {
            out.push(format!("m.room_id = {}", self.bind(room.0)));
        }
        if !query.people.is_empty() {
            out.push(format!("m.entity_id {}", self.one_of(&query.people)));
        }
        if let Some(since) = query.since {
            out.push(format!("m.created_at >= {}", self.bind(since.0)));
        }
        if let Some(before) = query.before {
            out.push(format!("m.created_at < {}", self.bind(before.0)));
        }
        out
    }

    /// The sorts as a condition on a table.
    pub(super) fn sorts(&self, table: &str) -> String {
        format!("{table}.type IN ('{}')", self.kinds().join("', '"))
    }

    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<&str> = self.query.sorts().iter().map(|kind| kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The parts of what may be seen, each a condition that an index answers; a memory is in one
    /// part at most.
    pub(super) fn places(&mut self) -> Vec<String> {
        let visible = &self.query.visible;
        let agent = self.bind(visible.agent().0);
        let mut parts = Vec::new();
        match visible.view() {
            View::Operator => parts.push(format!("m.agent_id = {agent}")),
            View::Room { room, world, with } => {
                let own = match self.dialect {
                    Dialect::Sqlite => no_index!("m.agent_id"),
                    Dialect::Postgres => "m.agent_id",
                };
                let room = self.bind(room.0);
                parts.push(format!("m.room_id = {room} AND {own} = {agent} AND m.scope = 'room'"));
                // The scope is not the room's: the condition of the index memories_wider.
                let wider = format!("m.agent_id = {agent} AND m.scope <> 'room'");
                let world = self.bind(world.0);
                parts.push(format!("{wider} AND m.scope = 'world' AND m.world_id = {world}"));
                parts.push(format!("{wider} AND m.scope = 'agent'"));
                if !with.is_empty() {
                    let with = self.one_of(with);
                    parts.push(format!("{wider} AND m.scope = 'private' AND m.entity_id {with}"));
                }
            }
        }
        parts
    }

    /// What is no longer true is left out, unless it is asked for.
    pub(super) fn validity(&self) -> Option<String> {
        (!self.query.superseded).then(|| "m.valid_until IS NULL".to_owned())
    }

    /// All conditions of each part.
    pub(super) fn conditions_by_place(&mut self) -> Vec<String> {
        let sorts = self.sorts("m");
        self.conditions_of(&[sorts])
    }

    /// The same for each sort by itself, which an index has in the order of time.
    pub(super) fn conditions_by_place_and_sort(&mut self) -> Vec<String> {
        let sorts: Vec<String> =
            self.kinds().iter().map(|kind| format!("m.type = '{kind}'")).collect();
        self.conditions_of(&sorts)
    }

    fn conditions_of(&mut self, sorts: &[String]) -> Vec<String> {
        let mut all: Vec<String> = self.validity().into_iter().collect();
        all.extend(self.further());
        let all: String = all.iter().map(|condition| format!(" AND {condition}")).collect();
        let places = self.places();
        let each = |place: &String| {
            let of_sort = |sort: &String| format!("{place} AND {sort}{all}");
            sorts.iter().map(of_sort).collect::<Vec<_>>()
        };
        places.iter().flat_map(each).collect()
    }
}

/// Whom what may be seen belongs to; none for an operator, who sees every place.
fn owners(query: &RecallQuery) -> Vec<(MemoryScope, Uuid)> {
    let visible = &query.visible;
    let View::Room { room, world, with } = visible.view() else { return Vec::new() };
    let mut owners = vec![
        (MemoryScope::Room, room.0),
        (MemoryScope::World, world.0),
        (MemoryScope::Agent, visible.agent().0),
    ];
    owners.extend(with.iter().map(|person| (MemoryScope::Private, person.0)));
    owners
}

/// The ids of all owners.
pub(super) fn owner_ids(query: &RecallQuery) -> Vec<Uuid> {
    owners(query).into_iter().map(|(_, owner)| owner).collect()
}

/// The words for place and sort of what may be seen; none for an operator.
pub(super) fn place_terms(query: &RecallQuery) -> Vec<String> {
    let owners = owners(query);
    let mut out = Vec::new();
    for kind in query.sorts() {
        for (scope, owner) in &owners {
            // Messages have the scope of their room.
            if *kind == MemoryKind::Messages && *scope != MemoryScope::Room {
                continue;
            }
            out.push(terms::place(*kind, false, *scope, *owner));
            if query.superseded {
                out.push(terms::place(*kind, true, *scope, *owner));
            }
        }
    }
    out
}
