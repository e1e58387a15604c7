//! What an operator can do: one file per resource, each operation authorised, and recorded if it
//! changes something. The API, the sockets and the command line have no other way in.

mod access;
mod agents;
mod approvals;
pub mod channel_history;
pub mod channels;
mod characters;
pub mod chat;
pub mod chat_sessions;
mod cluster;
mod connectors;
mod created;
mod grants;
pub mod hearing;
mod house;
mod installation;
pub mod jobs;
mod knowledge;
pub mod live;
pub mod logs;
pub mod made_places;
mod mcp;
mod places;
mod plugins;
mod queues;
pub mod session_time;
mod settings;
mod sign_in;
mod system;
mod tasks;
pub mod traces;
mod uploads;
mod webhooks;

use galatea_core::{
    AgentId, Clock, CredentialId, Error, ErrorKind, EventBus, Result, Store, UserId,
    store::{OperatorRole, RecordedChange, User},
};
use galatea_runtime::Orchestrator;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

use crate::{config::SignInOptions, log_ring::LogRing};

pub use access::{ListedPairing, NewBlock, block_id};
pub use agents::AgentView;
pub use characters::{CurrentCharacter, Remark};
pub use cluster::ClusterView;
pub use connectors::connector_id;
pub use galatea_knowledge::RankedPiece;
pub use galatea_mcp::{Phase, Pinned, ServerView, config::Transport};
pub use galatea_runtime::{
    AgentInfo, AgentState, BudgetState, ConnectorStatus, PluginInfo, PluginState, ServiceInfo,
    approvals::{WaitingAction, WaitingActions},
    pairing::Invitation,
    tools::KnownTool,
};
pub use grants::{NewGrant, grant_id};
pub use house::{NewSecret, digest};
pub use installation::Installation;
pub use knowledge::{DocumentState, FoundPiece, ListedDocument};
pub use mcp::{ListedServer, ListedServerTool, NewServer};
pub use plugins::{ListedPlugin, ListedService, ListedTool};
pub use settings::{ChangedSetting, ListedSetting};
pub use tasks::ListedTask;
pub use uploads::Upload;
pub use webhooks::NewWebhook;

/// Who asks for an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Name of the user, or `command line`.
    pub name: String,
    /// The user; none for the command line of this machine.
    pub user: Option<UserId>,
    /// What signed the user in; none for the command line.
    pub credential: Option<CredentialId>,
    /// What the operator may do: the lesser of what the user and the credential may.
    pub role: OperatorRole,
    /// Agents with which the operator may do more, and what.
    pub agents: BTreeMap<AgentId, OperatorRole>,
    /// Whence the request came, for the record.
    pub origin: String,
}

impl Operator {
    /// Whoever runs a command on this machine: who can read the database may do everything.
    pub fn command_line() -> Self {
        Self {
            name: "command line".to_owned(),
            user: None,
            credential: None,
            role: OperatorRole::Owner,
            agents: BTreeMap::new(),
            origin: "this machine".to_owned(),
        }
    }

    /// The same, as a request that came from there.
    #[must_use]
    pub fn from_place(mut self, origin: &str) -> Self {
        origin.clone_into(&mut self.origin);
        self
    }

    /// The most that the operator may do with any agent.
    pub fn most(&self) -> OperatorRole {
        self.agents.values().copied().fold(self.role, OperatorRole::max)
    }

    /// Checks that the operator has at least this role, for all agents or for this one.
    ///
    /// # Errors
    /// As [`Operator::need`].
    pub fn need_on(&self, role: OperatorRole, agent: AgentId) -> Result<()> {
        if self.agents.get(&agent).is_some_and(|own| *own >= role) {
            return Ok(());
        }
        self.need(role)
    }

    /// Checks that the operator has at least this role for some agent: the operation checks for which.
    ///
    /// # Errors
    /// As [`Operator::need`].
    pub fn need_somewhere(&self, role: OperatorRole) -> Result<()> {
        if self.most() >= role { Ok(()) } else { self.need(role) }
    }

    /// Checks that the operator has at least this role.
    ///
    /// # Errors
    /// `Forbidden` (`GAL-AUTH-ROLE`) if not.
    pub fn need(&self, role: OperatorRole) -> Result<()> {
        if self.role >= role {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Forbidden,
            format!("this needs the role {role}; yours is {}", self.role),
        )
        .with_code("GAL-AUTH-ROLE")
        .with_fix("ask an owner of this installation"))
    }
}

/// The user with at most this role.
fn operator(
    user: &User,
    credential: Option<CredentialId>,
    most: OperatorRole,
    origin: &str,
) -> Operator {
    Operator {
        name: user.name.clone(),
        user: Some(user.id),
        credential,
        role: user.role.min(most),
        agents: user.agents.iter().map(|(agent, role)| (*agent, (*role).min(most))).collect(),
        origin: origin.to_owned(),
    }
}

/// The operations.
#[derive(Clone)]
pub struct Ops {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// None for commands that run beside the process with the agents.
    orchestrator: Option<Arc<Orchestrator>>,
    /// Settings and characters; none for commands that run beside the process.
    installation: Option<Arc<Installation>>,
    /// Ways to sign in besides links, sessions and tokens.
    sign_in: Arc<SignInOptions>,
    /// Newest lines of the log; empty where the program keeps none.
    logs: Arc<LogRing>,
}

impl Ops {
    /// Over a store, and over the agents of this process if it runs them.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        orchestrator: Option<Arc<Orchestrator>>,
    ) -> Self {
        Self {
            store,
            clock,
            orchestrator,
            installation: None,
            sign_in: Arc::default(),
            logs: Arc::default(),
        }
    }

    /// With the newest lines of the log.
    #[must_use]
    pub fn with_logs(self, logs: Arc<LogRing>) -> Self {
        Self { logs, ..self }
    }

    /// The store, for what follows events.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Events of the agents of this process; none where it runs none.
    pub fn events(&self) -> Option<&EventBus> {
        self.orchestrator.as_ref().map(|orchestrator| orchestrator.events())
    }

    /// Traces that were written, were shortened under flood, and were dropped.
    pub fn trace_counts(&self) -> [u64; 3] {
        self.orchestrator.as_ref().map_or([0; 3], |orchestrator| orchestrator.trace_counts())
    }

    fn running(&self) -> Result<&Arc<Orchestrator>> {
        self.orchestrator
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, "no agents run in this process"))
    }

    /// Records a change.
    async fn record(
        &self,
        by: &Operator,
        operation: &str,
        target: impl ToString,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<()> {
        let change = RecordedChange {
            seq: 0,
            at: self.clock.now(),
            actor: by.name.clone(),
            operation: operation.to_owned(),
            target: target.to_string(),
            before,
            after,
            origin: by.origin.clone(),
        };
        self.store.record_change(&change).await
    }
}
