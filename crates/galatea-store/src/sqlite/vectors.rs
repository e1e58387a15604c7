//! sqlite-vec: SQL functions that compare vectors, compiled into the program.

use galatea_core::{Error, Result};
use libsqlite3_sys::{SQLITE_OK, sqlite3_auto_extension};
use std::{
    ffi::{c_char, c_int},
    mem,
    sync::LazyLock,
};

/// SQLite's answer to the registration, which is made once for the process.
static REGISTERED: LazyLock<c_int> = LazyLock::new(|| {
    /// What SQLite calls for every connection it opens
    /// (<https://www.sqlite.org/c3ref/auto_extension.html>).
    type Entry = unsafe extern "C" fn(
        *mut libsqlite3_sys::sqlite3,
        *mut *mut c_char,
        *const libsqlite3_sys::sqlite3_api_routines,
    ) -> c_int;
    #[allow(unsafe_code, reason = "the only way to add functions to connections that sqlx opens")]
    // SAFETY: `sqlite3_vec_init` has this signature (sqlite-vec.h); its crate declares it without
    // arguments.
    unsafe {
        let entry = mem::transmute::<*const (), Entry>(sqlite_vec::sqlite3_vec_init as *const ());
        sqlite3_auto_extension(Some(entry))
    }
});

/// Gives every connection opened from now on the functions `vec_…`.
pub(crate) fn install() -> Result<()> {
    if *REGISTERED == SQLITE_OK {
        Ok(())
    } else {
        Err(Error::unexpected("sqlite-vec cannot be registered").with("code", *REGISTERED))
    }
}
