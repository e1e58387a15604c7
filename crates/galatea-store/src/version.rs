//! The databases that this version opens: those whose tables its own migrations made.

use galatea_core::{Error, ErrorKind, Result};
use sqlx::migrate::Migrator;

/// Refuses a database by its table of migrations: the description of the first one and the number of
/// the newest one that was applied.
///
/// # Errors
/// `GAL-DB-EARLIER` for the tables of a version before 0.1, `GAL-DB-NEWER` for those of a later one.
pub(crate) fn check(first: Option<&str>, newest: Option<i64>, ours: &Migrator) -> Result<()> {
    let known = ours.iter().map(|m| m.version).max().unwrap_or(0);
    let is_ours = |first| ours.iter().next().is_some_and(|m| m.description == first);
    match (first, newest) {
        (Some(first), _) if !is_ours(first) => Err(earlier()),
        (_, Some(newest)) if newest > known => Err(newer(newest, known)),
        _ => Ok(()),
    }
}

fn earlier() -> Error {
    let fix = "Export it with the program that wrote it, `galatea memory export -o memories.jsonl`. Then move the database away and import with this one, `galatea memory import memories.jsonl`.";
    Error::new(
        ErrorKind::Unsupported,
        "the database was written by a version before 0.1, whose tables this one does not read",
    )
    .with_code("GAL-DB-EARLIER")
    .with_fix(fix)
}

fn newer(found: i64, known: i64) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the database was written by a newer version of this program",
    )
    .with_code("GAL-DB-NEWER")
    .with_fix("Install the newer version, or restore the backup made before the update.")
    .with("found", found)
    .with("known", known)
}
