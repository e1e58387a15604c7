//! A dump of elizaOS's database, made by `pg_dump` from PostgreSQL or PGlite: its rows are stored
//! under their ids, so that they belong to the same rooms and people as before.

mod dump;
mod values;

use galatea_core::{
    Account, AgentId, ChannelType, Content, Derived, EntityId, Memory, MemoryKind, MemoryScope,
    Relationship, RemoteId, RoomId, Source, Store, Timestamp, WorldId,
    store::{EntityChange, RoomChange, WorldChange},
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::Path};

use super::{
    super::import::{Bar, Count, unreadable},
    batch::Batch,
};
use crate::failure::Result;
use dump::{Dump, Row};

/// Whether a file that begins like this is a dump.
pub(in super::super) fn is_dump(start: &str) -> bool {
    start.contains("PostgreSQL database dump")
}

/// Reads and stores what belongs to this agent.
pub(in super::super) async fn import(
    store: &dyn Store,
    agent: AgentId,
    path: &Path,
    dry_run: bool,
    bar: &Bar,
) -> Result<Count> {
    let mut count = Count::default();
    let mut batch = Batch::default();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for row in Dump::open(path)? {
        let row = row?;
        let belongs: Option<AgentId> = row.id("agent_id");
        if let Some(other) = belongs.filter(|id| *id != agent) {
            *others.entry(other.to_string()).or_default() += 1;
            continue;
        }
        let (at, of) = (row.at, row.of);
        if batch.add(agent, &row) {
            count.read += 1;
        }
        if batch.is_full() && !dry_run {
            count.new += std::mem::take(&mut batch).store(store, agent).await?;
            bar.show(at, of);
        }
    }
    if !dry_run {
        count.new += batch.store(store, agent).await?;
    }
    if count.read == 0
        && let Some((other, _)) = others.iter().max_by_key(|(_, rows)| **rows)
    {
        let cause = format!("it has no memories of the agent {agent}, but of {other}");
        let fix = "Ids are kept, so the agent has to have the same: write `\"id\": \"…\"` with the one above into the character file, start it once, and import again";
        return Err(unreadable(path, &cause).with_fix(fix).into());
    }
    Ok(count)
}

/// Reads and converts all rows, for the fuzzer. `of` is the last line.
#[cfg(feature = "fuzz")]
pub(in super::super) fn read_all(lines: dump::Lines, of: usize, path: &Path, agent: AgentId) {
    let mut batch = Batch::default();
    for row in Dump::of_lines(lines, of, path) {
        let Ok(row) = row else { return };
        assert!(row.at <= row.of, "line {} of {}", row.at, row.of);
        batch.add(agent, &row);
    }
}

impl Batch {
    /// Adds a row; true if it is a memory. Rows of other tables, and rows without the ids that make
    /// them what they are, are passed over.
    fn add(&mut self, agent: AgentId, row: &Row) -> bool {
        self.rows += 1;
        let connections = &mut self.ingest.connections;
        match row.table.as_str() {
            "worlds" => connections.worlds.extend(world(agent, row)),
            "rooms" => connections.rooms.extend(room(agent, row)),
            "entities" => connections.entities.extend(entity(agent, row)),
            "participants" => {
                let pair = row.id::<EntityId>("entity_id").zip(row.id::<RoomId>("room_id"));
                if let Some((entity, room)) = pair {
                    self.add_participant(entity, room);
                }
            }
            "relationships" => self.relationships.extend(relationship(agent, row)),
            "memories" => {
                let Some(memory) = memory(agent, row) else { return false };
                match memory.kind {
                    MemoryKind::Messages | MemoryKind::ActionResult | MemoryKind::Custom => {
                        self.ingest.memories.push(memory);
                    }
                    _ => self.derived.new.push(Derived::new(memory, MemoryScope::Room, Vec::new())),
                }
                return true;
            }
            _ => self.rows -= 1,
        }
        false
    }
}

fn world(agent: AgentId, row: &Row) -> Option<WorldChange> {
    let id: WorldId = row.id("id")?;
    let remote = row.text("message_server_id").or_else(|| row.text("server_id"));
    Some(WorldChange {
        id,
        agent,
        source: source(row),
        remote: RemoteId(remote.map_or_else(|| id.to_string(), str::to_owned)),
        name: row.text("name").map(str::to_owned),
        metadata: row.object("metadata"),
    })
}

fn room(agent: AgentId, row: &Row) -> Option<RoomChange> {
    let id: RoomId = row.id("id")?;
    let kind = row.text("type").and_then(|kind| kind.parse().ok()).unwrap_or(ChannelType::Group);
    Some(RoomChange {
        id,
        agent,
        world: row.id("world_id").unwrap_or(WorldId(id.0)),
        parent: None,
        source: source(row),
        account: Account("default".to_owned()),
        remote: RemoteId(row.text("channel_id").map_or_else(|| id.to_string(), str::to_owned)),
        kind,
        name: row.text("name").map(str::to_owned),
        metadata: row.object("metadata"),
    })
}

fn source(row: &Row) -> Source {
    Source::from_name(row.text("source").unwrap_or("elizaos"))
}

fn entity(agent: AgentId, row: &Row) -> Option<EntityChange> {
    Some(EntityChange {
        id: row.id("id")?,
        agent,
        names: row.list("names"),
        metadata: row.object("metadata"),
    })
}

fn relationship(agent: AgentId, row: &Row) -> Option<Relationship> {
    Some(Relationship {
        id: row.id("id")?,
        agent_id: agent,
        source_entity_id: row.id("source_entity_id")?,
        target_entity_id: row.id("target_entity_id")?,
        tags: row.list("tags"),
        metadata: row.object("metadata"),
    })
}

fn memory(agent: AgentId, row: &Row) -> Option<Memory> {
    let content: Value = serde_json::from_str(row.text("content")?).ok()?;
    let text = content.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    // A content of a newer or a changed elizaOS keeps at least its text.
    let content: Content = serde_json::from_value(content).unwrap_or_else(|_| Content::text(text));
    let kind = match row.text("type")? {
        // elizaOS's name for pieces of documents.
        "knowledge" => MemoryKind::Fragments,
        other => MemoryKind::from_stored(other),
    };
    Some(Memory {
        id: row.id("id")?,
        kind,
        agent_id: agent,
        entity_id: row.id("entity_id")?,
        room_id: row.id("room_id")?,
        world_id: row.id("world_id"),
        content,
        metadata: row.object("metadata"),
        created_at: row.time("created_at").unwrap_or(Timestamp(0)),
    })
}

impl Row {
    fn object(&self, column: &str) -> Map<String, Value> {
        let value = self.text(column).and_then(|text| serde_json::from_str(text).ok());
        match value {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests;
