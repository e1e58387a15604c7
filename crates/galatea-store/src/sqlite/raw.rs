//! Prepared statements on SQLite's own handle, for the writer and for searches: sqlx hands each
//! statement over to a thread of its own and back, which costs more than the statement. sqlx opens
//! the connection and lends its handle; rusqlite executes statements on it.
#![allow(unsafe_code, reason = "sqlx lends the handle as a pointer")]

use rusqlite::{
    Connection, Row, Statement,
    types::{ToSql, ToSqlOutput, ValueRef},
};
use sqlx::sqlite::LockedSqliteHandle;
use std::{fmt, marker::PhantomData};
use uuid::Uuid;

/// SQLite's code of an error that has no other (`SQLITE_ERROR`).
const OTHER: i32 = 1;

/// SQLite's refusal.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// Its extended result code (<https://www.sqlite.org/rescode.html>).
    pub(crate) code: i32,
    message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(code: {}) {}", self.code, self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map_or(OTHER, |of| of.extended_code);
        Self { code, message: error.to_string() }
    }
}

/// A value to bind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arg<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

macro_rules! arg {
    ($($type:ty: $value:ident => $made:expr;)*) => {$(
        impl<'a> From<$type> for Arg<'a> {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}

arg! {
    i64: n => Self::Int(n);
    bool: b => Self::Int(b.into());
    Option<i64>: n => n.map_or(Self::Null, Self::Int);
    &'a str: text => Self::Text(text);
    &'a Uuid: id => Self::Blob(id.as_bytes());
    &'a Option<Uuid>: id => id.as_ref().map_or(Self::Null, |id| Self::Blob(id.as_bytes()));
    &'a crate::dialect::Text: text => Self::Text(&text.0);
    &'a Option<crate::dialect::Text>: text => text.as_ref().map_or(Self::Null, |text| Self::Text(&text.0));
}

/// Arguments in the order of their placeholders.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$(crate::sqlite::raw::Arg::from($value)),*] };
}
pub(crate) use args;

impl ToSql for Arg<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Statements kept prepared: more than the writer has. The texts of searches depend on their
/// conditions, of which there are few combinations.
const PREPARED: usize = 256;

/// A connection whose handle is lent by sqlx, with the statements that were prepared on it.
pub(crate) struct Raw<'a> {
    connection: Connection,
    lent: PhantomData<&'a mut ()>,
}

impl<'a> Raw<'a> {
    /// Takes the handle for as long as it is lent.
    ///
    /// # Errors
    /// In practice none.
    pub(crate) fn new(lent: &'a mut LockedSqliteHandle<'_>) -> Result<Self, Refusal> {
        // SAFETY: the handle is open and not used otherwise as long as it is lent, which is longer
        // than this value lives. rusqlite does not close a connection that it did not open.
        let connection = unsafe { Connection::from_handle(lent.as_raw_handle().as_ptr()) }?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        Ok(Self { connection, lent: PhantomData })
    }

    /// Executes a statement; how many rows it changed.
    pub(crate) fn execute(&mut self, text: &str, args: &[Arg<'_>]) -> Result<u64, Refusal> {
        self.each(text, args, |_| ())
    }

    /// Executes a statement for the first column of its first row, an integer.
    pub(crate) fn number(&mut self, text: &'static str) -> Result<Option<i64>, Refusal> {
        let mut first = None;
        self.each(text, &[], |row| {
            first.get_or_insert(row.int(0));
        })?;
        Ok(first.flatten())
    }

    /// False within a transaction. SQLite ends one by itself when it cannot go on
    /// (<https://www.sqlite.org/c3ref/get_autocommit.html>).
    pub(crate) fn is_autocommit(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// Rows inserted, changed or removed since the connection was opened.
    pub(crate) fn rows(&self) -> u64 {
        self.connection.total_changes()
    }

    /// Executes a statement and hands over each of its rows; how many rows it changed.
    pub(crate) fn each(
        &mut self,
        text: &str,
        args: &[Arg<'_>],
        mut row: impl FnMut(&mut Columns<'_>),
    ) -> Result<u64, Refusal> {
        let mut statement = self.connection.prepare_cached(text)?;
        bind(&mut statement, args)?;
        let mut rows = statement.raw_query();
        while let Some(found) = rows.next()? {
            row(&mut Columns(found));
        }
        drop(rows);
        drop(statement);
        Ok(self.connection.changes())
    }
}

/// Binds arguments by the numbers of their placeholders: `$2` is the second. A placeholder without an
/// argument is null.
fn bind(statement: &mut Statement<'_>, args: &[Arg<'_>]) -> Result<(), Refusal> {
    for n in 1..=statement.parameter_count() {
        let number = statement.parameter_name(n).and_then(|name| name.get(1..)?.parse().ok());
        let place = number.and_then(|number: usize| number.checked_sub(1));
        let arg = place.and_then(|place| args.get(place)).copied().unwrap_or(Arg::Null);
        statement.raw_bind_parameter(n, arg)?;
    }
    Ok(())
}

/// The row on which a statement is.
pub(crate) struct Columns<'a>(&'a Row<'a>);

impl Columns<'_> {
    fn value(&self, n: usize) -> Option<ValueRef<'_>> {
        self.0.get_ref(n).ok()
    }

    /// An integer; `None` for another value.
    pub(crate) fn int(&self, n: usize) -> Option<i64> {
        self.value(n)?.as_i64().ok()
    }

    /// Text; `None` for another value, or what is not UTF-8.
    pub(crate) fn text(&self, n: usize) -> Option<&str> {
        self.value(n)?.as_str().ok()
    }

    /// Bytes; `None` for another value.
    pub(crate) fn blob(&self, n: usize) -> Option<&[u8]> {
        self.value(n)?.as_blob().ok()
    }

    /// An id in 16 bytes; `None` for another value.
    pub(crate) fn id(&self, n: usize) -> Option<Uuid> {
        Uuid::from_slice(self.blob(n)?).ok()
    }
}
