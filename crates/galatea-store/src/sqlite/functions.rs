//! SQL functions of ours, for the index of terms: the program analyses text, the database asks it.
#![allow(unsafe_code, reason = "SQLite calls functions through its C interface")]

use galatea_core::{Error, Result};
use libsqlite3_sys::{
    SQLITE_DETERMINISTIC, SQLITE_INNOCUOUS, SQLITE_OK, SQLITE_TRANSIENT, SQLITE_UTF8, sqlite3,
    sqlite3_api_routines, sqlite3_auto_extension, sqlite3_context, sqlite3_create_function_v2,
    sqlite3_result_blob, sqlite3_result_error, sqlite3_result_int64, sqlite3_result_null,
    sqlite3_result_text, sqlite3_value, sqlite3_value_blob, sqlite3_value_bytes,
    sqlite3_value_text,
};
use std::{
    ffi::{CStr, c_char, c_int},
    panic::catch_unwind,
    ptr, slice,
    sync::LazyLock,
};

use crate::{convert, terms};

/// SQLite's answer to the registration, which is made once for the process.
static REGISTERED: LazyLock<c_int> = LazyLock::new(|| {
    // SAFETY: `enter` has the signature that SQLite asks for.
    unsafe { sqlite3_auto_extension(Some(enter)) }
});

/// Gives every connection opened from now on `galatea_terms(place, text)`, `galatea_bits(vector)` and
/// `galatea_distance(bits, bits)`.
pub(crate) fn install() -> Result<()> {
    if *REGISTERED == SQLITE_OK {
        Ok(())
    } else {
        Err(Error::unexpected("SQL functions cannot be registered").with("code", *REGISTERED))
    }
}

/// How SQLite calls a function.
type Function = unsafe extern "C" fn(*mut sqlite3_context, c_int, *mut *mut sqlite3_value);

/// What SQLite calls for every connection it opens
/// (<https://www.sqlite.org/c3ref/auto_extension.html>).
unsafe extern "C" fn enter(
    db: *mut sqlite3,
    _: *mut *mut c_char,
    _: *const sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite gives an open connection; the names are constants that end with a zero.
    let add = |name: &'static CStr, arguments, function: Function| unsafe {
        sqlite3_create_function_v2(
            db,
            name.as_ptr(),
            arguments,
            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
            ptr::null_mut(),
            Some(function),
            None,
            None,
            None,
        )
    };
    let added = [
        add(c"galatea_terms", 2, placed),
        add(c"galatea_bits", 1, bits),
        add(c"galatea_distance", 2, distance),
    ];
    added.into_iter().find(|code| *code != SQLITE_OK).unwrap_or(SQLITE_OK)
}

/// The bytes of an argument.
///
/// # Safety
/// `value` is an argument of a call that has not returned yet.
unsafe fn blob<'a>(value: *mut sqlite3_value) -> &'a [u8] {
    // SAFETY: as above; the bytes before their number, as SQLite asks
    // (<https://www.sqlite.org/c3ref/value_blob.html>).
    unsafe {
        let bytes = sqlite3_value_blob(value);
        let length = usize::try_from(sqlite3_value_bytes(value)).unwrap_or(0);
        if bytes.is_null() { &[] } else { slice::from_raw_parts(bytes.cast(), length) }
    }
}

/// The signs of a vector.
unsafe extern "C" fn bits(context: *mut sqlite3_context, _: c_int, args: *mut *mut sqlite3_value) {
    // SAFETY: SQLite gives one argument, and copies the answer.
    unsafe {
        let bits = convert::signs(&convert::floats(blob(*args)));
        let length = c_int::try_from(bits.len()).unwrap_or(0);
        sqlite3_result_blob(context, bits.as_ptr().cast(), length, SQLITE_TRANSIENT());
    }
}

/// In how many bits two values differ; NULL if they are not of one length.
unsafe extern "C" fn distance(
    context: *mut sqlite3_context,
    _: c_int,
    args: *mut *mut sqlite3_value,
) {
    // SAFETY: SQLite gives two arguments.
    unsafe {
        let (a, b) = (blob(*args), blob(*args.add(1)));
        if a.len() == b.len() {
            sqlite3_result_int64(context, convert::distance(a, b));
        } else {
            sqlite3_result_null(context);
        }
    }
}

/// The text of an argument; not UTF-8 where the database has other bytes.
///
/// # Safety
/// `value` is an argument of a call that has not returned yet.
unsafe fn text<'a>(value: *mut sqlite3_value) -> &'a [u8] {
    // SAFETY: the text stays in place until the call returns; text before length, as SQLite asks
    // (<https://www.sqlite.org/c3ref/value_blob.html>).
    unsafe {
        let text = sqlite3_value_text(value);
        let length = usize::try_from(sqlite3_value_bytes(value)).unwrap_or(0);
        if text.is_null() { &[] } else { slice::from_raw_parts(text, length) }
    }
}

/// The terms of a text at a place.
unsafe extern "C" fn placed(
    context: *mut sqlite3_context,
    _: c_int,
    args: *mut *mut sqlite3_value,
) {
    // SAFETY: SQLite gives two arguments.
    let (place, text) = unsafe { (text(*args), text(*args.add(1))) };
    let terms = catch_unwind(|| {
        terms::placed(&String::from_utf8_lossy(place), &String::from_utf8_lossy(text))
    });
    // SAFETY: SQLite copies the text or the message before it returns.
    unsafe {
        match terms {
            Ok(terms) => {
                let length = c_int::try_from(terms.len()).unwrap_or(0);
                sqlite3_result_text(context, terms.as_ptr().cast(), length, SQLITE_TRANSIENT());
            }
            Err(_) => sqlite3_result_error(context, c"the text cannot be analysed".as_ptr(), -1),
        }
    }
}
