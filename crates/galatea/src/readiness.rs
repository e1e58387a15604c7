//! Readiness: what is in the way of the process's work, as `/readyz` tells it.

use galatea_core::{AgentId, Health};
use galatea_models::Dependencies;
use galatea_runtime::{ConnectorStatus, Orchestrator};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    boot::Booted,
    database::Database,
    health::{AgentState, ConnectorState, Probe, Readiness, Reason},
    models::ModelHealth,
    trouble::Trouble,
};

/// Longest wait for the database to answer a question.
const STORAGE_PATIENCE: Duration = Duration::from_secs(2);

struct Watched {
    orchestrator: Arc<Orchestrator>,
    database: Database,
    agents: Vec<(AgentId, String, String, ModelHealth)>,
    since: Instant,
    stopping: Arc<AtomicBool>,
    dependencies: Dependencies,
}

/// Looks at a process. `stopping` is set once it drains.
pub(crate) fn probe(booted: &Booted, since: Instant, stopping: Arc<AtomicBool>) -> Probe {
    let agents = booted.agents.iter().map(|a| (a.id, a.name.clone(), a.model.clone(), a.health.clone())).collect();
    let watched = Arc::new(Watched {
        orchestrator: Arc::clone(&booted.orchestrator),
        database: booted.database.clone(),
        agents,
        since,
        stopping,
        dependencies: booted.dependencies.clone(),
    });
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
            reasons.extend(health.trouble().map(|trouble| {
                let message = format!("no model answers: {}", trouble.message);
                reason("model", name, Trouble { message, ..trouble })
            }));
            agents.push(AgentState { name: name.clone(), model: model.clone(), connectors });
        }
        Readiness {
            ready: reasons.is_empty(),
            reasons,
            agents,
            breakers: self.orchestrator.breakers().into_iter().chain(self.dependencies.breakers()).collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime: self.since.elapsed().as_secs(),
            statements: self.database.statements(),
        }
    }

    async fn storage(&self) -> Option<Reason> {
        let subject = "storage".to_owned();
        match tokio::time::timeout(STORAGE_PATIENCE, self.database.store().agents()).await {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => {
                let (code, fix) = (error.code().map(str::to_owned), error.fix().map(str::to_owned));
                Some(Reason { subject, message: error.to_string(), code, fix, ..Reason::default() })
            }
            Err(_) => {
                let message = format!("the database did not answer within {} s", STORAGE_PATIENCE.as_secs());
                let fix = match self.database {
                    Database::Sqlite(_) => "look at free space and rights of the data folder",
                    Database::Postgres(_) => "look at the PostgreSQL server and the way to it",
                };
                Some(Reason { subject, message, fix: Some(fix.to_owned()), ..Reason::default() })
            }
        }
    }
}

/// A connector for the list, and what is wrong with it.
fn judge(status: &ConnectorStatus) -> (ConnectorState, Option<Reason>) {
    let source = status.info.source.to_string();
    let trouble = Trouble::of_connector(&status.health);
    let (state, detail) = match &status.health {
        Health::Starting => ("starting", "not connected yet".to_owned()),
        Health::Elsewhere => ("elsewhere", "another process connects it".to_owned()),
        Health::Up { detail } => ("up", detail.clone()),
        Health::Degraded { reason } => ("degraded", reason.clone()),
        Health::Retrying { .. } => ("retrying", trouble.as_ref().map_or_else(String::new, short)),
        Health::Down { .. } => ("down", trouble.as_ref().map_or_else(String::new, short)),
    };
    // One that works in part works.
    let in_the_way = match state {
        "up" | "degraded" | "elsewhere" => None,
        _ => Some(trouble.unwrap_or_else(|| Trouble { message: detail.clone(), ..Trouble::default() })),
    };
    let reason = in_the_way.map(|trouble| reason(&format!("connector {source}"), &status.agent_name, trouble));
    (ConnectorState { source, account: status.info.account.to_string(), state: state.to_owned(), detail }, reason)
}

/// In one line.
fn short(trouble: &Trouble) -> String {
    trouble.next.as_ref().map_or_else(|| trouble.message.clone(), |next| format!("{}; {next}", trouble.message))
}

fn reason(subject: &str, agent: &str, trouble: Trouble) -> Reason {
    Reason {
        subject: subject.to_owned(),
        agent: Some(agent.to_owned()),
        message: short(&trouble),
        code: trouble.code,
        cause: trouble.cause,
        origin: trouble.origin,
        fix: trouble.fix,
    }
}
