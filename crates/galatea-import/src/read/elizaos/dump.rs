//! Reads the rows of a plain-text dump of `pg_dump`: `COPY … FROM stdin` blocks and, as PGlite
//! writes them, `INSERT INTO … VALUES` statements.

use galatea_core::Timestamp;
use std::{collections::HashMap, str::FromStr};

use super::values::{array, copied, timestamp, tuples};
use crate::lines::Line;

/// Longest statement, in bytes.
const STATEMENT: usize = 64 << 20;
/// The last comment of a dump.
const COMPLETE: &str = "-- PostgreSQL database dump complete";

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// Without its schema.
    pub(super) table: String,
    pub(super) columns: Vec<(String, Option<String>)>,
    /// Line on which it ends.
    pub(super) at: usize,
}

impl Row {
    pub(super) fn text(&self, column: &str) -> Option<&str> {
        self.columns.iter().find(|(name, _)| name == column)?.1.as_deref()
    }

    /// An id of any kind.
    pub(super) fn id<T: FromStr>(&self, column: &str) -> Option<T> {
        self.text(column)?.parse().ok()
    }

    /// A `text[]`.
    pub(super) fn list(&self, column: &str) -> Vec<String> {
        self.text(column).map(array).unwrap_or_default()
    }

    pub(super) fn time(&self, column: &str) -> Option<Timestamp> {
        timestamp(self.text(column)?)
    }
}

/// A row, or the line that cannot be read and why.
pub(super) type Parsed<T> = Result<T, (usize, String)>;

/// The rows of a dump, in its order.
pub(super) struct Dump<I> {
    lines: I,
    /// The number of the line that was read last.
    last: usize,
    /// Columns of each table, from `CREATE TABLE`: an `INSERT` may leave them out.
    tables: HashMap<String, Vec<String>>,
    waiting: std::vec::IntoIter<Row>,
    /// The block that is being read.
    block: Option<(String, Vec<String>)>,
    /// Whether its last comment was read, or its lack reported.
    complete: bool,
}

impl<I: Iterator<Item = Line>> Dump<I> {
    /// The rows in these lines.
    pub(super) fn of(lines: I) -> Self {
        Self {
            lines,
            last: 0,
            tables: HashMap::new(),
            waiting: Vec::new().into_iter(),
            block: None,
            complete: false,
        }
    }

    fn line(&mut self) -> Option<Line> {
        let line = self.lines.next()?;
        self.last = line.0;
        Some(line)
    }

    fn read(&mut self) -> Parsed<Option<Row>> {
        loop {
            if let Some(row) = self.waiting.next() {
                return Ok(Some(row));
            }
            let Some((at, line)) = self.line() else { return self.end() };
            let line = line.map_err(|cause| (at, cause))?;
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some((table, columns)) = &self.block {
                if line == "\\." {
                    self.block = None;
                    continue;
                }
                let values: Vec<_> = line.split('\t').map(copied).collect();
                fits(table, columns, &values).map_err(|cause| (at, cause))?;
                let columns = columns.iter().cloned().zip(values).collect();
                return Ok(Some(Row { table: table.clone(), columns, at }));
            }
            if let Some(rest) = line.strip_prefix("COPY ")
                && rest.ends_with("FROM stdin;")
            {
                self.block = Some(head(rest));
            } else if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
                let (table, _) = head(rest);
                let columns = self.columns()?;
                self.tables.insert(table, columns);
            } else if let Some(rest) = line.strip_prefix("INSERT INTO ") {
                let rows = self.inserted(rest, at)?;
                self.waiting = rows.into_iter();
            } else if line.starts_with(COMPLETE) {
                self.complete = true;
            }
        }
    }

    /// The end of the file, which a dump that was cut off reaches too early.
    fn end(&mut self) -> Parsed<Option<Row>> {
        if std::mem::replace(&mut self.complete, true) {
            return Ok(None);
        }
        let place = match self.block.take() {
            Some((table, _)) => format!("in the rows of the table {table}"),
            None => "before its last line".to_owned(),
        };
        let cause = format!(
            "the dump ends here, {place}: it was cut off. What is whole before it was read; make the dump again and repeat the import"
        );
        Err((self.last, cause))
    }

    /// The names of the columns of a `CREATE TABLE` whose first line was read.
    fn columns(&mut self) -> Parsed<Vec<String>> {
        let mut columns = Vec::new();
        while let Some((at, line)) = self.line() {
            let line = line.map_err(|cause| (at, cause))?;
            let line = line.trim();
            if line.starts_with(");") || line == ")" {
                break;
            }
            let word = line.split_whitespace().next().unwrap_or_default();
            if !word.is_empty() && word != "CONSTRAINT" {
                columns.push(column(word));
            }
        }
        Ok(columns)
    }

    /// The rows of an `INSERT` whose first line is `rest`.
    fn inserted(&mut self, rest: &str, at: usize) -> Parsed<Vec<Row>> {
        let mut statement = rest.to_owned();
        let mut end = at;
        let mut quotes = quotes_in(rest);
        let mut too_long = false;
        while !is_whole(&statement, quotes) {
            let Some((number, line)) = self.line() else { break };
            let line = line.map_err(|cause| (number, cause))?;
            end = number;
            let line = line.trim_end_matches('\n');
            quotes += quotes_in(line);
            if statement.len() > STATEMENT {
                // Its end is looked for, so that the next statement is found.
                too_long = true;
                statement.clear();
            }
            statement.push('\n');
            statement.push_str(line);
        }
        if too_long {
            return Err((at, "the statement is longer than 64 MiB".to_owned()));
        }
        if !is_whole(&statement, quotes) {
            return Err((at, "the statement has no end".to_owned()));
        }
        let Some((names, values)) = statement.split_once("VALUES") else { return Ok(Vec::new()) };
        let (table, mut columns) = head(names);
        if columns.is_empty() {
            columns = self.tables.get(&table).cloned().unwrap_or_default();
        }
        let rows = tuples(values).ok_or_else(|| (at, "the values cannot be read".to_owned()))?;
        for values in &rows {
            fits(&table, &columns, values).map_err(|cause| (at, cause))?;
        }
        let row = |values: Vec<Option<String>>| Row {
            table: table.clone(),
            columns: columns.iter().cloned().zip(values).collect(),
            at: end,
        };
        Ok(rows.into_iter().map(row).collect())
    }
}

impl<I: Iterator<Item = Line>> Iterator for Dump<I> {
    type Item = Parsed<Row>;
    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Whether a row has a value for each column.
fn fits(table: &str, columns: &[String], values: &[Option<String>]) -> Result<(), String> {
    if columns.len() == values.len() {
        return Ok(());
    }
    let (all, got) = (columns.len(), values.len());
    Err(format!("a row of the table {table} has {got} values in place of {all}"))
}

/// Table and columns of `schema.table (a, "b") …`.
fn head(text: &str) -> (String, Vec<String>) {
    let end = text.find(|c: char| c == '(' || c.is_whitespace()).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let table = name.rsplit('.').next().unwrap_or(name).trim_matches('"').to_owned();
    let list = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let columns = list.map(|(list, _)| {
        list.split(',').map(|name| column(name.trim())).filter(|name| !name.is_empty()).collect()
    });
    (table, columns.unwrap_or_default())
}

/// The name of a column as later versions of elizaOS write it: version 1.0 has `"agentId"` in place
/// of `agent_id`.
fn column(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.trim_matches('"').chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Whether a statement with so many quotation marks ends here: outside of a quoted text, with a
/// semicolon. The marks are counted line by line, since a statement may have a million lines.
fn is_whole(statement: &str, quotes: usize) -> bool {
    quotes.is_multiple_of(2) && statement.trim_end().ends_with(';')
}

fn quotes_in(text: &str) -> usize {
    text.matches('\'').count()
}
