//! SQL functions of ours, for the index of terms: the program analyses text, the database asks it.
#![allow(unsafe_code, reason = "SQLite calls the registration through its C interface")]

use galatea_core::{Error, Result};
use rusqlite::{
    Connection,
    auto_extension::{init_auto_extension, register_auto_extension},
    ffi::{sqlite3, sqlite3_api_routines},
    functions::FunctionFlags,
    types::ValueRef,
};
use std::{
    borrow::Cow,
    ffi::{c_char, c_int},
    sync::LazyLock,
};

use crate::{convert, terms};

/// SQLite's answer to the registration, which is made once for the process.
static REGISTERED: LazyLock<rusqlite::Result<()>> = LazyLock::new(|| {
    // SAFETY: `enter` opens and closes no connection, and changes no list of extensions.
    unsafe { register_auto_extension(enter) }
});

/// Gives every connection opened from now on `galatea_terms(place, text)`, `galatea_bits(vector)` and
/// `galatea_distance(bits, bits)`.
pub(crate) fn install() -> Result<()> {
    match &*REGISTERED {
        Ok(()) => Ok(()),
        Err(refusal) => {
            Err(Error::unexpected("SQL functions cannot be registered").with("cause", refusal))
        }
    }
}

/// SQLite calls this for every connection it opens
/// (<https://www.sqlite.org/c3ref/auto_extension.html>).
unsafe extern "C" fn enter(
    db: *mut sqlite3,
    message: *mut *mut c_char,
    _: *const sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite gives an open connection, which `add` neither closes nor uses for opening another.
    unsafe { init_auto_extension(db, message, add) }
}

fn add(connection: Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("galatea_terms", 2, flags, |arguments| {
        let (place, text) = (arguments.get_raw(0), arguments.get_raw(1));
        Ok(terms::placed(&text_of(place), &text_of(text)))
    })?;
    // The signs of a vector.
    connection.create_scalar_function("galatea_bits", 1, flags, |arguments| {
        Ok(convert::signs(&convert::floats(blob(arguments.get_raw(0)))))
    })?;
    // In how many bits two values differ; NULL if they are not of one length.
    connection.create_scalar_function("galatea_distance", 2, flags, |arguments| {
        let (a, b) = (blob(arguments.get_raw(0)), blob(arguments.get_raw(1)));
        Ok((a.len() == b.len()).then(|| convert::distance(a, b)))
    })
}

fn blob(value: ValueRef<'_>) -> &[u8] {
    value.as_blob().unwrap_or_default()
}

/// The text of an argument; a database may hold other values and bytes that are not UTF-8.
fn text_of(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
        ValueRef::Integer(number) => number.to_string().into(),
        ValueRef::Real(number) => number.to_string().into(),
        ValueRef::Null => "".into(),
    }
}
