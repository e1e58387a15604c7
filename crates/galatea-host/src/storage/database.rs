//! Opens the database: SQLite in the data folder, or the PostgreSQL server in `DATABASE_URL`. Only
//! this module distinguishes them.

use galatea_core::{Error, Result, SecretString, Settings, SharedClock, Skew, redact::Redactor};
pub use galatea_store::Database;
use galatea_store::{PostgresOptions, ServerState, SqliteOptions};
use std::{path::Path, sync::Arc};

use super::data_dir::DataDir;
use crate::config::DATABASE_URL;

/// Read connections of a command that runs beside the main process.
const BESIDE: u32 = 1;

/// A database that is lost with the process: nothing of it is on the disk.
///
/// # Errors
/// Those of SQLite, such as no memory.
pub async fn in_memory(redactor: &Redactor) -> Result<Database> {
    let options = SqliteOptions { redactor: redactor.clone(), ..SqliteOptions::default() };
    Database::in_memory_with(options).await
}

/// Opens the database and creates missing tables. Also returns whether it was created by this call.
/// Rows in PostgreSQL are dated by the server's clock once `skew` is known. `redactor` masks secrets
/// in stored errors.
///
/// # Errors
/// Any error that prevents the database from opening, with the place of the setting.
pub async fn open(
    settings: &Settings,
    data_dir: &DataDir,
    skew: &Skew,
    redactor: &Redactor,
) -> Result<(Database, bool)> {
    if let Some(url) = address(settings) {
        let options = PostgresOptions {
            clock: Arc::new(SharedClock(skew.clone())),
            redactor: redactor.clone(),
            ..PostgresOptions::default()
        };
        let database = Database::postgres(&url, options).await.map_err(|e| located(e, settings))?;
        let created = database.created();
        return Ok((database, created));
    }
    let file = data_dir.database();
    let created = !file.exists();
    let options = SqliteOptions { redactor: redactor.clone(), ..SqliteOptions::default() };
    Ok((Database::sqlite(&file, options).await?, created))
}

/// Opens the database for a command that runs beside the main process.
///
/// # Errors
/// `NotFound` (`GAL-DATA-NONE`) if there is no database yet, and any error that prevents it from
/// opening.
pub async fn open_beside(settings: &Settings, data_dir: &DataDir) -> Result<Database> {
    if let Some(url) = address(settings) {
        let options = PostgresOptions { readers: BESIDE, ..PostgresOptions::default() };
        let seen = Database::inspect(&url, &options).await.map_err(|e| located(e, settings))?;
        if !seen.tables {
            return Err(none_yet(&seen.place));
        }
        return Database::postgres(&url, options).await.map_err(|e| located(e, settings));
    }
    let file = data_dir.database();
    if !file.exists() {
        return Err(none_yet(&data_dir.path().display().to_string()));
    }
    Database::sqlite(&file, SqliteOptions { readers: BESIDE, ..SqliteOptions::default() }).await
}

/// The database's location, and its kind.
pub fn show(database: &Database, data_dir: &DataDir, working_dir: &Path) -> (String, &'static str) {
    match database.place() {
        None => (DataDir::show(&data_dir.database(), working_dir), "SQLite"),
        Some(place) => (place.to_owned(), "PostgreSQL"),
    }
}

/// Inspects PostgreSQL without creating or changing anything. `None` if SQLite is used.
pub async fn inspect(settings: &Settings) -> Option<Result<ServerState>> {
    let url = address(settings)?;
    Some(
        Database::inspect(&url, &PostgresOptions::default())
            .await
            .map_err(|e| located(e, settings)),
    )
}

fn address(settings: &Settings) -> Option<SecretString> {
    settings.secret(&DATABASE_URL)
}

fn located(error: Error, settings: &Settings) -> Error {
    let named = [DATABASE_URL.name]
        .into_iter()
        .chain(DATABASE_URL.aliases.iter().copied())
        .find(|name| settings.raw(name).is_some());
    error.with(
        "where",
        format!("{} from {}", named.unwrap_or(DATABASE_URL.name), settings.origin(&DATABASE_URL)),
    )
}

fn none_yet(place: &str) -> Error {
    Error::not_found("there is no database yet")
        .with_code("GAL-DATA-NONE")
        .with("where", place)
        .with_fix("start galatea once if it has never run here (`galatea start`); otherwise run this in the folder galatea was started in, or set GALATEA_DATA_DIR or DATABASE_URL as galatea had them")
}
