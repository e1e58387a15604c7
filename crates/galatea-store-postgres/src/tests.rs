//! What is PostgreSQL's own: addresses, statements, several handles, lost connections. What every store must do is in the shared suite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod addresses;
mod groups;
mod handles;
mod lost;
mod pgvector;
mod silence;
mod statements;
mod suite;

use galatea_testkit::postgres::Database;
use secrecy::SecretString;
use std::time::Duration;

use crate::{PostgresOptions, PostgresStore};

/// A store at this address, as another process would open it.
async fn open_at(url: &str) -> galatea_core::Result<PostgresStore> {
    let options = PostgresOptions { settle_within: Duration::from_secs(20), ..PostgresOptions::default() };
    PostgresStore::open(&SecretString::from(url), options).await
}

/// A store in this database.
async fn open(database: &Database) -> PostgresStore {
    open_at(&database.url()).await.unwrap()
}
