//! A dump of elizaOS's database, made by `pg_dump` from PostgreSQL or PGlite: its rows are stored
//! under their ids, so that they belong to the same rooms and people as before.

mod dump;
mod people;
mod tasks;
mod values;

use galatea_core::{
    Account, AgentId, ChannelType, Content, Derived, Memory, MemoryId, MemoryKind, MemoryScope,
    Relationship, RemoteId, RoomId, Source, Timestamp, WorldId,
    fact::SUBJECT,
    speakers::ENTITY_NAME,
    store::{EntityChange, RoomChange, WorldChange},
};
use serde_json::{Map, Value, json};

use super::{Entry, Fault, Item, Read, Remark};
use crate::{
    lines::Line,
    moment::check,
    seen::{Found, Seen},
};
use dump::{Dump, Row};
use people::People;

/// Whether a file that begins like this is a dump.
pub(crate) fn is_dump(start: &str) -> bool {
    start.contains("PostgreSQL database dump")
}

/// The rows of a dump that belong to one agent.
pub(crate) struct Rows<I> {
    dump: Dump<I>,
    agent: AgentId,
    now: Timestamp,
    people: People,
    seen: Seen<MemoryId, usize>,
}

impl<I: Iterator<Item = Line>> Rows<I> {
    /// Reads the lines twice: people stand behind what they said.
    pub(crate) fn of(lines: impl Fn() -> I, agent: AgentId, now: Timestamp) -> Self {
        let people = People::of(Dump::of(lines()), agent);
        Self { dump: Dump::of(lines()), agent, now, people, seen: Seen::new() }
    }

    /// What a row is. Rows of other tables are passed over.
    ///
    /// # Errors
    /// Which column cannot be read, of those that make a row what it is.
    fn item(&mut self, row: &Row) -> Result<Item, String> {
        let agent = self.agent;
        if let Some(agent) = row.id("agent_id").filter(|id| *id != agent) {
            return Ok(Item::Other { agent, is_named: false });
        }
        Ok(match row.table.as_str() {
            "worlds" => Item::World(world(agent, row)?),
            "rooms" => Item::Room(room(agent, row)?),
            "entities" => Item::Person(entity(agent, row)?),
            "participants" => Item::Participant(row.needed("entity_id")?, row.needed("room_id")?),
            "relationships" => Item::Relationship(relationship(agent, row)?),
            "memories" => return self.memory(row),
            "tasks" => Item::Task(Box::new(tasks::task(agent, row, self.now)?)),
            _ => Item::Nothing,
        })
    }

    fn memory(&mut self, row: &Row) -> Result<Item, String> {
        // An exact copy of an earlier memory is not imported.
        if let Some(id) = row.id::<MemoryId>("id") {
            match self.seen.add(id, row.at, &row.columns) {
                Found::New => {}
                Found::Same => return Ok(Item::Copy),
                Found::Taken(line) => {
                    return Err(format!("line {line} has another memory of the id {id}"));
                }
            }
        }
        let mut memory = memory(self.agent, row)?;
        check(memory.created_at, self.now)?;
        attribute(&mut memory, &self.people);
        let remark = remark(&memory);
        let row = Box::new(Derived::new(memory, MemoryScope::Room, Vec::new()));
        Ok(Item::Memory { row, takes_part: false, remark })
    }
}

impl<I: Iterator<Item = Line>> Iterator for Rows<I> {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        Some(match self.dump.next()? {
            Ok(row) => self
                .item(&row)
                .map(|item| Entry { line: row.at, item })
                .map_err(|cause| Fault::Line(row.at, cause)),
            Err((line, cause)) => Err(Fault::Line(line, cause)),
        })
    }
}

fn world(agent: AgentId, row: &Row) -> Result<WorldChange, String> {
    let id: WorldId = row.needed("id")?;
    let remote = row.text("message_server_id").or_else(|| row.text("server_id"));
    Ok(WorldChange {
        id,
        agent,
        source: source(row),
        remote: RemoteId(remote.map_or_else(|| id.to_string(), str::to_owned)),
        name: row.text("name").map(str::to_owned),
        metadata: row.object("metadata"),
    })
}

fn room(agent: AgentId, row: &Row) -> Result<RoomChange, String> {
    let id: RoomId = row.needed("id")?;
    let kind = row.text("type").and_then(|kind| kind.parse().ok()).unwrap_or(ChannelType::Group);
    Ok(RoomChange {
        id,
        agent,
        world: row.id("world_id").unwrap_or(WorldId(id.0)),
        parent: None,
        source: source(row),
        account: Account(String::new()),
        remote: RemoteId(row.text("channel_id").map_or_else(|| id.to_string(), str::to_owned)),
        kind,
        name: row.text("name").map(str::to_owned),
        metadata: row.object("metadata"),
    })
}

fn source(row: &Row) -> Source {
    Source::from_name(row.text("source").unwrap_or("elizaos"))
}

fn entity(agent: AgentId, row: &Row) -> Result<EntityChange, String> {
    let (id, names) = (row.needed("id")?, row.list("names"));
    let mut metadata = row.object("metadata");
    if names.is_empty() && metadata.is_empty() {
        // A row without both is that of a forgotten person.
        metadata.insert("elizaos".to_owned(), json!({ "id": id }));
    }
    Ok(EntityChange { id, agent, names, metadata })
}

fn relationship(agent: AgentId, row: &Row) -> Result<Relationship, String> {
    Ok(Relationship {
        id: row.needed("id")?,
        agent_id: agent,
        source_entity_id: row.needed("source_entity_id")?,
        target_entity_id: row.needed("target_entity_id")?,
        tags: row.list("tags"),
        metadata: row.object("metadata"),
    })
}

fn memory(agent: AgentId, row: &Row) -> Result<Memory, String> {
    let lacks = |column: &str| format!("a memory has no `{column}`");
    let content = row.text("content").ok_or_else(|| lacks("content"))?;
    let content: Value = serde_json::from_str(content)
        .map_err(|e| format!("the `content` of a memory is not valid JSON: {e}"))?;
    let kind = match row.text("type").ok_or_else(|| lacks("type"))? {
        // elizaOS's name for pieces of documents.
        "knowledge" => MemoryKind::Fragments,
        other => MemoryKind::from_stored(other),
    };
    let created_at = row.time("created_at").ok_or_else(|| {
        let value = row.text("created_at").unwrap_or("NULL");
        format!("the `created_at` of a memory is not a time: {value}")
    })?;
    Ok(Memory {
        id: row.needed("id")?,
        kind,
        agent_id: agent,
        entity_id: row.needed("entity_id")?,
        room_id: row.needed("room_id")?,
        world_id: row.id("world_id"),
        content: readable(content),
        metadata: row.object("metadata"),
        created_at,
    })
}

/// elizaOS's reflection stores facts under the agent's id: one that names a participant of its room is
/// about that person. Prompts take names from the memory itself, and elizaOS has them in `entities`.
fn attribute(memory: &mut Memory, people: &People) {
    let is_fact = memory.kind == MemoryKind::Facts;
    if is_fact
        && is_of_agent(memory)
        && let Some(subject) = people.subject(memory.room_id, &memory.content.text)
    {
        memory.entity_id = subject;
    }
    if is_fact && is_of_agent(memory) {
        return;
    }
    if let Some(name) = people.name(memory.entity_id) {
        let key = if is_fact { SUBJECT } else { ENTITY_NAME };
        memory.metadata.entry(key).or_insert_with(|| name.into());
    }
}

fn is_of_agent(memory: &Memory) -> bool {
    memory.entity_id.0 == memory.agent_id.0
}

fn remark(memory: &Memory) -> Remark {
    match memory.kind {
        MemoryKind::Facts if is_of_agent(memory) => Remark::Unattributed,
        MemoryKind::Documents => Remark::Document { of: memory.id.to_string() },
        MemoryKind::Fragments => {
            let of = memory.metadata.get("documentId").and_then(Value::as_str);
            Remark::Document { of: of.map_or_else(|| memory.id.to_string(), str::to_owned) }
        }
        _ => Remark::None,
    }
}

/// The content without fields that are unusual, as a newer or a changed elizaOS may have them: the
/// others are kept, above all the message that it answers.
fn readable(content: Value) -> Content {
    let Value::Object(mut fields) = content else { return Content::default() };
    fields.retain(|name, value| {
        let field = Map::from_iter([(name.clone(), value.clone())]);
        !value.is_null() && serde_json::from_value::<Content>(field.into()).is_ok()
    });
    serde_json::from_value(fields.into()).unwrap_or_default()
}

impl Row {
    /// An id without which the row is nothing.
    fn needed<T: std::str::FromStr>(&self, column: &str) -> Result<T, String> {
        self.id(column).ok_or_else(|| {
            let value = self.text(column).unwrap_or("NULL");
            format!("`{column}` of the table {} is not an id: {value}", self.table)
        })
    }

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
