//! Memory work that a crash cuts off at each of its writes: imports, documents, embeddings,
//! summaries, pictures and speech that are made, and a person who is forgotten. After the next
//! start the work goes on, with nothing twice and nothing missing.

mod documents;
mod embeddings;
mod forgotten;
mod gate;
mod imports;
mod made;
mod summaries;

use galatea_testkit::process::{Program, Running};
use std::time::Duration;

use crate::stage::Stage;

/// Longer than any background work takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command that dies at a kill point.
async fn dies(program: Program, point: &str) {
    let ended = program.env("FAILPOINTS", point).run().await;
    assert_eq!(ended.code, None, "{point}: it ended by itself: {}{}", ended.stdout, ended.stderr);
}

/// Waits until a process that is armed with a kill point has died.
async fn has_died(running: &mut Running, point: &str) {
    let ended = tokio::time::timeout(PATIENCE, running.finish()).await;
    let ended = ended.unwrap_or_else(|_| panic!("{point} was not reached:\n{}", running.output()));
    assert_eq!(ended.code, None, "{point}: it ended by itself:\n{}", running.output());
}

/// The rows of a database that a process may have open.
async fn rows(stage: &Stage, query: &'static str) -> Vec<Vec<String>> {
    crate::places::Database::open(stage.home.path()).await.rows(query).await
}

async fn count(stage: &Stage, query: &'static str) -> usize {
    rows(stage, query).await[0][0].parse().unwrap()
}

/// Waits until a query counts so many rows.
async fn until_counted(stage: &Stage, query: &'static str, wanted: usize) {
    let wait = async {
        while count(stage, query).await != wanted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(PATIENCE, wait).await;
    assert!(ended.is_ok(), "{query}: {} instead of {wanted}", count(stage, query).await);
}
