//! What is PostgreSQL's own: addresses, statements, several handles, lost connections. What every
//! store must do is in the shared suite.

mod addresses;
mod blocked_reads;
mod copied;
mod costs;
mod followers;
mod groups;
mod handles;
mod links;
mod lost;
mod suite;
mod words;

use galatea_testkit::postgres::Database;
use secrecy::SecretString;
use std::time::Duration;

use crate::{Database as Store, PostgresOptions};

/// A store at this address, as another process would open it.
async fn open_at(url: &str) -> galatea_core::Result<Store> {
    let options = PostgresOptions {
        settle_within: Duration::from_secs(20),
        // A busy machine may take longer than the five seconds of the default.
        patience: Duration::from_secs(30),
        ..PostgresOptions::default()
    };
    Store::postgres(&SecretString::from(url), options).await
}

/// A store in this database.
pub(super) async fn open(database: &Database) -> Store {
    open_at(&database.url()).await.unwrap()
}
