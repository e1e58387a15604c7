//! A dump of elizaOS's database, made by `pg_dump` from PostgreSQL or PGlite: its rows are stored
//! under their ids, so that they belong to the same rooms and people as before.

mod dump;
mod notes;
mod people;
mod values;

use galatea_core::{
    Account, AgentId, ChannelType, Clock, Content, Derived, Memory, MemoryId, MemoryKind,
    MemoryScope, Relationship, RemoteId, RoomId, Source, Store, SystemClock, Timestamp, WorldId,
    fact::SUBJECT,
    speakers::ENTITY_NAME,
    store::{EntityChange, RoomChange, WorldChange},
};
use galatea_runtime::history::first_account;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

use super::{
    super::{
        bar::Bar,
        import::{Count, Import},
        input::Input,
        seen::{Found, Seen},
    },
    batch::{Batch, Derivation},
    moment::check,
    others::Others,
    writer::Writer,
};
use crate::failure::Result;
use dump::{Dump, Row};
use notes::Notes;
use people::People;

/// Whether a file that begins like this is a dump.
pub(in super::super) fn is_dump(start: &str) -> bool {
    start.contains("PostgreSQL database dump")
}

/// Reads and stores what belongs to this agent.
pub(in super::super) async fn import(
    store: &dyn Store,
    agent: AgentId,
    path: &Input,
    wanted: &Import,
    bar: &Bar,
) -> Result<Count> {
    let mut count = Count::default();
    let mut writer = Writer::new(store, agent, wanted);
    let mut others = Others::default();
    let mut seen = Seen::new();
    let now = SystemClock.now();
    let mut accounts = Accounts { agent, known: HashMap::new() };
    let people = People::of(Dump::open(path), agent);
    let mut notes = Notes::default();
    for row in Dump::open(path) {
        let row = match row {
            Ok(row) => row,
            Err((line, cause)) => {
                count.skipped.line(line, &cause);
                continue;
            }
        };
        let belongs: Option<AgentId> = row.id("agent_id");
        if let Some(other) = belongs.filter(|id| *id != agent) {
            others.add(other);
            continue;
        }
        let (at, of) = (row.at, row.of);
        let added = is_new(&row, &mut seen).and_then(|new| {
            if new { writer.batch.add(agent, now, &row, &people) } else { Ok(Added::Known) }
        });
        match added {
            Ok(added) => {
                count.read += usize::from(added != Added::Place);
                notes.add(&added);
            }
            Err(cause) => count.skipped.line(at, &cause),
        }
        if let Some(room) = writer.batch.ingest.connections.rooms.last_mut()
            && room.account.0.is_empty()
        {
            room.account = accounts.of(store, &room.source, now).await?;
        }
        if writer.advance(&mut count).await? {
            bar.show(at, of);
        }
    }
    writer.end(&mut count).await?;
    if !wanted.dry_run {
        notes.keep_stored(store, agent).await?;
    }
    notes.count(&mut count);
    others.check(path, agent, &count)?;
    Ok(count)
}

/// The account to which the rooms of each platform belong: elizaOS has one for an agent, and its ids
/// are those of the account that came first here.
struct Accounts {
    agent: AgentId,
    known: HashMap<Source, Account>,
}

impl Accounts {
    async fn of(&mut self, store: &dyn Store, source: &Source, now: Timestamp) -> Result<Account> {
        if let Some(known) = self.known.get(source) {
            return Ok(known.clone());
        }
        let first = first_account(store, self.agent, source, now).await?;
        let account = first.unwrap_or_else(|| Account("default".to_owned()));
        self.known.insert(source.clone(), account.clone());
        Ok(account)
    }
}

/// Reads and converts all rows, for the fuzzer. `of` is the last line.
#[cfg(feature = "fuzz")]
pub(in super::super) fn read_all(lines: dump::Lines, of: usize, agent: AgentId) {
    let now = SystemClock.now();
    let mut batch = Batch::default();
    for row in Dump::of_lines(lines, of) {
        let Ok(row) = row else { continue };
        assert!(row.at <= row.of, "line {} of {}", row.at, row.of);
        batch.add(agent, now, &row, &People::default()).ok();
    }
}

/// What a row of a dump became.
#[derive(Debug, Clone, PartialEq)]
enum Added {
    /// A place, a person, or nothing.
    Place,
    Memory,
    /// A memory that an earlier row of the file has.
    Known,
    /// A fact about no person.
    Unattributed(MemoryId),
    /// A document, or a piece of one; `of` is the document's id.
    Document {
        id: MemoryId,
        of: String,
    },
}

/// Whether a row is to be imported. An exact copy of an earlier memory is not.
///
/// # Errors
/// Names the line of another memory with its id.
fn is_new(row: &Row, seen: &mut Seen<MemoryId, usize>) -> std::result::Result<bool, String> {
    let Some(id) = row.id::<MemoryId>("id").filter(|_| row.table == "memories") else {
        return Ok(true);
    };
    match seen.add(id, row.at, &row.columns) {
        Found::New => Ok(true),
        Found::Same => Ok(false),
        Found::Taken(line) => Err(format!("line {line} has another memory of the id {id}")),
    }
}

impl Batch {
    /// Adds a row. Rows of other tables are passed over.
    ///
    /// # Errors
    /// Which column cannot be read, of those that make a row what it is.
    fn add(
        &mut self,
        agent: AgentId,
        now: Timestamp,
        row: &Row,
        people: &People,
    ) -> std::result::Result<Added, String> {
        let connections = &mut self.ingest.connections;
        match row.table.as_str() {
            "worlds" => connections.worlds.push(world(agent, row)?),
            "rooms" => connections.rooms.push(room(agent, row)?),
            "entities" => connections.entities.push(entity(agent, row)?),
            "participants" => {
                let (entity, room) = (row.needed("entity_id")?, row.needed("room_id")?);
                self.add_participant(entity, room);
            }
            "relationships" => self.relationships.push(relationship(agent, row)?),
            "memories" => {
                let mut memory = memory(agent, row)?;
                check(memory.created_at, now)?;
                attribute(&mut memory, people);
                let added = kind_of(&memory);
                let line = row.at;
                match memory.kind {
                    MemoryKind::Messages | MemoryKind::ActionResult | MemoryKind::Custom => {
                        self.rows += 1;
                        self.lines.push((memory.id, line));
                        self.ingest.memories.push(memory);
                    }
                    _ => {
                        let row = Derived::new(memory, MemoryScope::Room, Vec::new());
                        self.add_derivation(Derivation { row, line });
                    }
                }
                return Ok(added);
            }
            _ => return Ok(Added::Place),
        }
        self.rows += 1;
        Ok(Added::Place)
    }
}

fn world(agent: AgentId, row: &Row) -> std::result::Result<WorldChange, String> {
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

fn room(agent: AgentId, row: &Row) -> std::result::Result<RoomChange, String> {
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

fn entity(agent: AgentId, row: &Row) -> std::result::Result<EntityChange, String> {
    let (id, names) = (row.needed("id")?, row.list("names"));
    let mut metadata = row.object("metadata");
    if names.is_empty() && metadata.is_empty() {
        // A row without both is that of a forgotten person.
        metadata.insert("elizaos".to_owned(), json!({ "id": id }));
    }
    Ok(EntityChange { id, agent, names, metadata })
}

fn relationship(agent: AgentId, row: &Row) -> std::result::Result<Relationship, String> {
    Ok(Relationship {
        id: row.needed("id")?,
        agent_id: agent,
        source_entity_id: row.needed("source_entity_id")?,
        target_entity_id: row.needed("target_entity_id")?,
        tags: row.list("tags"),
        metadata: row.object("metadata"),
    })
}

fn memory(agent: AgentId, row: &Row) -> std::result::Result<Memory, String> {
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

fn kind_of(memory: &Memory) -> Added {
    match memory.kind {
        MemoryKind::Facts if is_of_agent(memory) => Added::Unattributed(memory.id),
        MemoryKind::Documents => Added::Document { id: memory.id, of: memory.id.to_string() },
        MemoryKind::Fragments => {
            let of = memory.metadata.get("documentId").and_then(Value::as_str);
            let of = of.map_or_else(|| memory.id.to_string(), str::to_owned);
            Added::Document { id: memory.id, of }
        }
        _ => Added::Memory,
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
    fn needed<T: std::str::FromStr>(&self, column: &str) -> std::result::Result<T, String> {
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
