//! What an operator can do: one file per resource, each operation authorised, and recorded if it
//! changes something. The API, the sockets and the command line have no other way in.

mod agents;
mod house;
pub mod live;
pub mod logs;
mod places;
mod queues;
mod system;
pub mod traces;

use galatea_core::{
    Clock, CredentialId, Error, ErrorKind, EventBus, Result, Store, UserId,
    store::{OperatorRole, RecordedChange},
};
use galatea_runtime::Orchestrator;
use serde_json::Value;
use std::sync::Arc;

pub use agents::AgentView;
pub use galatea_runtime::{AgentInfo, ConnectorStatus};
pub use house::{NewSecret, digest};
use logs::LogRing;

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
            origin: "this machine".to_owned(),
        }
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

/// The operations.
#[derive(Clone)]
pub struct Ops {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// None for commands that run beside the process with the agents.
    orchestrator: Option<Arc<Orchestrator>>,
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
        Self { store, clock, orchestrator, logs: Arc::default() }
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
