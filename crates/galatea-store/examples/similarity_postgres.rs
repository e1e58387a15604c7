//! Prints how long a search by similarity takes, without pgvector and with it.
//!
//! `cargo run --release -p galatea-store --example similarity_postgres -- [facts] [width]`, on a
//! server of its own that has pgvector.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use galatea_core::{Error, Result};
use galatea_store::{Database as Store, PostgresOptions};
use galatea_testkit::postgres::{Database, Server};
use secrecy::SecretString;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|argument| {
        argument.parse::<u32>().map_err(|e| Error::invalid(format!("{argument}: {e}")))
    });
    let (facts, width) =
        (numbers.next().unwrap_or(Ok(10_000))?, numbers.next().unwrap_or(Ok(1_536))?);
    let server = tokio::task::spawn_blocking(Server::shared_with_pgvector)
        .await
        .map_err(|e| Error::unexpected("no server").with_source(e))?;
    for (name, database) in [
        ("without pgvector", Database::on(server).await),
        ("with pgvector", Database::with_pgvector().await),
    ] {
        println!("{name}");
        let store =
            Store::postgres(&SecretString::from(database.url()), PostgresOptions::default())
                .await?;
        galatea_testkit::similarity::measure(
            Arc::new(store.clone()),
            i64::from(facts),
            usize::try_from(width).unwrap_or(0),
        )
        .await?;
        store.close().await;
    }
    Ok(())
}
