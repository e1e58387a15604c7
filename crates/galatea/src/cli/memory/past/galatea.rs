//! Galatea's own export: rows are stored under their ids.

use galatea_core::{
    AgentId, Clock, Derived, MemoryKind, MemoryScope, Store, SystemClock, Timestamp,
    store::{EntityChange, RoomChange, WorldChange},
    visible::one_line,
};
use serde_json::{Map, Value};

use super::{
    super::{
        bar::Bar,
        format::{misread, unreadable},
        import::{Count, Import},
        input::Input,
        lines::{last, lines},
        record::{FORMAT, Record},
        seen::{Found, Seen},
        select::clipped,
    },
    batch::{Batch, Derivation},
    ending::Ending,
    moment::check_stored,
    others::Others,
    writer::Writer,
};
use crate::failure::Result;

/// Longest name of a format that an error shows, in characters.
const LONGEST: usize = 80;

/// Reads and stores what belongs to this agent.
pub(in super::super) async fn import(
    store: &dyn Store,
    agent: AgentId,
    path: &Input,
    wanted: &Import,
    bar: &Bar,
) -> Result<Count> {
    let total = last(lines(path));
    let mut count = Count::default();
    let mut writer = Writer::new(store, agent, wanted);
    let mut others = Others::default();
    let mut links = Vec::new();
    let mut seen = Seen::new();
    let now = SystemClock.now();
    let mut ending = Ending::default();
    for (number, line) in lines(path) {
        ending.count();
        let read = line.and_then(|line| {
            let record = record(&line)?;
            check(&record, now)?;
            Ok((record, line))
        });
        let (record, line) = match read {
            Ok(read) => read,
            Err(cause) => {
                count.skipped.line(number, &cause);
                continue;
            }
        };
        if let Some(other) = owner(&record).filter(|id| *id != agent) {
            others.add(other);
            count.skipped.line(number, &format!("it belongs to the agent {other}"));
            continue;
        }
        match record {
            Record::Export { format, has_end, .. } if format == FORMAT => {
                // Several exports may stand in one file.
                if let Err(cause) = ending.check() {
                    count.skipped.line(number, &cause);
                }
                ending.begin(has_end);
            }
            Record::Export { format, .. } => {
                let format = clipped(&one_line(&format), LONGEST);
                let cause = format!("it has the format {format}, and this version reads {FORMAT}");
                return Err(unreadable(path, &cause).into());
            }
            Record::Memory(memory) => {
                let id = memory.memory.id;
                match seen.add(id, number, line.trim()) {
                    Found::New => writer.batch.memory(*memory, number),
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
            Record::End { records } => {
                if let Err(cause) = ending.end(records) {
                    count.skipped.line(number, &cause);
                }
            }
            other => writer.batch.connection(agent, other),
        }
        if writer.advance(&mut count).await? {
            bar.show(number, total);
        }
    }
    if let Err(cause) = ending.check() {
        count.skipped.line(total, &cause);
    }
    writer.end(&mut count).await?;
    others.check(path, agent, &count)?;
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

/// Checks what the store would refuse, and what cannot be right.
///
/// # Errors
/// What is wrong with it.
fn check(record: &Record, now: Timestamp) -> std::result::Result<(), String> {
    let Record::Memory(row) = record else { return Ok(()) };
    if row.scope == MemoryScope::World && row.memory.world_id.is_none() {
        return Err("a memory for a whole World names no World".to_owned());
    }
    check_stored(row.memory.created_at, now)
}

/// The agent to which a record belongs.
fn owner(record: &Record) -> Option<AgentId> {
    match record {
        Record::World(world) => Some(world.agent_id),
        Record::Room(room) => Some(room.agent_id),
        Record::Entity(entity) => Some(entity.agent_id),
        Record::Relationship(tie) => Some(tie.agent_id),
        Record::Memory(row) => Some(row.memory.agent_id),
        Record::Export { .. }
        | Record::Linked(_)
        | Record::Link(_)
        | Record::Usage(_)
        | Record::End { .. } => None,
    }
}

impl Batch {
    /// Adds a memory that stands on this line.
    pub(in super::super) fn memory(&mut self, derived: Derived, line: usize) {
        let memory = &derived.memory;
        let is_plain = derived.sources.is_empty() && derived.valid_until.is_none();
        if matches!(memory.kind, MemoryKind::Messages | MemoryKind::ActionResult)
            || is_plain && memory.kind == MemoryKind::Custom
        {
            self.rows += 1;
            self.lines.push((memory.id, line));
            self.add_participant(memory.entity_id, memory.room_id);
            self.ingest.memories.push(derived.memory);
        } else {
            self.add_derivation(Derivation { row: derived, line });
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
            Record::Entity(entity) => self.add_person(EntityChange {
                id: entity.id,
                agent,
                names: entity.names,
                metadata: entity.metadata,
            }),
            Record::Relationship(tie) => {
                self.relationships.push(tie);
            }
            Record::Export { .. }
            | Record::Memory(_)
            | Record::Linked(_)
            | Record::Link(_)
            | Record::Usage(_)
            | Record::End { .. } => {}
        }
    }
}

fn object(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests;
