//! The orchestrator: its agents, each with how far its start or stop has come.

use galatea_core::{AgentId, ConnectorInfo, Error, Result, store::ProcessRole};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{agent::Agent, spec::RuntimeOptions};
use crate::ownership;

/// Many agents in one process.
pub struct Orchestrator {
    pub(super) options: RuntimeOptions,
    pub(super) agents: Mutex<BTreeMap<AgentId, Entry>>,
    pub(super) keeper: Mutex<Option<Keeping>>,
}

/// One agent, and how far its start or stop has come.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) agent: Arc<Agent>,
    pub(super) state: Lifecycle,
}

/// An agent is started once and stopped once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifecycle {
    Created,
    Running,
    Stopped,
}

/// The keeper of this process's leases, at work.
pub(super) struct Keeping {
    pub(super) stop: CancellationToken,
    pub(super) task: tokio::task::JoinHandle<()>,
    /// Wakes the keeper: other processes shall know at once of a change here.
    pub(super) nudge: Arc<Notify>,
}

impl Orchestrator {
    /// No agents yet.
    ///
    /// # Errors
    /// `Invalid` for a role that leaves work to others, with a store that has one process.
    pub fn new(mut options: RuntimeOptions) -> Result<Arc<Self>> {
        options.cluster = ownership::shared(&options.store, options.cluster)?;
        Ok(Arc::new(Self { options, agents: Mutex::default(), keeper: Mutex::default() }))
    }

    pub(super) fn role(&self) -> ProcessRole {
        self.options.cluster.as_ref().map_or(ProcessRole::All, |cluster| cluster.role)
    }

    /// This machine's own accounts, such as its terminal, need a process that connects and answers.
    pub(super) fn leaves_out(&self, agent: &Agent, info: &ConnectorInfo) -> bool {
        self.role() != ProcessRole::All && !agent.ownership.is_leased(&info.source)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Entry>> {
        self.agents.lock()
    }
}

pub(super) fn unknown(id: AgentId) -> Error {
    Error::not_found("no such agent").with("agent", id)
}
