//! Adds agents, finds them, and talks to several of them.

use galatea_core::{AgentId, Result};
use galatea_runtime::{AgentInfo, AgentState};

use super::{adding::AddAgent, agent::Agent, running::Galatea, source::AgentSource};
use crate::platforms::{Answer, Message};

impl Galatea {
    /// Adds an agent from a character file, a [`Character`](galatea_core::Character), JSON, or
    /// [`AgentSource::json`]. It is added by awaiting the result, or by one of its methods.
    pub fn add_agent(&self, source: impl Into<AgentSource>) -> AddAgent {
        AddAgent::new(self.clone(), source.into())
    }

    /// elizaOS `getAgent`: an agent by id.
    ///
    /// # Errors
    /// `NotFound` for an unknown id.
    pub fn agent(&self, id: AgentId) -> Result<Agent> {
        self.slot(id)?;
        Ok(Agent::new(self.clone(), id))
    }

    /// elizaOS `getAgentByName`: the first agent of this name; case is ignored.
    pub fn agent_by_name(&self, name: &str) -> Option<Agent> {
        let name = name.trim().to_lowercase();
        let found = self.agents().into_iter().find(|info| info.name.to_lowercase() == name)?;
        self.agent(found.id).ok()
    }

    /// elizaOS `getAgentsByStatus`: the agents in one of these states.
    pub fn agents_in(&self, states: &[AgentState]) -> Vec<Agent> {
        let fits = self.agents().into_iter().filter(|info| states.contains(&info.state));
        fits.filter_map(|info| self.agent(info.id).ok()).collect()
    }

    /// Every agent but the ephemeral ones, with how far its start or stop has come.
    pub fn agents(&self) -> Vec<AgentInfo> {
        let infos = self.0.opened.orchestrator.infos();
        let agents = self.lock();
        let listed = |info: &AgentInfo| agents.get(&info.id).is_some_and(|slot| !slot.ephemeral);
        infos.into_iter().filter(listed).collect()
    }

    /// Starts every agent that was only created.
    ///
    /// # Errors
    /// The first failure.
    pub fn start(&self) -> Result<()> {
        for agent in self.agents_in(&[AgentState::Created]) {
            agent.start_now()?;
        }
        Ok(())
    }

    /// elizaOS `handleMessages`: messages to several agents, answered side by side. The answers have
    /// the order of the messages.
    pub async fn handle_messages(&self, messages: Vec<(AgentId, Message)>) -> Vec<Result<Answer>> {
        let answers = messages
            .into_iter()
            .map(|(id, message)| async move { self.agent(id)?.handle_message(message).await });
        futures::future::join_all(answers).await
    }
}
