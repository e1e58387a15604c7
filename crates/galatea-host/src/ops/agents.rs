//! Agents of this process.

use galatea_core::{AgentId, Error, Result, store::OperatorRole};
use galatea_runtime::AgentInfo;
use serde_json::{Value, json};
use std::time::Duration;

use super::{Operator, Ops};

/// How long turns and sends in flight may take to end when an agent stops.
const DRAIN: Duration = Duration::from_secs(25);

/// An agent with its character.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentView {
    /// How far its start or stop has come.
    pub info: AgentInfo,
    /// Its character, without secrets.
    pub character: Option<Value>,
}

impl Ops {
    /// Every agent of this process.
    ///
    /// # Errors
    /// `Unsupported` in a process without agents.
    pub fn agents(&self, by: &Operator) -> Result<Vec<AgentInfo>> {
        by.need(OperatorRole::Viewer)?;
        Ok(self.running()?.infos())
    }

    /// One agent with its character.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent.
    pub async fn agent(&self, by: &Operator, id: AgentId) -> Result<AgentView> {
        by.need(OperatorRole::Viewer)?;
        let info = self.running()?.info(id).ok_or_else(|| no_agent(id))?;
        Ok(AgentView { info, character: self.store.agent_character(id).await? })
    }

    /// Starts an agent that was created or stopped. One that runs stays as it is.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, and any failure to make it anew.
    pub async fn start_agent(&self, by: &Operator, id: AgentId) -> Result<AgentInfo> {
        by.need_on(OperatorRole::Operator, id)?;
        let orchestrator = self.running()?;
        let before = orchestrator.info(id).ok_or_else(|| no_agent(id))?;
        use galatea_runtime::AgentState::{Created, Failed, Stopped};
        match before.state {
            Created => orchestrator.start_agent(id)?,
            Stopped | Failed => orchestrator.restart_agent(id, DRAIN).await?,
            _ => return Ok(before),
        }
        self.changed(by, "agent.start", before).await
    }

    /// Stops an agent; work that does not end in time goes on at its next start.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent.
    pub async fn stop_agent(&self, by: &Operator, id: AgentId) -> Result<AgentInfo> {
        by.need_on(OperatorRole::Operator, id)?;
        let orchestrator = self.running()?;
        let before = orchestrator.info(id).ok_or_else(|| no_agent(id))?;
        if before.state != galatea_runtime::AgentState::Stopped {
            orchestrator.stop_agent(id, DRAIN).await?;
        }
        self.changed(by, "agent.stop", before).await
    }

    /// Makes an agent's models and connectors anew. Other agents go on meanwhile.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, and any failure to make it anew.
    pub async fn restart_agent(&self, by: &Operator, id: AgentId) -> Result<AgentInfo> {
        by.need_on(OperatorRole::Operator, id)?;
        let orchestrator = self.running()?;
        let before = orchestrator.info(id).ok_or_else(|| no_agent(id))?;
        orchestrator.restart_agent(id, DRAIN).await?;
        self.changed(by, "agent.restart", before).await
    }

    async fn changed(
        &self,
        by: &Operator,
        operation: &str,
        before: AgentInfo,
    ) -> Result<AgentInfo> {
        let after = self.running()?.info(before.id).ok_or_else(|| no_agent(before.id))?;
        let state = |info: &AgentInfo| Some(json!({ "state": info.state }));
        self.record(by, operation, before.id, state(&before), state(&after)).await?;
        Ok(after)
    }
}

pub(super) fn no_agent(id: AgentId) -> Error {
    Error::not_found("there is no such agent in this process").with("agent", id)
}
