//! Galatea's own export: rows are stored under their ids.

use galatea_core::{
    AgentId, Derived, MemoryKind, Store,
    store::{EntityChange, RoomChange, WorldChange},
};
use serde_json::{Map, Value};
use std::path::Path;

use super::{
    super::{
        format::{misread, unreadable},
        import::{Bar, Count, Import},
        lines::{last, lines},
        record::{FORMAT, Record},
        seen::{Found, Seen},
    },
    batch::Batch,
};
use crate::failure::Result;

/// Reads and stores. Rows of another agent become this agent's.
pub(in super::super) async fn import(
    store: &dyn Store,
    agent: AgentId,
    path: &Path,
    wanted: &Import,
    bar: &Bar,
) -> Result<Count> {
    let total = last(lines(path)?);
    let mut count = Count::default();
    let mut batch = Batch::default();
    let mut links = Vec::new();
    let mut seen = Seen::new();
    for (number, line) in lines(path)? {
        let read = line.and_then(|line| Ok((record(&line)?, line)));
        let (record, line) = match read {
            Ok(read) => read,
            Err(cause) => {
                count.skipped.line(number, &cause);
                continue;
            }
        };
        match record {
            Record::Export { format, .. } if format == FORMAT => {}
            Record::Export { format, .. } => {
                let cause = format!("it has the format {format}, and this version reads {FORMAT}");
                return Err(unreadable(path, &cause).into());
            }
            Record::Memory(memory) => {
                let id = memory.memory.id;
                match seen.add(id, number, line.trim()) {
                    Found::New => batch.memory(agent, *memory, number),
                    Found::Same => {}
                    Found::Taken(first) => {
                        let cause = format!("line {first} has another memory of the id {id}");
                        count.skipped.line(number, &cause);
                        continue;
                    }
                }
                count.read += 1;
            }
            Record::Link(link) => links.push(link),
            other => batch.connection(agent, other),
        }
        if batch.is_full() && !wanted.dry_run {
            std::mem::take(&mut batch).store(store, agent, &mut count).await?;
            bar.show(number, total);
        }
    }
    if !wanted.dry_run {
        batch.store(store, agent, &mut count).await?;
    }
    // All at once: a person's links are stored together.
    count.links = links.len();
    if wanted.links && !wanted.dry_run {
        let new = store.restore_links(agent, &links).await?;
        count.new_links = usize::try_from(new).unwrap_or(usize::MAX);
    }
    Ok(count)
}

/// One line of an export.
///
/// # Errors
/// Why it cannot be read.
pub(in super::super) fn record(line: &str) -> std::result::Result<Record, String> {
    serde_json::from_str(line).map_err(|e| misread(&e))
}

impl Batch {
    /// Adds a memory that stands on this line.
    pub(in super::super) fn memory(&mut self, agent: AgentId, mut derived: Derived, line: usize) {
        self.rows += 1;
        derived.memory.agent_id = agent;
        self.lines.push((derived.memory.id, line));
        let memory = &derived.memory;
        let is_plain = derived.sources.is_empty() && derived.valid_until.is_none();
        if matches!(memory.kind, MemoryKind::Messages | MemoryKind::ActionResult)
            || is_plain && memory.kind == MemoryKind::Custom
        {
            self.add_participant(memory.entity_id, memory.room_id);
            self.ingest.memories.push(derived.memory);
        } else {
            self.derived.new.push(derived);
        }
    }

    pub(in super::super) fn connection(&mut self, agent: AgentId, record: Record) {
        self.rows += 1;
        let change = &mut self.ingest.connections;
        match record {
            Record::World(world) => change.worlds.push(WorldChange {
                id: world.id,
                agent,
                source: world.source.clone(),
                remote: world.remote.clone(),
                name: Some(world.name.clone()),
                metadata: object(serde_json::to_value(&world.metadata)),
            }),
            Record::Room(room) => change.rooms.push(RoomChange {
                id: room.id,
                agent,
                world: room.world_id,
                parent: room.parent_id,
                source: room.source,
                account: room.account,
                remote: room.remote,
                kind: room.kind,
                name: Some(room.name),
                metadata: room.metadata,
            }),
            Record::Entity(entity) => change.entities.push(EntityChange {
                id: entity.id,
                agent,
                names: entity.names,
                metadata: entity.metadata,
            }),
            Record::Relationship(tie) => {
                self.relationships.push(galatea_core::Relationship { agent_id: agent, ..tie });
            }
            Record::Export { .. }
            | Record::Memory(_)
            | Record::Linked(_)
            | Record::Link(_)
            | Record::Usage(_) => {}
        }
    }
}

fn object(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::new(),
    }
}
