//! All rows of an agent, table by table, in a form that both databases read: an agent moves from a SQLite
//! file to a server, or back, with its queues, its ledger and its memory.
//!
//! A row is a JSON array in the order of its columns. Ids are hexadecimal; documents are text. Numbers of
//! rows are not copied: rows are added in their order. Embeddings are made anew from the memories.

mod tables;

use galatea_core::{AgentId, Error, MemoryKind, MemoryScope, Result};
use serde_json::Value as Json;
use std::fmt::Write as _;
use uuid::Uuid;

use self::tables::{
    MEMORIES,
    Sort::{self, Bool, Id, Int, Jsonb, Text},
    TABLES, Table,
};
use crate::{
    Database,
    change::{Change, Write},
    convert::to_json,
    dialect::{Statement, Value, values},
    terms,
};

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
            for (value, (_, sort)) in row.iter_mut().zip(table.columns) {
                if let (Json::String(text), Jsonb) = (value, sort) {
                    *text = self.jsonb(std::mem::take(text));
                }
            }
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
