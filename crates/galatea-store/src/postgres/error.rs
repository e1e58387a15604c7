//! PostgreSQL's failures in the words of [`galatea_core::Error`]. No address with a password gets
//! into them.

use galatea_core::{Error, ErrorKind, Sent};
use sqlx::migrate::MigrateError;

use crate::error as common;

/// SQLSTATE of a failure, <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn state(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// True when the session is gone or of no use, so that a new one may do better.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        other => state(other).is_some_and(|state| {
            // Connection exceptions, operator intervention, a transaction ended by the server, and
            // a server that became a replica.
            state.starts_with("08")
                || (state.starts_with("57P"))
                || state == "25P03"
                || state == "25006"
        }),
    }
}

/// True when the cause lies outside the statement: every statement would fail now.
pub(crate) fn is_environment(error: &sqlx::Error) -> bool {
    is_lost(error)
        || match error {
            sqlx::Error::Tls(_) | sqlx::Error::PoolClosed | sqlx::Error::PoolTimedOut => true,
            // Insufficient resources, system error, damaged data, authorisation, missing database,
            // missing rights.
            other => state(other).is_some_and(|s| {
                ["53", "58", "XX", "28", "3D"].iter().any(|class| s.starts_with(class))
                    || s == "42501"
            }),
        }
}

/// True when the change met another one half-way and only has to be made again.
pub(crate) fn is_collision(error: &sqlx::Error) -> bool {
    // Serialization failure, deadlock.
    state(error).is_some_and(|state| state == "40001" || state == "40P01")
}

/// A failed read or write.
pub(crate) fn store(error: sqlx::Error) -> Error {
    let failure = match state(&error).as_deref() {
        Some("28P01" | "28000") => Error::new(ErrorKind::Unauthorized, "PostgreSQL refuses this user or password")
            .with_code("GAL-DB-PASSWORD")
            .with_fix("Correct user and password in DATABASE_URL; a sign like @ or / in a password is written %40 or %2F."),
        Some("3D000") => Error::new(ErrorKind::NotFound, "there is no such database on this PostgreSQL server")
            .with_code("GAL-DB-MISSING")
            .with_fix("Make it with `createdb`, or correct the name at the end of DATABASE_URL."),
        Some("42501") => rights(),
        Some("53100") => Error::new(ErrorKind::Unavailable, "the database server's disk is full, so nothing could be stored")
            .with_code("GAL-DB-FULL")
            .with_fix("Free space on the disk that holds the database; a running agent tries again by itself, a command has to be repeated."),
        Some("53300") => Error::new(ErrorKind::Unavailable, "the PostgreSQL server takes no more connections")
            .with_code("GAL-DB-BUSY")
            .with_fix("Raise max_connections, or stop a program that holds too many; a running agent tries again by itself, a command has to be repeated."),
        Some(state) if state.starts_with("XX") || state.starts_with("58") => {
            Error::new(ErrorKind::Unavailable, "the database server could not read or write its files")
                .with_code("GAL-DB-IO")
                .with_fix("Look at the server's log and disk; a running agent tries again by itself, a command has to be repeated.")
        }
        Some(state) if state.starts_with("54") => Error::invalid("this is too large or too deep to be stored"),
        _ if matches!(error, sqlx::Error::Tls(_)) => Error::new(ErrorKind::Unavailable, "no encrypted connection to PostgreSQL could be made")
            .with_code("GAL-DB-TLS")
            .with_fix("Set sslmode in DATABASE_URL as the server needs it; for a company's own certificate authority sslrootcert=FILE."),
        // Closed by this program as it stops.
        _ if matches!(error, sqlx::Error::PoolClosed) => return common::closed(),
        _ if is_environment(&error) => Error::new(ErrorKind::Unavailable, "the PostgreSQL server cannot be reached")
            .with_code("GAL-DB-HOST")
            .with_fix("Start it, or correct host and port in DATABASE_URL; a running agent tries again by itself, a command has to be repeated."),
        _ => Error::unexpected("the database refused a statement").with_code("GAL-DB-STATEMENT"),
    };
    failure.with_source(error)
}

/// A user that may not make or use the tables.
pub(crate) fn rights() -> Error {
    Error::new(ErrorKind::Forbidden, "this PostgreSQL user may not do what is needed")
        .with_code("GAL-DB-RIGHTS")
        .with_fix("Let the user make a schema: GRANT CREATE, TEMPORARY ON DATABASE … TO …; or make the schema galatea and give it to the user.")
}

/// A change whose connection broke after it had been sent, and no new one answered within the
/// time allowed.
pub(crate) fn unsettled(error: sqlx::Error) -> Error {
    store(error).with_sent(Sent::Maybe)
}

/// The same failure while opening, with its place.
pub(crate) fn open(place: &str, error: sqlx::Error) -> Error {
    let cause = match &error {
        sqlx::Error::Io(io) => Some(io.to_string()),
        sqlx::Error::PoolTimedOut => Some("no answer in time".to_owned()),
        sqlx::Error::Database(database) => Some(database.message().to_owned()),
        _ => None,
    };
    if cause.as_ref().is_some_and(|cause| cause.contains("unsupported startup parameter")) {
        // PgBouncer, in any mode, answers this to parameters that it is not configured to ignore.
        let fix = "Name the server itself in DATABASE_URL, or set pool_mode = session and ignore_startup_parameters = extra_float_digits in PgBouncer.";
        return pooler(place).with_fix(fix).with_source(error);
    }
    let failure = store(error);
    // A failed opening is not retried.
    let failure = if failure.code() == Some("GAL-DB-HOST") {
        failure.with_fix("Start it, or correct host and port in DATABASE_URL.")
    } else {
        failure
    };
    let failure = failure.with("database", place);
    match cause {
        Some(cause) => failure.with("cause", cause),
        None => failure,
    }
}

/// An address that cannot be read. What is in it is not repeated: it may hold a password.
pub(crate) fn address() -> Error {
    Error::invalid("this is not the address of a PostgreSQL database")
        .with_code("GAL-DB-URL")
        .with_fix("Write it as postgres://user:password@host:5432/database; a sign like @ or / in a password is written %40 or %2F.")
}

/// A pooler that gives every transaction another session.
pub(crate) fn pooler(place: &str) -> Error {
    Error::new(ErrorKind::Unsupported, "between here and PostgreSQL is a pooler that gives every transaction another session")
        .with_code("GAL-DB-POOLER")
        .with_fix("Name the server itself in DATABASE_URL, or a pooler that pools sessions (PgBouncer: pool_mode = session).")
        .with("database", place)
        .with("cause", "two connections at once do not have a server process each")
}

/// A server that is too old.
pub(crate) fn old(place: &str, found: u32, oldest: u32) -> Error {
    Error::new(ErrorKind::Unsupported, "this PostgreSQL server is too old")
        .with_code("GAL-DB-OLD")
        .with_fix(format!("Use PostgreSQL {} or newer.", oldest / 10_000))
        .with("database", place)
        .with("found", format!("{}.{}", found / 10_000, found % 10_000))
}

/// A failed migration.
pub(crate) fn migrate(place: &str, error: MigrateError) -> Error {
    match error {
        MigrateError::Execute(error) => open(place, error),
        MigrateError::ExecuteMigration(error, version) => open(place, error).with("migration", version),
        other => Error::unexpected("the tables of the database are not as this version left them")
            .with_code("GAL-DB-CORRUPT")
            .with_fix("Restore the database from a backup; migrations that have been applied must never be edited.")
            .with("database", place)
            .with_source(other),
    }
}
