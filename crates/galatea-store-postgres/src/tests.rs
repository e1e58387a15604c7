//! What is PostgreSQL's own: addresses, statements, several handles, lost connections. What every store must do is in the shared suite.

mod suite;

use galatea_testkit::postgres::Database;
use secrecy::SecretString;

use crate::{PostgresOptions, PostgresStore};

/// A store in this database, as another process would open it.
async fn open(database: &Database) -> PostgresStore {
    PostgresStore::open(&SecretString::from(database.url()), PostgresOptions::default()).await.unwrap()
}
