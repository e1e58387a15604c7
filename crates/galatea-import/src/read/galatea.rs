//! Galatea's own export: one record a line, under its id.

mod ending;

use galatea_core::{
    AgentId, Derived, MemoryId, MemoryScope, Timestamp,
    export::{FORMAT, Record},
    store::{EntityChange, RoomChange, WorldChange},
    visible::one_line,
};
use serde_json::{Map, Value};

use super::{Entry, Fault, Item, Read, Remark};
use crate::{
    fault::misread,
    lines::Line,
    moment::check_stored,
    seen::{Found, Seen},
    text::clipped,
};
use ending::Ending;

/// Longest name of a format that an error shows, in characters.
const LONGEST: usize = 80;

/// The rows of an export that belong to one agent.
pub(crate) struct Export<I> {
    lines: I,
    agent: AgentId,
    now: Timestamp,
    seen: Seen<MemoryId, usize>,
    ending: Ending,
    /// The number of the line that was read last.
    last: usize,
    is_over: bool,
}

impl<I: Iterator<Item = Line>> Export<I> {
    pub(crate) fn of(lines: I, agent: AgentId, now: Timestamp) -> Self {
        let (seen, ending) = (Seen::new(), Ending::default());
        Self { lines, agent, now, seen, ending, last: 0, is_over: false }
    }

    fn item(&mut self, number: usize, line: &str) -> Result<Item, Fault> {
        let fault = |cause| Fault::Line(number, cause);
        let record = record(line).map_err(fault)?;
        check(&record, self.now).map_err(fault)?;
        if let Some(agent) = owner(&record).filter(|id| *id != self.agent) {
            return Ok(Item::Other { agent, is_named: true });
        }
        match record {
            Record::Export { format, .. } if format != FORMAT => {
                let format = clipped(&one_line(&format), LONGEST);
                Err(Fault::File(format!(
                    "it has the format {format}, and this version reads {FORMAT}"
                )))
            }
            Record::Export { has_end, .. } => {
                // Several exports may stand in one file.
                let ended = self.ending.check();
                self.ending.begin(has_end);
                ended.map(|()| Item::Nothing).map_err(fault)
            }
            Record::End { records } => {
                self.ending.end(records).map(|()| Item::Nothing).map_err(fault)
            }
            Record::Memory(row) => self.memory(number, line, row).map_err(fault),
            other => Ok(connection(self.agent, other)),
        }
    }

    fn memory(&mut self, number: usize, line: &str, row: Box<Derived>) -> Result<Item, String> {
        let id = row.memory.id;
        match self.seen.add(id, number, line.trim()) {
            Found::New => Ok(Item::Memory { row, takes_part: true, remark: Remark::None }),
            Found::Same => Ok(Item::Copy),
            Found::Taken(first) => Err(format!("line {first} has another memory of the id {id}")),
        }
    }
}

impl<I: Iterator<Item = Line>> Iterator for Export<I> {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        let Some((number, line)) = self.lines.next() else {
            let is_first = !std::mem::replace(&mut self.is_over, true);
            let cause = self.ending.check().err().filter(|_| is_first)?;
            return Some(Err(Fault::Line(self.last, cause)));
        };
        self.last = number;
        self.ending.count();
        let line = match line {
            Ok(line) => line,
            Err(cause) => return Some(Err(Fault::Line(number, cause))),
        };
        Some(self.item(number, &line).map(|item| Entry { line: number, item }))
    }
}

/// One line of an export.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn record(line: &str) -> Result<Record, String> {
    serde_json::from_str(line).map_err(|e| misread(&e))
}

/// Checks what the store would refuse, and what cannot be right.
///
/// # Errors
/// What is wrong with it.
fn check(record: &Record, now: Timestamp) -> Result<(), String> {
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
        | Record::Task(_)
        | Record::Consent { .. }
        | Record::Trace { .. }
        | Record::End { .. } => None,
    }
}

/// A place, a person, or how they are connected.
pub(crate) fn connection(agent: AgentId, record: Record) -> Item {
    match record {
        Record::World(world) => Item::World(WorldChange {
            id: world.id,
            agent,
            source: world.source.clone(),
            remote: world.remote.clone(),
            name: Some(world.name.clone()),
            metadata: object(serde_json::to_value(&world.metadata)),
        }),
        Record::Room(room) => Item::Room(RoomChange {
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
        Record::Entity(entity) => Item::Person(EntityChange {
            id: entity.id,
            agent,
            names: entity.names,
            metadata: entity.metadata,
        }),
        Record::Relationship(tie) => Item::Relationship(tie),
        Record::Link(link) => Item::Link(link),
        Record::Export { .. }
        | Record::Memory(_)
        | Record::Linked(_)
        | Record::Task(_)
        | Record::Consent { .. }
        | Record::Trace { .. }
        | Record::Usage(_)
        | Record::End { .. } => Item::Nothing,
    }
}

fn object(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(map)) => map,
        Ok(_) | Err(_) => Map::new(),
    }
}
