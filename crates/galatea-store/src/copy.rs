//! All rows of an agent, table by table, in a form that both databases read: an agent moves from a SQLite
//! file to a server, or back, with its queues, its ledger and its memory.
//!
//! A row is a JSON array in the order of its columns. Ids are hexadecimal; documents are text. Numbers of
//! rows are not copied: rows are added in their order. Embeddings are made anew from the memories.

use galatea_core::{AgentId, Error, MemoryKind, MemoryScope, Result};
use serde_json::Value as Json;
use std::fmt::Write as _;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::to_json,
    dialect::{Statement, Value, values},
    terms,
};

/// Sort of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Id,
    Int,
    Bool,
    Text,
    /// `json` in PostgreSQL.
    Json,
    /// `jsonb` in PostgreSQL.
    Jsonb,
}
use Sort::{Bool, Id, Int, Jsonb, Text};

struct Table {
    name: &'static str,
    columns: &'static [(&'static str, Sort)],
    /// Its rows of agent `$1`.
    of_agent: &'static str,
    order: &'static str,
}

const OF_AGENT: &str = "agent_id = $1";
const OF_ROOMS: &str = "room_id IN (SELECT r.id FROM rooms r WHERE r.agent_id = $1)";
const OF_MEMORIES: &str = "memory_id IN (SELECT m.id FROM memories m WHERE m.agent_id = $1)";
const OF_MESSAGES: &str = "message_id IN (SELECT i.id FROM inbox i WHERE i.agent_id = $1)";
/// Column of a memory whose words PostgreSQL indexes.
const MEMORIES: &str = "memories";

macro_rules! table {
    ($name:literal, $which:expr, $order:literal, [$(($column:literal, $sort:expr)),* $(,)?]) => {
        Table { name: $name, columns: &[$(($column, $sort)),*], of_agent: $which, order: $order }
    };
}

/// In the order in which they are added: what a row refers to stands before it.
const TABLES: &[Table] = &[
    table!("agents", "id = $1", "id", [("id", Id), ("name", Text), ("character", Sort::Json)]),
    table!(
        "worlds",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("source", Text),
            ("remote", Text),
            ("name", Text),
            ("metadata", Jsonb)
        ]
    ),
    table!(
        "rooms",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("world_id", Id),
            ("parent_id", Id),
            ("source", Text),
            ("account", Text),
            ("remote", Text),
            ("type", Text),
            ("name", Text),
            ("metadata", Jsonb)
        ]
    ),
    table!(
        "entities",
        OF_AGENT,
        "id",
        [("id", Id), ("agent_id", Id), ("names", Jsonb), ("metadata", Jsonb)]
    ),
    table!(
        "participants",
        OF_ROOMS,
        "room_id, entity_id",
        [("room_id", Id), ("entity_id", Id), ("state", Text)]
    ),
    table!(
        "relationships",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("source_entity_id", Id),
            ("target_entity_id", Id),
            ("tags", Sort::Json),
            ("metadata", Sort::Json)
        ]
    ),
    table!(
        "identity_links",
        OF_AGENT,
        "entity_id, linked_id",
        [("agent_id", Id), ("entity_id", Id), ("linked_id", Id), ("linked_at", Int)]
    ),
    table!(
        "blocks",
        OF_AGENT,
        "source, kind, remote",
        [
            ("agent_id", Id),
            ("source", Text),
            ("kind", Text),
            ("remote", Text),
            ("reason", Text),
            ("at", Int)
        ]
    ),
    table!(
        "grants",
        OF_AGENT,
        "kind, tools, world_id, room_id, entity_id",
        [
            ("agent_id", Id),
            ("kind", Text),
            ("tools", Text),
            ("world_id", Id),
            ("room_id", Id),
            ("entity_id", Id),
            ("least", Text),
            ("ask", Text),
            ("pin", Text),
            ("at", Int)
        ]
    ),
    table!(
        "memories",
        OF_AGENT,
        "seq",
        [
            ("id", Id),
            ("type", Text),
            ("agent_id", Id),
            ("entity_id", Id),
            ("room_id", Id),
            ("world_id", Id),
            ("created_at", Int),
            ("metadata", Sort::Json),
            ("content", Sort::Json),
            ("scope", Text),
            ("valid_until", Int),
            ("superseded_by", Id)
        ]
    ),
    table!(
        "memory_sources",
        OF_MEMORIES,
        "memory_id, source_id",
        [("memory_id", Id), ("source_id", Id)]
    ),
    table!(
        "inbox",
        OF_AGENT,
        "seq",
        [
            ("id", Id),
            ("agent_id", Id),
            ("entity_id", Id),
            ("room_id", Id),
            ("source", Text),
            ("account", Text),
            ("room_remote", Text),
            ("remote", Text),
            ("legacy_id", Id),
            ("envelope", Jsonb),
            ("state", Text),
            ("attempts", Int),
            ("turn_id", Id),
            ("verdict", Sort::Json),
            ("received_at", Int),
            ("finished_at", Int)
        ]
    ),
    table!(
        "step",
        OF_MESSAGES,
        "message_id, n",
        [
            ("message_id", Id),
            ("n", Int),
            ("action", Text),
            ("input", Text),
            ("output", Sort::Json),
            ("begun_at", Int)
        ]
    ),
    table!(
        "outbox",
        OF_AGENT,
        "seq",
        [
            ("id", Id),
            ("turn_id", Id),
            ("part", Int),
            ("agent_id", Id),
            ("source", Text),
            ("account", Text),
            ("room_id", Id),
            ("room_remote", Text),
            ("key", Text),
            ("memory_id", Id),
            ("state", Text),
            ("attempt", Int),
            ("not_before", Int),
            ("expires_at", Int),
            ("created_at", Int),
            ("remote", Text),
            ("error", Text),
            ("body", Sort::Json),
            ("outcome_unknown", Bool)
        ]
    ),
    table!(
        "cursors",
        OF_AGENT,
        "source, account, stream",
        [
            ("agent_id", Id),
            ("source", Text),
            ("account", Text),
            ("stream", Text),
            ("position", Text)
        ]
    ),
    table!(
        "connector_state",
        OF_AGENT,
        "source, account, key",
        [("agent_id", Id), ("source", Text), ("account", Text), ("key", Text), ("value", Text)]
    ),
    // The claim of a process that runs a task now is its own.
    table!(
        "tasks",
        OF_AGENT,
        "id",
        [
            ("id", Id),
            ("agent_id", Id),
            ("name", Text),
            ("description", Text),
            ("room_id", Id),
            ("world_id", Id),
            ("entity_id", Id),
            ("tags", Jsonb),
            ("metadata", Sort::Json),
            ("due", Int),
            ("run", Sort::Json),
            ("state", Text)
        ]
    ),
    table!(
        "cache",
        OF_AGENT,
        "key",
        [("agent_id", Id), ("key", Text), ("value", Sort::Json), ("expires_at", Int)]
    ),
    table!(
        "usage",
        OF_AGENT,
        "day, room_id, entity_id, model",
        [
            ("agent_id", Id),
            ("day", Int),
            ("room_id", Id),
            ("entity_id", Id),
            ("model", Text),
            ("source", Text),
            ("world_id", Id),
            ("answers", Int),
            ("refused", Int),
            ("notices", Int),
            ("calls", Int),
            ("input", Int),
            ("cached", Int),
            ("output", Int),
            ("unpriced", Int),
            ("micros", Int)
        ]
    ),
    table!(
        "traces",
        OF_AGENT,
        "seq",
        [
            ("turn_id", Id),
            ("agent_id", Id),
            ("room_id", Id),
            ("entity_id", Id),
            ("at", Int),
            ("since", Int),
            ("late", Bool),
            ("bytes", Int),
            ("steps", Text),
            ("texts", Text)
        ]
    ),
];

impl Table {
    fn find(name: &str) -> Result<&'static Self> {
        TABLES.iter().find(|table| table.name == name).ok_or_else(|| {
            Error::invalid(format!("there is no table {name} that belongs to an agent"))
                .with_code("GAL-EXPORT-FILE")
                .with_fix("take an export of this version")
        })
    }

    /// Reads a page: `$1` is the agent, `$2` the number of rows, `$3` how many are before them.
    fn read(&self, make: &str, column: fn(&str, Sort) -> String) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|(name, sort)| column(name, *sort)).collect();
        format!(
            "SELECT CAST({make}({}) AS text) FROM {} WHERE {} ORDER BY {} LIMIT +$2 OFFSET $3",
            columns.join(", "),
            self.name,
            self.of_agent,
            self.order
        )
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

fn sqlite_column(name: &str, sort: Sort) -> String {
    match sort {
        Id => format!("CASE WHEN {name} IS NULL THEN NULL ELSE lower(hex({name})) END"),
        Int | Bool | Text => name.to_owned(),
        // Text, not a document within the row.
        Sort::Json | Jsonb => format!("CAST({name} AS text) || ''"),
    }
}

fn postgres_column(name: &str, sort: Sort) -> String {
    match sort {
        Id => format!("replace({name}::text, '-', '')"),
        Int | Text => name.to_owned(),
        Bool => format!("{name}::int"),
        Sort::Json | Jsonb => format!("{name}::text"),
    }
}

fn sqlite_value(n: usize, sort: Sort) -> String {
    match sort {
        Id => format!("unhex(value ->> '$[{n}]')"),
        _ => format!("value ->> '$[{n}]'"),
    }
}

fn postgres_value(n: usize, sort: Sort) -> String {
    let text = format!("(e ->> {n})");
    match sort {
        Id => format!("{text}::uuid"),
        Int => format!("{text}::bigint"),
        Bool => format!("{text}::int <> 0"),
        Text => text,
        Sort::Json => format!("{text}::json"),
        Jsonb => format!("{text}::jsonb"),
    }
}

/// Adds rows that are not there yet.
fn add(table: &Table, rows: String) -> Statement {
    let of = |value: fn(usize, Sort) -> String| {
        let values: Vec<String> =
            table.columns.iter().enumerate().map(|(n, (_, sort))| value(n, *sort)).collect();
        values.join(", ")
    };
    let (name, names) = (table.name, table.names());
    let mut words = (String::new(), String::new());
    if name == MEMORIES {
        let _ = write!(words.0, ", words");
        let _ = write!(words.1, ", to_tsvector('simple', e ->> {})", table.columns.len());
    }
    Statement {
        sqlite: format!(
            "INSERT INTO {name} ({names}) SELECT {} FROM json_each($1) WHERE true ORDER BY key ON CONFLICT DO NOTHING",
            of(sqlite_value)
        )
        .into(),
        postgres: format!(
            "INSERT INTO {name} ({names}{}) SELECT {}{} FROM jsonb_array_elements($1) WITH ORDINALITY list (e, n) ORDER BY n \
             ON CONFLICT DO NOTHING",
            words.0,
            of(postgres_value),
            words.1
        )
        .into(),
        values: vec![Value::Jsonb(rows)],
    }
}

/// The words by which PostgreSQL finds a memory, from its row.
fn words(row: &[Json]) -> String {
    let text = |n: usize| row.get(n).and_then(Json::as_str).unwrap_or_default();
    let id = |n: usize| Uuid::parse_str(text(n)).unwrap_or_default();
    let scope = MemoryScope::from_stored(text(9));
    let owner = match scope {
        MemoryScope::Private => id(3),
        MemoryScope::World => id(5),
        MemoryScope::Agent => id(2),
        MemoryScope::Room => id(4),
    };
    let superseded = !row.get(10).is_none_or(Json::is_null);
    let content: Json = serde_json::from_str(text(8)).unwrap_or_default();
    let said = content.get("text").and_then(Json::as_str).unwrap_or_default();
    let place = terms::place(MemoryKind::from_stored(text(1)), superseded, scope, owner);
    terms::of_row(&place, said)
}

impl Database {
    /// Names of the tables that have rows of an agent, in the order in which they are added.
    pub fn agent_tables() -> impl Iterator<Item = &'static str> {
        TABLES.iter().map(|table| table.name)
    }

    /// Some rows of an agent. An export reads all pages of each table while the agent does not run.
    ///
    /// # Errors
    /// `Invalid` (`GAL-EXPORT-FILE`) for a table that has no rows of agents, and failures of the
    /// database.
    pub async fn agent_rows(
        &self,
        agent: AgentId,
        table: &str,
        before: u32,
        limit: u32,
    ) -> Result<Vec<Json>> {
        let table = Table::find(table)?;
        let statement = Statement {
            sqlite: table.read("json_array", sqlite_column).into(),
            postgres: table.read("json_build_array", postgres_column).into(),
            values: values![agent.0, limit, before],
        };
        let rows = self.all::<(String,)>(statement).await?;
        let parse = |(text,): (String,)| {
            serde_json::from_str(&text)
                .map_err(|e| Error::unexpected("a row cannot be read").with_source(e))
        };
        rows.into_iter().map(parse).collect()
    }

    /// Adds rows that an export wrote; those that exist are left as they are. Gives how many were added.
    ///
    /// # Errors
    /// `Invalid` (`GAL-EXPORT-FILE`) for rows of another form, and failures of the database.
    pub async fn add_agent_rows(&self, table: &str, mut rows: Vec<Json>) -> Result<u64> {
        let table = Table::find(table)?;
        for row in &mut rows {
            let row = row.as_array_mut().filter(|row| row.len() == table.columns.len());
            let row = row.ok_or_else(|| {
                Error::invalid(format!("a row of {} has another form", table.name))
                    .with_code("GAL-EXPORT-FILE")
                    .with_fix("take an export of this version")
            })?;
            if table.name == MEMORIES {
                let words = words(row);
                row.push(Json::String(words));
            }
        }
        let mut change = Change { changed: true, ..Change::default() };
        change.push(Write::statement(add(table, to_json(&rows)?)))?;
        Ok(self.write(change).await?.first().copied().unwrap_or(0))
    }
}
