//! Keeps the library up to date while the agent runs: once at the start, beside everything else,
//! and whenever a file changes.

use async_trait::async_trait;
use galatea_core::{Backoff, Result, ServiceContext};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use crate::{
    library::Library,
    problem::Problem,
    scan::SETTLED,
    synced::{Look, Synced},
};

/// Shortest and longest pause after a failure.
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(600);
/// Pause between two looks when `KNOWLEDGE_SYNC_SECONDS` is 0: never before the next start.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Keeps a library up to date.
pub(crate) struct Syncing {
    library: Library,
    every: Duration,
}

impl Syncing {
    pub(crate) fn new(library: Library, every: Duration) -> Self {
        Self { library, every: if every.is_zero() { NEVER } else { every } }
    }
}

#[async_trait]
impl galatea_core::Service for Syncing {
    fn name(&self) -> &'static str {
        "knowledge"
    }

    async fn run(self: Arc<Self>, context: ServiceContext, stop: CancellationToken) -> Result<()> {
        let library = self.library.metered(&context);
        let (mut logged, mut failures, mut postponed) = (BTreeSet::new(), 0_u32, false);
        loop {
            let Some(outcome) = stop.run_until_cancelled(library.sync_changes()).await else {
                return Ok(());
            };
            let pause = match outcome {
                Ok(Look { synced: None, is_written }) => next_look(self.every, is_written),
                Ok(Look { synced: Some(synced), is_written }) => {
                    log_outcome(&synced, &mut logged);
                    if let Some(limit) = synced.postponed.as_ref().filter(|_| !postponed) {
                        tracing::info!(reason = %limit, "pieces of documents wait for their embeddings until the next day (UTC); they are found by words only");
                    }
                    postponed = synced.postponed.is_some();
                    if let Some(error) = &synced.unembedded {
                        failures += 1;
                        let pause = later(self.every, failures);
                        tracing::warn!(code = error.code(), error = %error.report(), seconds = pause.as_secs(), "failed to embed documents, which are found by words until then; trying again");
                        pause
                    } else {
                        failures = 0;
                        let every = next_look(self.every, is_written);
                        if postponed { every.min(synced.holds()) } else { every }
                    }
                }
                Err(error) => {
                    failures += 1;
                    let pause = later(self.every, failures);
                    tracing::warn!(code = error.code(), error = %error.report(), seconds = pause.as_secs(), "failed to read documents; trying again");
                    pause
                }
            };
            if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }
}

/// The pause before the next look: shorter while a file may still be written, also if files are looked
/// at only at the start.
fn next_look(every: Duration, is_written: bool) -> Duration {
    if is_written { every.min(SETTLED) } else { every }
}

/// A pause that doubles with each failure.
fn later(every: Duration, failures: u32) -> Duration {
    Backoff::pause_after(every.max(SHORTEST), LONGEST, failures)
}

fn log_outcome(synced: &Synced, logged: &mut BTreeSet<String>) {
    if !synced.is_empty() {
        tracing::info!(
            read = synced.read,
            removed = synced.removed,
            pieces = synced.pieces,
            embedded = synced.embedded,
            "documents are up to date"
        );
    }
    // Each problem once, and again when it comes back.
    let problems: BTreeSet<String> =
        synced.problems.iter().map(|(key, problem)| line(key, problem)).collect();
    for problem in problems.difference(logged) {
        tracing::warn!(problem, "a document cannot be read; `galatea knowledge ls` lists all");
    }
    *logged = problems;
}

fn line(key: &str, problem: &Problem) -> String {
    galatea_core::visible::one_line(&format!("{key}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_being_written_is_looked_at_a_second_later() {
        for every in [Duration::from_secs(10), NEVER] {
            assert_eq!(next_look(every, true), SETTLED);
            assert_eq!(next_look(every, false), every);
        }
        let often = Duration::from_millis(100);
        assert_eq!(next_look(often, true), often);
    }
}
