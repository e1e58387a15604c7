//! Prints how long a search by similarity takes.
//!
//! `cargo run --release -p galatea-store --example similarity -- [facts] [width]`

use galatea_core::{Error, Result};
use galatea_store::{Database, SqliteOptions};
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|argument| {
        argument.parse::<u32>().map_err(|e| Error::invalid(format!("{argument}: {e}")))
    });
    let (facts, width) =
        (numbers.next().unwrap_or(Ok(10_000))?, numbers.next().unwrap_or(Ok(1_536))?);
    let folder =
        tempfile::tempdir().map_err(|e| Error::unexpected("no temporary folder").with_source(e))?;
    let store =
        Database::sqlite(folder.path().join("galatea.db"), SqliteOptions::default()).await?;
    galatea_testkit::similarity::measure(
        Arc::new(store.clone()),
        i64::from(facts),
        usize::try_from(width).unwrap_or(0),
    )
    .await?;
    store.close().await;
    Ok(())
}
