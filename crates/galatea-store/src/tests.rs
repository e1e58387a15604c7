//! What is a database's own, and the plans of all statements. What every store must do is in the
//! shared suite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod plans;
mod postgres;
mod recall;
mod redacted;
mod sqlite;
mod statements;

use galatea_core::store::{RecallQuery, RecallStore, Recalled};

/// The hits of a search that misses nothing: all that is stored is indexed before.
async fn searched(store: &crate::Database, query: &RecallQuery) -> Vec<Recalled> {
    while !store.index_words().await.unwrap() {}
    store.recall(query).await.unwrap()
}
