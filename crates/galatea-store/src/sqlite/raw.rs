//! Prepared statements on SQLite's own handle, for the writer and for searches: sqlx hands each
//! statement over to a thread of its own and back, which costs more than the statement. sqlx opens
//! the connection and lends its handle.
#![allow(
    unsafe_code,
    reason = "SQLite's interface is C; every call of it in this crate but one is here"
)]

use libsqlite3_sys::{
    SQLITE_DONE, SQLITE_NULL, SQLITE_OK, SQLITE_PREPARE_PERSISTENT, SQLITE_ROW, SQLITE_STATIC,
    sqlite3, sqlite3_bind_blob64, sqlite3_bind_int64, sqlite3_bind_null,
    sqlite3_bind_parameter_count, sqlite3_bind_parameter_name, sqlite3_bind_text64,
    sqlite3_changes64, sqlite3_clear_bindings, sqlite3_column_blob, sqlite3_column_bytes,
    sqlite3_column_int64, sqlite3_column_text, sqlite3_column_type, sqlite3_errmsg,
    sqlite3_extended_errcode, sqlite3_finalize, sqlite3_get_autocommit, sqlite3_prepare_v3,
    sqlite3_reset, sqlite3_step, sqlite3_stmt, sqlite3_total_changes64,
};
use sqlx::sqlite::LockedSqliteHandle;
use std::{
    borrow::Cow,
    collections::HashMap,
    ffi::{CStr, c_char, c_int, c_uint},
    fmt,
    marker::PhantomData,
    ptr::{self, NonNull},
};
use uuid::Uuid;

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

/// Statements kept prepared: more than the writer has. The texts of searches depend on their
/// conditions, of which there are few combinations.
const PREPARED: usize = 256;

struct Prepared {
    statement: NonNull<sqlite3_stmt>,
    /// For each parameter of the statement the place of its value: `$2` is the second.
    places: Vec<usize>,
}

/// A connection whose handle is lent by sqlx, with the statements that were prepared on it.
pub(crate) struct Raw<'a> {
    handle: NonNull<sqlite3>,
    prepared: HashMap<Cow<'static, str>, Prepared>,
    lent: PhantomData<&'a mut ()>,
}

// SAFETY: SQLite is compiled for several threads, and a connection may move between them as long as
// one uses it at a time (<https://www.sqlite.org/threadsafe.html>): every call needs `&mut`.
unsafe impl Send for Raw<'_> {}

impl<'a> Raw<'a> {
    /// Takes the handle for as long as it is lent.
    pub(crate) fn new(lent: &'a mut LockedSqliteHandle<'_>) -> Self {
        Self { handle: lent.as_raw_handle(), prepared: HashMap::new(), lent: PhantomData }
    }

    /// Executes a statement; how many rows it changed.
    pub(crate) fn execute(&mut self, text: &'static str, args: &[Arg<'_>]) -> Result<u64, Refusal> {
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
        // SAFETY: the handle is open as long as it is lent.
        unsafe { sqlite3_get_autocommit(self.handle.as_ptr()) != 0 }
    }

    /// Rows inserted, changed or removed since the connection was opened.
    pub(crate) fn rows(&self) -> u64 {
        // SAFETY: the handle is open as long as it is lent.
        let rows = unsafe { sqlite3_total_changes64(self.handle.as_ptr()) };
        u64::try_from(rows).unwrap_or(0)
    }

    /// Executes a statement and hands over each of its rows; how many rows it changed.
    pub(crate) fn each(
        &mut self,
        text: impl Into<Cow<'static, str>>,
        args: &[Arg<'_>],
        row: impl FnMut(&mut Columns<'_>),
    ) -> Result<u64, Refusal> {
        let handle = self.handle;
        let text = text.into();
        if !self.prepared.contains_key(&text) {
            if self.prepared.len() >= PREPARED {
                self.finalize();
            }
            let prepared = prepare(handle, &text)?;
            self.prepared.insert(text.clone(), prepared);
        }
        let Some(Prepared { statement, places }) = self.prepared.get(&text) else {
            return Err(refusal(handle));
        };
        let statement = statement.as_ptr();
        let done =
            bind(handle, statement, places, args).and_then(|()| step(handle, statement, row));
        // SAFETY: the statement is alive. After these two it holds nothing of `args`.
        unsafe {
            sqlite3_reset(statement);
            sqlite3_clear_bindings(statement);
        }
        done?;
        // SAFETY: as above.
        let changes = unsafe { sqlite3_changes64(handle.as_ptr()) };
        Ok(u64::try_from(changes).unwrap_or(0))
    }

    fn finalize(&mut self) {
        for (_, prepared) in self.prepared.drain() {
            // SAFETY: each was prepared here, is finalized once, and the connection is still lent.
            unsafe { sqlite3_finalize(prepared.statement.as_ptr()) };
        }
    }
}

/// The row on which a statement is.
pub(crate) struct Columns<'a> {
    statement: *mut sqlite3_stmt,
    row: PhantomData<&'a ()>,
}

impl Columns<'_> {
    fn is_null(&self, n: c_int) -> bool {
        // SAFETY: the statement is on a row; a column that it does not have is null.
        unsafe { sqlite3_column_type(self.statement, n) == SQLITE_NULL }
    }

    /// An integer; `None` for null.
    pub(crate) fn int(&self, n: c_int) -> Option<i64> {
        // SAFETY: as above.
        (!self.is_null(n)).then(|| unsafe { sqlite3_column_int64(self.statement, n) })
    }

    /// Text; `None` for null or what is not UTF-8.
    pub(crate) fn text(&mut self, n: c_int) -> Option<&str> {
        // SAFETY: as above. The call converts a value of another type before its bytes are counted.
        let start = unsafe { sqlite3_column_text(self.statement, n) };
        std::str::from_utf8(self.bytes(n, start)?).ok()
    }

    /// Bytes; `None` for null.
    pub(crate) fn blob(&mut self, n: c_int) -> Option<&[u8]> {
        if self.is_null(n) {
            return None;
        }
        // SAFETY: as above.
        let start = unsafe { sqlite3_column_blob(self.statement, n) };
        // An empty one has no address.
        Some(self.bytes(n, start.cast()).unwrap_or_default())
    }

    /// An id in 16 bytes; `None` for another value.
    pub(crate) fn id(&mut self, n: c_int) -> Option<Uuid> {
        Uuid::from_slice(self.blob(n)?).ok()
    }

    fn bytes(&self, n: c_int, start: *const u8) -> Option<&[u8]> {
        if start.is_null() {
            return None;
        }
        // SAFETY: the value begins at `start` and lives until the statement steps, which needs the
        // `Raw` that is borrowed while a row is handed over, or until the column is read as another
        // type, which needs this row.
        unsafe {
            let length = sqlite3_column_bytes(self.statement, n);
            Some(std::slice::from_raw_parts(start, usize::try_from(length).unwrap_or(0)))
        }
    }
}

impl Drop for Raw<'_> {
    fn drop(&mut self) {
        self.finalize();
    }
}

fn refusal(handle: NonNull<sqlite3>) -> Refusal {
    // SAFETY: the handle is open; the message is copied before the next call can change it.
    unsafe {
        let message = sqlite3_errmsg(handle.as_ptr());
        let message = if message.is_null() {
            String::new()
        } else {
            CStr::from_ptr(message).to_string_lossy().into_owned()
        };
        Refusal { code: sqlite3_extended_errcode(handle.as_ptr()), message }
    }
}

fn prepare(handle: NonNull<sqlite3>, text: &str) -> Result<Prepared, Refusal> {
    let mut statement: *mut sqlite3_stmt = ptr::null_mut();
    let length = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    // SAFETY: the handle is open, `text` is alive and of that length.
    let code = unsafe {
        sqlite3_prepare_v3(
            handle.as_ptr(),
            text.as_ptr().cast::<c_char>(),
            length,
            SQLITE_PREPARE_PERSISTENT as c_uint,
            &raw mut statement,
            ptr::null_mut(),
        )
    };
    match NonNull::new(statement) {
        Some(statement) if code == SQLITE_OK => {
            Ok(Prepared { statement, places: places(statement) })
        }
        _ => Err(refusal(handle)),
    }
}

fn places(statement: NonNull<sqlite3_stmt>) -> Vec<usize> {
    // SAFETY: the statement is alive, and so is the name of each parameter.
    let name = |n| unsafe {
        let name = sqlite3_bind_parameter_name(statement.as_ptr(), n);
        if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok() }
    };
    // SAFETY: the statement is alive.
    let count = unsafe { sqlite3_bind_parameter_count(statement.as_ptr()) };
    (1..=count)
        .map(|n| {
            let number = name(n).and_then(|name| name.get(1..)?.parse::<usize>().ok());
            number.map_or(usize::MAX, |number| number - 1)
        })
        .collect()
}

fn bind(
    handle: NonNull<sqlite3>,
    statement: *mut sqlite3_stmt,
    places: &[usize],
    args: &[Arg<'_>],
) -> Result<(), Refusal> {
    for (n, place) in (1..).zip(places) {
        let arg = args.get(*place).copied().unwrap_or(Arg::Null);
        // SAFETY: the statement is alive and not running; text and bytes outlive it, since `run`
        // resets it and clears its bindings before it returns.
        let code = unsafe {
            match arg {
                Arg::Null => sqlite3_bind_null(statement, n),
                Arg::Int(value) => sqlite3_bind_int64(statement, n, value),
                Arg::Text(text) => sqlite3_bind_text64(
                    statement,
                    n,
                    text.as_ptr().cast::<c_char>(),
                    text.len() as u64,
                    SQLITE_STATIC(),
                    libsqlite3_sys::SQLITE_UTF8 as u8,
                ),
                Arg::Blob(bytes) => sqlite3_bind_blob64(
                    statement,
                    n,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    SQLITE_STATIC(),
                ),
            }
        };
        if code != SQLITE_OK {
            return Err(refusal(handle));
        }
    }
    Ok(())
}

/// Steps to the end and hands over each row.
fn step(
    handle: NonNull<sqlite3>,
    statement: *mut sqlite3_stmt,
    mut row: impl FnMut(&mut Columns<'_>),
) -> Result<(), Refusal> {
    loop {
        // SAFETY: the statement is alive and its bindings are.
        match unsafe { sqlite3_step(statement) } {
            SQLITE_DONE => return Ok(()),
            SQLITE_ROW => row(&mut Columns { statement, row: PhantomData }),
            _ => return Err(refusal(handle)),
        }
    }
}
