//! Derived memories: with scope, validity and sources.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Derived, Error, MemoryId, MemoryScope, Result, Timestamp,
    store::{DerivedChange, DerivedStore},
};
use sqlx::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::to_json,
    dialect::{Dialects, Value, values},
    doomed,
    index::{place, reindex_terms, unindex_terms},
    plan::no_index,
    rows::StoredMemory,
    terms,
};

/// Most ids asked for in one statement.
const ASKED: usize = 500;

/// Not without its sources: one may have been deleted while a model read it. What replaced it may
/// come later: an import stores the older row first.
pub(crate) const SAVE: Dialects = Dialects {
    sqlite: "INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content, scope, valid_until, superseded_by) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $14 \
             WHERE NOT EXISTS (SELECT 1 FROM json_each($12) s WHERE NOT EXISTS (SELECT 1 FROM memories b WHERE b.id = unhex(s.value) AND b.agent_id = $3)) \
             ON CONFLICT (id) DO NOTHING",
    postgres: "INSERT INTO memories (id, type, agent_id, entity_id, room_id, world_id, created_at, metadata, content, scope, valid_until, superseded_by, words) \
               SELECT $1::uuid, $2::text, $3::uuid, $4::uuid, $5::uuid, $6::uuid, $7::bigint, $8::json, $9::json, $10::text, $11::bigint, $14::uuid, to_tsvector('simple', $13::text) \
               WHERE NOT EXISTS (SELECT 1 FROM unnest($12::uuid[]) s (id) WHERE NOT EXISTS (SELECT 1 FROM memories b WHERE b.id = s.id AND b.agent_id = $3 FOR KEY SHARE)) \
               ON CONFLICT (id) DO NOTHING",
};
/// A row that was there before keeps the sources it has.
pub(crate) const SAVE_SOURCES: Dialects = Dialects {
    sqlite: "INSERT INTO memory_sources (memory_id, source_id) SELECT DISTINCT $1, unhex(s.value) FROM json_each($3) s \
             WHERE EXISTS (SELECT 1 FROM memories WHERE id = $1 AND agent_id = $2) AND NOT EXISTS (SELECT 1 FROM memory_sources WHERE memory_id = $1)",
    postgres: "INSERT INTO memory_sources (memory_id, source_id) SELECT DISTINCT $1::uuid, s.id FROM unnest($3::uuid[]) s (id) \
               WHERE EXISTS (SELECT 1 FROM memories WHERE id = $1 AND agent_id = $2::uuid) AND NOT EXISTS (SELECT 1 FROM memory_sources WHERE memory_id = $1)",
};
pub(crate) const CONFIRM: Dialects = Dialects {
    sqlite: "INSERT INTO memory_sources (memory_id, source_id) SELECT $1, $3 \
             WHERE EXISTS (SELECT 1 FROM memories WHERE id = $1 AND agent_id = $2) AND EXISTS (SELECT 1 FROM memories WHERE id = $3 AND agent_id = $2) \
             ON CONFLICT DO NOTHING",
    postgres: "INSERT INTO memory_sources (memory_id, source_id) SELECT $1::uuid, $3::uuid \
               WHERE EXISTS (SELECT 1 FROM memories WHERE id = $1 AND agent_id = $2::uuid) AND EXISTS (SELECT 1 FROM memories WHERE id = $3 AND agent_id = $2) \
               ON CONFLICT DO NOTHING",
};

/// Not if what replaces it was not stored.
macro_rules! superseding {
    ($by:literal) => {
        concat!(
            "id = $1 AND agent_id = $2 AND valid_until IS NULL AND (",
            $by,
            " IS NULL OR EXISTS (SELECT 1 FROM memories b WHERE b.id = $4 AND b.agent_id = $2))"
        )
    };
}
pub(crate) const UNINDEX_ONE: Dialects =
    Dialects { sqlite: unindex_terms!("m.id = $1 AND m.agent_id = $2"), postgres: "" };
pub(crate) const REINDEX_ONE: Dialects =
    Dialects { sqlite: reindex_terms!("m.id = $1 AND m.agent_id = $2"), postgres: "" };
pub(crate) const SUPERSEDE: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE memories SET valid_until = $3, superseded_by = $4 WHERE ",
        superseding!("$4")
    ),
    postgres: concat!(
        "UPDATE memories SET valid_until = $3, superseded_by = $4::uuid, words = ts_delete(words, ",
        place!("NULL"),
        ") || to_tsvector('simple', ",
        place!("1"),
        ") WHERE ",
        superseding!("$4::uuid")
    ),
};
pub(crate) const RESTORE: Dialects = Dialects {
    sqlite: "UPDATE memories SET valid_until = NULL, superseded_by = NULL WHERE id = $1 AND agent_id = $2",
    postgres: concat!(
        "UPDATE memories SET valid_until = NULL, superseded_by = NULL, words = ts_delete(words, ",
        place!("valid_until"),
        ") || to_tsvector('simple', ",
        place!("NULL"),
        ") WHERE id = $1 AND agent_id = $2"
    ),
};
/// A row by itself, without what was made from it.
pub(crate) const DOOM_ALONE: Dialects = Dialects::same(
    "INSERT INTO doomed (id) SELECT id FROM memories WHERE id = $1 AND agent_id = $2",
);

macro_rules! read {
    (sqlite: $condition:literal) => {
        concat!(
            "SELECT m.id, m.type AS kind, m.agent_id, m.entity_id, m.room_id, m.world_id, m.created_at, m.metadata, m.content, \
             m.scope, m.valid_until, m.superseded_by FROM memories m WHERE ", no_index!("m.agent_id"), " = $1 AND ", $condition, " ORDER BY m.created_at, m.seq"
        )
    };
    (postgres: $condition:literal) => {
        concat!(
            "SELECT m.id, m.type AS kind, m.agent_id, m.entity_id, m.room_id, m.world_id, m.created_at, m.metadata::text AS metadata, \
             m.content::text AS content, m.scope, m.valid_until, m.superseded_by FROM memories m \
             WHERE m.agent_id = $1 AND ", $condition, " ORDER BY m.created_at, m.seq"
        )
    };
}
pub(crate) const BY_ID: Dialects = Dialects {
    sqlite: read!(sqlite: "m.id IN (SELECT unhex(value) FROM json_each($2))"),
    postgres: read!(postgres: "m.id = ANY ($2)"),
};
pub(crate) const BY_SOURCE: Dialects = Dialects {
    sqlite: read!(sqlite: "m.id IN (SELECT s.memory_id FROM json_each($2) j JOIN memory_sources s ON s.source_id = unhex(j.value))"),
    postgres: read!(postgres: "m.id = ANY (ARRAY(SELECT s.memory_id FROM memory_sources s WHERE s.source_id = ANY ($2)))"),
};
pub(crate) const SOURCES: Dialects = Dialects {
    sqlite: "SELECT memory_id, source_id FROM memory_sources WHERE memory_id IN (SELECT unhex(value) FROM json_each($1)) ORDER BY memory_id, source_id",
    postgres: "SELECT memory_id, source_id FROM memory_sources WHERE memory_id = ANY ($1) ORDER BY memory_id, source_id",
};

#[derive(FromRow)]
struct Stored {
    #[sqlx(flatten)]
    memory: StoredMemory,
    scope: String,
    valid_until: Option<i64>,
    superseded_by: Option<Uuid>,
}

fn ids_value(ids: &[MemoryId]) -> Value {
    Value::Ids(ids.iter().map(|id| id.0).collect())
}

fn push_new(change: &mut Change, derived: &Derived) -> Result<usize> {
    let Derived { memory, scope, valid_until, superseded_by, sources } = derived;
    let owner = match scope {
        MemoryScope::Room => memory.room_id.0,
        MemoryScope::Agent => memory.agent_id.0,
        MemoryScope::Private => memory.entity_id.0,
        MemoryScope::World => {
            let world = memory.world_id.ok_or_else(|| {
                Error::invalid("a memory for a whole World names no World")
                    .with_fix("set its World, or keep it to its room")
            })?;
            world.0
        }
    };
    let place = terms::place(memory.kind, valid_until.is_some(), *scope, owner);
    let mut row = values![
        memory.id.0,
        memory.kind.as_str(),
        memory.agent_id.0,
        memory.entity_id.0,
        memory.room_id.0,
        memory.world_id.map(|id| id.0),
        memory.created_at.0
    ];
    row.push(Value::Json(Some(to_json(&memory.metadata)?)));
    row.push(Value::Json(Some(to_json(&memory.content)?)));
    row.extend(values![scope.as_str(), valid_until.map(|at| at.0)]);
    row.push(ids_value(sources));
    row.push(terms::of_row(&place, &memory.content.text).into());
    // One that holds was replaced by nothing.
    row.push(superseded_by.filter(|_| valid_until.is_some()).map(|id| id.0).into());
    let mut from = values![memory.id.0, memory.agent_id.0];
    from.push(ids_value(sources));
    let statements = vec![SAVE.with(row), SAVE_SOURCES.with(from)];
    change.summarises(memory);
    change.others += 1;
    change.push(Write::Other { statements, counted: Some(0) })
}

/// Adds a change of derived memories: the numbers of the writes that store new rows.
pub(crate) fn push(change: &mut Change, agent: AgentId, of: &DerivedChange) -> Result<Vec<usize>> {
    let stored = of
        .new
        .iter()
        .filter(|derived| derived.memory.agent_id == agent)
        .map(|derived| push_new(change, derived))
        .collect::<Result<Vec<_>>>()?;
    let mut other = |statements| change.push(Write::Other { statements, counted: None }).map(drop);
    for (id, source) in &of.confirmed {
        other(vec![CONFIRM.with(values![id.0, agent.0, source.0])])?;
    }
    for superseded in &of.superseded {
        let which = || values![superseded.id.0, agent.0];
        let mut set = which();
        set.extend(values![superseded.at.0, superseded.by.map(|id| id.0)]);
        other(vec![UNINDEX_ONE.with(which()), SUPERSEDE.with(set), REINDEX_ONE.with(which())])?;
    }
    for id in &of.restored {
        let which = || values![id.0, agent.0];
        other(vec![UNINDEX_ONE.with(which()), RESTORE.with(which()), REINDEX_ONE.with(which())])?;
    }
    for id in &of.removed {
        let mut statements = vec![DOOM_ALONE.with(values![id.0, agent.0])];
        statements.extend(doomed::unindex());
        statements.extend(doomed::remove(None));
        statements.extend(crate::index::keep());
        other(statements)?;
    }
    if !of.removed.is_empty() {
        change.scrub = true;
        change.changed = true;
    }
    Ok(stored)
}

impl Database {
    async fn read_derived(
        &self,
        statement: Dialects,
        agent: AgentId,
        of: &[MemoryId],
    ) -> Result<Vec<Derived>> {
        let mut rows: Vec<Stored> = Vec::new();
        for some in of.chunks(ASKED) {
            let mut values = values![agent.0];
            values.push(ids_value(some));
            rows.extend(self.all::<Stored>(statement.with(values)).await?);
        }
        let found: Vec<Derived> = rows
            .into_iter()
            .map(|row| {
                Ok(Derived {
                    memory: row.memory.decode()?,
                    scope: MemoryScope::from_stored(&row.scope),
                    valid_until: row.valid_until.map(Timestamp),
                    superseded_by: row.superseded_by.map(MemoryId),
                    sources: Vec::new(),
                })
            })
            .collect::<Result<_>>()?;
        self.with_sources(found).await
    }

    async fn with_sources(&self, mut found: Vec<Derived>) -> Result<Vec<Derived>> {
        let mut sources: HashMap<Uuid, Vec<MemoryId>> = HashMap::new();
        let all: Vec<MemoryId> = found.iter().map(|derived| derived.memory.id).collect();
        for some in all.chunks(ASKED) {
            for (id, source) in
                self.all::<(Uuid, Uuid)>(SOURCES.with(vec![ids_value(some)])).await?
            {
                sources.entry(id).or_default().push(MemoryId(source));
            }
        }
        for derived in &mut found {
            derived.sources = sources.remove(&derived.memory.id.0).unwrap_or_default();
        }
        Ok(found)
    }
}

#[async_trait]
impl DerivedStore for Database {
    async fn change_derived(&self, agent: AgentId, of: &DerivedChange) -> Result<u64> {
        let mut change = Change::default();
        let stored = push(&mut change, agent, of)?;
        let hits = self.write(change).await?;
        Ok(stored.iter().filter_map(|n| hits.get(*n)).sum())
    }

    async fn derived(&self, agent: AgentId, ids: &[MemoryId]) -> Result<Vec<Derived>> {
        self.read_derived(BY_ID, agent, ids).await
    }

    async fn derived_from(&self, agent: AgentId, sources: &[MemoryId]) -> Result<Vec<Derived>> {
        let mut found = self.read_derived(BY_SOURCE, agent, sources).await?;
        // One made from sources of two statements comes twice.
        found.sort_by_key(|derived| (derived.memory.created_at, derived.memory.id));
        found.dedup_by_key(|derived| derived.memory.id);
        Ok(found)
    }
}
