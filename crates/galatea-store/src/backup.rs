//! Copies of a SQLite file, and checks of one. PostgreSQL has tools of its own.

use galatea_core::{Error, Result};
use sqlx::{Connection, SqliteConnection, query, query_scalar, sqlite::SqliteConnectOptions};
use std::path::Path;

use crate::sqlite::functions;

/// `PRAGMA application_id` of our files: `GALA`.
const APPLICATION: i64 = 0x4741_4c41;

async fn connect(file: &Path) -> Result<SqliteConnection> {
    functions::install()?;
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(false);
    SqliteConnection::connect_with(&options).await.map_err(|fault| unusable(file, fault))
}

fn unusable(file: &Path, fault: sqlx::Error) -> Error {
    Error::invalid("this file cannot be used as a database of galatea")
        .with_code("GAL-DB-BACKUP")
        .with("where", file.display())
        .with_fix("name a file that `galatea db backup` wrote")
        .with_source(fault)
}

/// Writes a copy of a database as it is now into a new file, while others work with it.
///
/// # Errors
/// `GAL-DB-BACKUP` if the file exists already or cannot be written.
pub async fn backup(file: &Path, to: &Path) -> Result<()> {
    let target = to.to_str().ok_or_else(|| {
        Error::invalid("the name of the copy is not UTF-8").with_code("GAL-DB-BACKUP")
    })?;
    let mut connection = connect(file).await?;
    let copied = query("VACUUM INTO $1").bind(target).execute(&mut connection).await;
    let _ = connection.close().await;
    copied.map(drop).map_err(|fault| {
        Error::invalid("the copy could not be written")
            .with_code("GAL-DB-BACKUP")
            .with("where", to.display())
            .with_fix("name a file that does not exist, on a disk with space for the database")
            .with_source(fault)
    })
}

/// Faults of a database file; none if it is sound.
///
/// # Errors
/// `GAL-DB-BACKUP` if the file is no database of this program.
pub async fn check(file: &Path) -> Result<Vec<String>> {
    let mut connection = connect(file).await?;
    let checked = async {
        let application: i64 =
            query_scalar("PRAGMA application_id").fetch_one(&mut connection).await?;
        if application != APPLICATION {
            return Err(sqlx::Error::Protocol("it is not a database of galatea".into()));
        }
        let mut faults: Vec<String> =
            query_scalar("PRAGMA integrity_check").fetch_all(&mut connection).await?;
        faults.retain(|fault| fault != "ok");
        let foreign: Vec<String> = query_scalar("SELECT \"table\" FROM pragma_foreign_key_check")
            .fetch_all(&mut connection)
            .await?;
        faults.extend(
            foreign.iter().map(|table| format!("a row of {table} names another that is gone")),
        );
        Ok(faults)
    };
    let checked = checked.await;
    let _ = connection.close().await;
    checked.map_err(|fault| unusable(file, fault))
}
