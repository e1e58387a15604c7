//! Carries out what another process chose about plugins, such as the command line.

use galatea_core::{AgentId, Timestamp};
use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use super::{plugins::CHANGES, state::Orchestrator};

/// Reads the numbers of choices of all agents with one statement, every `every`, and reloads the
/// plugins of those agents for which there are new ones. Ends with the orchestrator.
pub(super) async fn watch(all: Weak<Orchestrator>, every: Duration) {
    let mut seen: Option<BTreeMap<AgentId, u64>> = None;
    while let Some(orchestrator) = all.upgrade() {
        let closing = orchestrator.closing.clone();
        match read(&orchestrator).await {
            Some(now) => {
                if let Some(seen) = &seen {
                    reload(&orchestrator, seen, &now).await;
                }
                seen = Some(now);
            }
            None => tracing::debug!("failed to read the choices about plugins; trying again later"),
        }
        drop(orchestrator);
        if closing.run_until_cancelled(tokio::time::sleep(every)).await.is_none() {
            return;
        }
    }
}

async fn read(all: &Orchestrator) -> Option<BTreeMap<AgentId, u64>> {
    let (of, key) = CHANGES;
    let stored = all.options.store.cached(of, key, Timestamp(0)).await.ok()?;
    Some(stored.and_then(|stored| serde_json::from_value(stored).ok()).unwrap_or_default())
}

async fn reload(
    all: &Arc<Orchestrator>,
    seen: &BTreeMap<AgentId, u64>,
    now: &BTreeMap<AgentId, u64>,
) {
    let ours = all.agents();
    for (agent, name) in ours.iter().filter(|(agent, _)| seen.get(agent) != now.get(agent)) {
        if let Err(error) = all.reload_plugins(*agent).await {
            tracing::error!(agent = %agent, name, code = error.code(), error = %error.report(), fix = error.fix(), "failed to carry out a choice about plugins; they stay as they are");
        }
    }
}
