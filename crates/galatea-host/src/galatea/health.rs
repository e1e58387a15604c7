//! Health of the agents: probes, not flags.

use galatea_core::{AgentId, Finding, Result, Severity};
use galatea_runtime::AgentState;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    agent::Agent,
    running::{Galatea, Slot},
};

/// Longest time that a probe of an agent takes.
const PROBE: Duration = Duration::from_secs(5);

/// How an agent is doing, as a probe has just found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentHealth {
    /// How far its start or stop has come.
    pub state: AgentState,
    /// Its connectors and services run.
    pub alive: bool,
    /// It took a message and its database answered within five seconds, its models answered when
    /// they were asked last, and its turns do not fail in a row.
    pub responsive: bool,
    /// Why it is not responsive, for people.
    pub reason: Option<String>,
    /// Turns under way or waiting.
    pub turns: usize,
    /// Instances that make turns; none without a limit (`INSTANCES_MAX`).
    pub instances: Option<usize>,
    /// Time since it was added.
    pub uptime: Duration,
}

/// Whether the keys of an agent's models are accepted, as their providers have just said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCheck {
    /// Every key that the agent needs to answer is accepted.
    pub valid: bool,
    /// What was found, for people: failures with their fix.
    pub findings: Vec<Finding>,
}

/// The process with its agents.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemStatus {
    /// Agents, the ephemeral ones included.
    pub total_agents: usize,
    /// Agents that run.
    pub active_agents: usize,
    /// Memory of the process in bytes; none where the system does not say.
    pub memory: Option<u64>,
    /// Time since the start.
    pub uptime: Duration,
}

impl Galatea {
    /// elizaOS `healthCheck`: probes every agent, side by side. Takes five seconds at most.
    pub async fn health(&self) -> BTreeMap<AgentId, AgentHealth> {
        let ids: Vec<AgentId> = self.lock().keys().copied().collect();
        let probes = ids.into_iter().map(|id| async move {
            let agent = self.agent(id).ok()?;
            Some((id, agent.health().await.ok()?))
        });
        futures::future::join_all(probes).await.into_iter().flatten().collect()
    }

    /// elizaOS `validateApiKeys`: asks the provider of each agent's models whether the keys are
    /// accepted. Costs no tokens.
    pub async fn validate_api_keys(&self) -> BTreeMap<AgentId, KeyCheck> {
        let ids: Vec<AgentId> = self.lock().keys().copied().collect();
        let checks = ids.into_iter().map(|id| async move {
            let agent = self.agent(id).ok()?;
            Some((id, agent.validate_api_keys().await.ok()?))
        });
        futures::future::join_all(checks).await.into_iter().flatten().collect()
    }

    /// elizaOS `getSystemStatus`.
    pub fn status(&self) -> SystemStatus {
        let infos = self.orchestrator().infos();
        let runs = |state| matches!(state, AgentState::Running | AgentState::Degraded);
        SystemStatus {
            total_agents: infos.len(),
            active_agents: infos.iter().filter(|info| runs(info.state)).count(),
            memory: memory(),
            uptime: self.0.began.elapsed(),
        }
    }
}

impl Agent {
    /// Probes the agent: its intake, its database, its models' last answers. Takes five seconds at
    /// most.
    ///
    /// # Errors
    /// `NotFound` after its removal.
    pub async fn health(&self) -> Result<AgentHealth> {
        let slot = self.slot()?;
        let state = self.state()?;
        let alive = matches!(state, AgentState::Running | AgentState::Degraded);
        let probe = async {
            slot.direct.probe().await?;
            let store = self.galatea.database().store();
            store.inbox_item(galatea_core::MemoryId::fresh()).await.map(drop)
        };
        let reason = if alive {
            match tokio::time::timeout(PROBE, probe).await {
                Ok(Ok(())) => self.trouble(&slot),
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("it took no message within five seconds".to_owned()),
            }
        } else {
            Some(self.info()?.failure.unwrap_or_else(|| "it does not run".to_owned()))
        };
        let work = self.galatea.orchestrator().work(self.id());
        Ok(AgentHealth {
            state,
            alive,
            responsive: reason.is_none(),
            reason,
            turns: work.turns,
            instances: work.instances,
            uptime: slot.began.as_ref().map(Instant::elapsed).unwrap_or_default(),
        })
    }

    fn trouble(&self, slot: &Slot) -> Option<String> {
        let failing = self.galatea.orchestrator().failing(self.id());
        let failing = failing.map(|failing| failing.reason);
        let model = || Some(slot.factory.summary()?.health.trouble()?.message);
        failing.or_else(model)
    }

    /// elizaOS `validateApiKeys`, of this agent.
    ///
    /// # Errors
    /// `NotFound` after its removal, `Invalid` with the place of a setting of its models.
    pub async fn validate_api_keys(&self) -> Result<KeyCheck> {
        let persona = self.slot()?.factory.persona();
        let configured = self.galatea.0.opened.surroundings.configured(&persona)?;
        let findings = configured.check().await;
        let valid = !findings.iter().any(|finding| finding.severity >= Severity::Error);
        Ok(KeyCheck { valid, findings })
    }
}

/// Resident memory of this process in bytes (`/proc/self/statm`, pages of 4 KiB).
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(4_096)
}
