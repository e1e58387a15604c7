//! SQLite's failures in the words of [`galatea_core::Error`].

use galatea_core::{Error, ErrorKind, Retry};
use sqlx::migrate::MigrateError;
use std::path::Path;

use super::raw::Refusal;
use crate::error as common;

/// Primary result codes, <https://www.sqlite.org/rescode.html>.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const NOMEM: i32 = 7;
    pub(super) const READONLY: i32 = 8;
    pub(super) const IOERR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const TOOBIG: i32 = 18;
    pub(super) const NOTADB: i32 = 26;
}

/// Extended codes of a failed flush, of a file or of its folder.
const FSYNC: [i32; 2] = [code::IOERR | 4 << 8, code::IOERR | 5 << 8];
/// Code of a failed flush.
pub(crate) const SYNC: &str = "GAL-DB-SYNC";

/// SQLite's extended code.
fn extended(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// The primary result code: the low byte of the extended one.
fn primary(extended: i32) -> i32 {
    extended & 0xff
}

/// True for a failed flush.
pub(crate) fn is_sync(error: &sqlx::Error) -> bool {
    extended(error).is_some_and(|extended| FSYNC.contains(&extended))
}

/// True when the cause lies outside the statement: every statement would fail now.
pub(crate) fn is_environment(refusal: &Refusal) -> bool {
    matches!(
        primary(refusal.code),
        code::BUSY
            | code::LOCKED
            | code::NOMEM
            | code::READONLY
            | code::IOERR
            | code::CORRUPT
            | code::FULL
            | code::CANTOPEN
            | code::NOTADB
    )
}

/// A refused write.
pub(crate) fn refused(refusal: Refusal) -> Error {
    of_code(refusal.code).with_source(refusal)
}

/// A refused read.
pub(crate) fn read_failed(refusal: Refusal) -> Error {
    // A statement that SQLite refuses for itself is a fault of this program.
    let out = if is_environment(&refusal) { of_code(refusal.code) } else { statement() };
    out.with_source(refusal)
}

/// A failed read.
pub(crate) fn store(error: sqlx::Error) -> Error {
    let out = match (&error, extended(&error)) {
        (_, Some(extended)) => of_code(extended),
        // Closed by this program as it stops.
        (sqlx::Error::PoolClosed, None) => return common::closed(),
        (sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolTimedOut, None) => {
            Error::new(ErrorKind::Unavailable, "the database could not be reached")
                .with_code("GAL-DB-IO")
        }
        _ => statement(),
    };
    out.with_source(error)
}

fn statement() -> Error {
    Error::unexpected("the database refused a statement").with_code("GAL-DB-STATEMENT")
}

fn of_code(extended: i32) -> Error {
    if FSYNC.contains(&extended) {
        return sync();
    }
    match primary(extended) {
        code::BUSY | code::LOCKED => Error::new(ErrorKind::Unavailable, "the database is locked by another process")
            .with_code("GAL-DB-LOCKED")
            .with_fix("Stop the other program that uses this database file; a running agent tries again by itself, a command has to be repeated."),
        code::FULL => Error::new(ErrorKind::Unavailable, "the disk is full, so nothing could be stored")
            .with_code("GAL-DB-FULL")
            .with_fix("Free space on the disk that holds the database; a running agent tries again by itself, a command has to be repeated."),
        code::IOERR | code::NOMEM => Error::new(ErrorKind::Unavailable, "the database file could not be read or written")
            .with_code("GAL-DB-IO")
            .with_fix("Look at the disk and the system log; a running agent tries again by itself, a command has to be repeated."),
        code::CORRUPT | code::NOTADB => corrupt(),
        code::READONLY | code::CANTOPEN => Error::new(ErrorKind::Unavailable, "the database file or its folder is not writable")
            .with_code("GAL-DB-OPEN")
            .with_fix("Give this user the right to write the database file and its folder."),
        code::TOOBIG => Error::invalid("this is too large to be stored"),
        _ => statement(),
    }
}

/// A failed flush. Not `Unavailable`: it is not tried again in this process.
pub(crate) fn sync() -> Error {
    Error::unexpected("the disk could not keep what was written, so nothing more is stored until the program is started again")
        .with_code(SYNC)
        .with_retry(Retry::Soon)
        .with_fix("Look at the disk and the system log; whatever restarts the program (systemd, Docker) goes on where it was.")
}

/// A file that is open and does not bear its name any more.
pub(crate) fn gone(file: &Path, cause: &'static str) -> Error {
    Error::new(ErrorKind::Unavailable, "the database file was removed or replaced while it is in use")
        .with_code("GAL-DB-GONE")
        .with_fix("Move it back to where it was, and the work goes on. As long as this process runs, Linux keeps a removed file under /proc/PID/fd.")
        .with("file", file.display())
        .with("cause", cause)
}

fn corrupt() -> Error {
    Error::unexpected("the database file is damaged or not a database")
        .with_code("GAL-DB-CORRUPT")
        .with_fix("Restore the file from a backup, or move it away to start with an empty one.")
}

/// The same failure while opening, with its file. A person has to look before the next attempt.
pub(crate) fn open(path: &Path, error: sqlx::Error) -> Error {
    let out = match extended(&error).map(primary) {
        _ if is_sync(&error) => sync().with_source(error),
        None | Some(code::READONLY | code::CANTOPEN | code::IOERR) => {
            unwritable().with_source(error)
        }
        _ => store(error),
    };
    out.with_retry(Retry::Never).with("file", path.display())
}

/// A file system failure while opening.
pub(crate) fn file(path: &Path, error: std::io::Error) -> Error {
    unwritable()
        .with_retry(Retry::Never)
        .with("file", path.display())
        .with("cause", error.kind())
        .with_source(error)
}

fn unwritable() -> Error {
    Error::new(ErrorKind::Unavailable, "the database could not be opened")
        .with_code("GAL-DB-OPEN")
        .with_fix("Check that the folder exists, that this user may write it and the file, and that the disk is not full.")
}

/// A SQLite file of another program.
pub(crate) fn foreign(path: &Path) -> Error {
    Error::new(ErrorKind::Invalid, "this SQLite database belongs to another program")
        .with_code("GAL-DB-OPEN")
        .with_fix("Choose another file name for the database.")
        .with("file", path.display())
}

/// A failed migration.
pub(crate) fn migrate(path: &Path, error: MigrateError) -> Error {
    match error {
        MigrateError::Execute(error) => open(path, error),
        MigrateError::ExecuteMigration(error, version) => open(path, error).with("migration", version),
        other => Error::unexpected("the tables of the database are not as this version left them")
            .with_code("GAL-DB-CORRUPT")
            .with_fix("Restore the file from a backup; migrations that have been applied must never be edited.")
            .with("file", path.display())
            .with_source(other),
    }
}
