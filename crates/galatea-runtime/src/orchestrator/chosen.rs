//! Carries out what another process chose about plugins, such as the command line.

use galatea_core::{AgentId, Clock, SystemClock, Timestamp};
use std::{sync::Weak, time::Duration};

use super::{
    plugins::{CHANGES, Times},
    state::Orchestrator,
};

/// Choices of so many milliseconds before the start are carried out again, since an agent may have
/// been made of those before. Clocks of two processes differ by less.
const STARTING: i64 = 60_000;

/// Reads the times of choices of all agents with one statement, every `every`, and reloads the
/// plugins of those agents for which there are new ones. Ends with the orchestrator.
pub(super) async fn watch(all: Weak<Orchestrator>, every: Duration) {
    let Some(closing) = all.upgrade().map(|all| all.closing.clone()) else { return };
    let started = Timestamp(SystemClock.now().0 - STARTING);
    let mut seen: Option<Times> = None;
    while closing.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
        let Some(all) = all.upgrade() else { return };
        let Some(now) = read(&all).await else {
            tracing::debug!("failed to read the choices about plugins; trying again later");
            continue;
        };
        let is_new = |agent: &AgentId, at: Timestamp| match &seen {
            Some(seen) => seen.get(agent) != Some(&at),
            None => at > started,
        };
        let new = now.iter().filter(|(agent, at)| is_new(agent, **at)).map(|(agent, _)| *agent);
        reload(&all, new.collect()).await;
        seen = Some(now);
    }
}

async fn read(all: &Orchestrator) -> Option<Times> {
    let (of, key) = CHANGES;
    let stored = all.options.store.cached(of, key, Timestamp(0)).await.ok()?;
    Some(stored.and_then(|stored| serde_json::from_value(stored).ok()).unwrap_or_default())
}

async fn reload(all: &Orchestrator, agents: Vec<AgentId>) {
    for agent in agents.into_iter().filter(|agent| all.info(*agent).is_some()) {
        if let Err(error) = all.reload_plugins(agent).await {
            tracing::error!(agent = %agent, code = error.code(), error = %error.report(), fix = error.fix(), "failed to carry out a choice about plugins; they stay as they are");
        }
    }
}
