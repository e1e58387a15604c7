//! Readiness: what is in the way of the process's work, as `/readyz` tells it.

use galatea_core::{AgentId, Health, store::AgentStore};
use galatea_runtime::{ConnectorStatus, Orchestrator};
use galatea_store_sqlite::SqliteStore;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    boot::Booted,
    health::{AgentState, ConnectorState, Probe, Readiness, Reason},
    models::ModelHealth,
};

/// Longest wait for the database to answer a question.
const STORAGE_PATIENCE: Duration = Duration::from_secs(2);

struct Watched {
    orchestrator: Arc<Orchestrator>,
    database: SqliteStore,
    agents: Vec<(AgentId, String, String, ModelHealth)>,
    since: Instant,
    stopping: Arc<AtomicBool>,
}

/// Looks at a process. `stopping` is set once it drains.
pub(crate) fn probe(booted: &Booted, since: Instant, stopping: Arc<AtomicBool>) -> Probe {
    let agents = booted.agents.iter().map(|a| (a.id, a.name.clone(), a.model.clone(), a.health.clone())).collect();
    let watched = Arc::new(Watched { orchestrator: Arc::clone(&booted.orchestrator), database: booted.database.clone(), agents, since, stopping });
    Arc::new(move || {
        let watched = Arc::clone(&watched);
        Box::pin(async move { watched.look().await })
    })
}

impl Watched {
    async fn look(&self) -> Readiness {
        let mut reasons = Vec::new();
        if self.stopping.load(Ordering::Relaxed) {
            reasons.push(Reason { subject: "process".into(), message: "it is stopping".into(), ..Reason::default() });
        }
        reasons.extend(self.storage().await);
        let statuses = self.orchestrator.statuses();
        let mut agents = Vec::new();
        for (id, name, model, health) in &self.agents {
            let mut connectors = Vec::new();
            for status in statuses.iter().filter(|s| s.agent == *id) {
                let (state, reason) = judge(status);
                reasons.extend(reason);
                connectors.push(state);
            }
            reasons.extend(health.trouble().map(|trouble| Reason {
                subject: "model".into(),
                agent: Some(name.clone()),
                message: format!("no model answers: {}", trouble.message),
                code: trouble.code.map(str::to_owned),
                fix: trouble.fix,
            }));
            agents.push(AgentState { name: name.clone(), model: model.clone(), connectors });
        }
        Readiness {
            ready: reasons.is_empty(),
            reasons,
            agents,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime: self.since.elapsed().as_secs(),
            statements: self.database.statements(),
        }
    }

    async fn storage(&self) -> Option<Reason> {
        let message = match tokio::time::timeout(STORAGE_PATIENCE, self.database.agents()).await {
            Ok(Ok(_)) => return None,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("the database did not answer within {} s", STORAGE_PATIENCE.as_secs()),
        };
        Some(Reason { subject: "storage".into(), message, fix: Some("look at free space and rights of the data folder".into()), ..Reason::default() })
    }
}

/// A connector for the list, and what is wrong with it.
fn judge(status: &ConnectorStatus) -> (ConnectorState, Option<Reason>) {
    let (state, detail, code, fix) = match &status.health {
        Health::Starting => ("starting", "not connected yet", None, None),
        Health::Up { detail } => ("up", detail.as_str(), None, None),
        Health::Degraded { reason } => ("degraded", reason.as_str(), None, None),
        Health::Retrying { reason, code } => ("retrying", reason.as_str(), code.clone(), None),
        Health::Down { reason, code, fix } => ("down", reason.as_str(), code.clone(), fix.clone()),
    };
    let source = status.info.source.to_string();
    // One that works in part works.
    let reason = (!matches!(state, "up" | "degraded")).then(|| Reason {
        subject: format!("connector {source}"),
        agent: Some(status.agent_name.clone()),
        message: detail.to_owned(),
        code,
        fix,
    });
    (ConnectorState { source, account: status.info.account.to_string(), state: state.to_owned(), detail: detail.to_owned() }, reason)
}
