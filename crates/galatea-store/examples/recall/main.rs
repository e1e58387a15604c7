//! Measures recall in a large database: `cargo xtask bench --recall` runs it and prints a table.
//!
//! `cargo run --release -p galatea-store --example recall -- sqlite|postgres [messages] [embedded] [questions]`
//! prints one line of JSON. The database lies in the folder for temporary files. PostgreSQL is a
//! server of its own, as the tests have it, with every commit flushed.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

mod fill;
mod processor;
mod random;
mod search;
mod size;
mod talk;

use galatea_core::{Error, Result, store::RecallStore as _};
use galatea_store::{Database, PostgresOptions, SqliteOptions};
use galatea_testkit::postgres::{Database as OnServer, Server};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::{path::Path, time::Instant};

use crate::{fill::Filled, processor::Processor, search::By, talk::Talk};

fn number(argument: Option<String>, or: usize) -> Result<usize> {
    argument.map_or(Ok(or), |argument| {
        argument.parse().map_err(|failure| Error::invalid(format!("{argument}: {failure}")))
    })
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let database = arguments.next().unwrap_or_default();
    let messages = number(arguments.next(), 100_000)?.max(1_000);
    let embedded = number(arguments.next(), messages)?;
    let questions = number(arguments.next(), 1_000)?.max(1);
    let talk = Talk::new(messages);
    let told = match database.as_str() {
        "sqlite" => on_sqlite(&talk, embedded, questions).await?,
        "postgres" => on_postgres(&talk, embedded, questions).await?,
        _ => return Err(Error::invalid("name a database: sqlite or postgres")),
    };
    println!("{told}");
    Ok(())
}

async fn on_sqlite(talk: &Talk, embedded: usize, questions: usize) -> Result<Value> {
    let folder =
        tempfile::tempdir().map_err(|e| Error::unexpected("no temporary folder").with_source(e))?;
    let path = folder.path().join("galatea.db");
    let store = Database::sqlite(&path, SqliteOptions::default()).await?;
    let filled = fill::fill(&store, talk, embedded).await?;
    let indexed = index(&store, &path).await?;
    let searches = searches(&store, &Processor::of(None), talk, questions).await?;
    let found = search::found(&store, talk, questions).await?;
    let resident = size::resident();
    store.close().await;
    let mut connection = size::look(&path).await?;
    let sizes = size::of_sqlite(&mut connection).await?;
    Ok(report(talk, &filled, Some(indexed), resident, &searches, found, &sizes))
}

async fn on_postgres(talk: &Talk, embedded: usize, questions: usize) -> Result<Value> {
    let server = tokio::task::spawn_blocking(Server::durable)
        .await
        .map_err(|e| Error::unexpected("no server").with_source(e))?;
    let database = OnServer::on(server.clone()).await;
    let url = database.url();
    let store =
        Database::postgres(&SecretString::from(url.clone()), PostgresOptions::default()).await?;
    let filled = fill::fill(&store, talk, embedded).await?;
    let sizes = size::of_postgres(&url).await?;
    let processor = Processor::of(Some(server.pid()));
    let searches = searches(&store, &processor, talk, questions).await?;
    let found = search::found(&store, talk, questions).await?;
    let resident = size::resident();
    store.close().await;
    drop(database);
    server.end();
    Ok(report(talk, &filled, None, resident, &searches, found, &sizes))
}

/// Indexes the words of all messages: messages per second.
async fn index(store: &Database, path: &Path) -> Result<f64> {
    let mut connection = size::look(path).await?;
    let (first, begun) = (size::unindexed(&mut connection).await?, Instant::now());
    while !store.index_words().await? {}
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    Ok(first as f64 / begun.elapsed().as_secs_f64())
}

async fn searches(
    store: &Database,
    processor: &Processor,
    talk: &Talk,
    questions: usize,
) -> Result<Value> {
    let mut out = serde_json::Map::new();
    for by in By::ALL {
        eprintln!("searching by {}", by.name());
        out.insert(by.name().to_owned(), search::ask(store, processor, talk, by, questions).await?);
    }
    Ok(out.into())
}

#[allow(clippy::cast_precision_loss, reason = "figures for people")]
fn report(
    talk: &Talk,
    filled: &Filled,
    indexed: Option<f64>,
    resident: Option<f64>,
    searches: &Value,
    found: f64,
    sizes: &Value,
) -> Value {
    json!({
        "messages": talk.len(),
        "embedded": filled.embedded,
        "ingest": talk.len() as f64 / filled.ingest.as_secs_f64(),
        "embeddings": filled.embedded as f64 / filled.embeddings.as_secs_f64(),
        "indexed": indexed,
        "resident": resident,
        "searches": searches,
        "found": found,
        "sizes": sizes,
    })
}
