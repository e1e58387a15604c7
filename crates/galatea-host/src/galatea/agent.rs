//! A handle for one agent.

use galatea_core::{AgentId, Error, ErrorKind, Result};
use galatea_runtime::{AgentInfo, AgentState};
use std::{fmt, sync::Arc, time::Duration};

use super::{
    answering::Answering,
    callbacks::Callbacks,
    running::{DRAIN, Galatea, Slot},
    source::AgentSource,
};
use crate::{
    agents::factory::{change_to, needs_restart},
    platforms::{Answer, Message, Person},
};

/// A handle for one agent. Cheap to clone. It outlives restarts of the agent; after a removal its
/// methods fail with `NotFound`.
#[derive(Clone)]
pub struct Agent {
    pub(super) galatea: Galatea,
    id: AgentId,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Agent {
    pub(super) fn new(galatea: Galatea, id: AgentId) -> Self {
        Self { galatea, id }
    }

    /// Its id, which is derived from its character.
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// Its name, and how far its start or stop has come.
    ///
    /// # Errors
    /// `NotFound` after its removal.
    pub fn info(&self) -> Result<AgentInfo> {
        let info = self.galatea.orchestrator().info(self.id);
        info.ok_or_else(|| Error::not_found("no such agent").with("agent", self.id))
    }

    /// How far its start or stop has come.
    ///
    /// # Errors
    /// `NotFound` after its removal.
    pub fn state(&self) -> Result<AgentState> {
        Ok(self.info()?.state)
    }

    /// Says something to the agent as a person, and returns the whole answer. Questions of one person
    /// wait for each other.
    ///
    /// # Errors
    /// `Timeout` without an answer in time, `Unsupported` if the agent decides not to answer, and the
    /// failure of its models.
    pub async fn ask(&self, person: impl Into<Person>, text: impl Into<String>) -> Result<String> {
        Ok(self.handle_message(Message::new(person, text)).await?.text)
    }

    /// As [`Self::ask`], with each step on the way: tools, messages of the answer, the end.
    pub fn ask_stream(&self, person: impl Into<Person>, text: impl Into<String>) -> Answering {
        self.stream(Message::new(person, text))
    }

    /// As [`Self::ask_stream`], for a message of any room.
    pub fn stream(&self, message: Message) -> Answering {
        Answering::begin(self.galatea.clone(), self.id, message)
    }

    /// elizaOS `handleMessage`: stores a message, and returns the answer.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn handle_message(&self, message: Message) -> Result<Answer> {
        let asked = self.galatea.asked();
        self.slot()?.direct.ask(&message, &asked, &mut |_| {}).await
    }

    /// elizaOS `handleMessage` with callbacks: returns at once, and calls back as the answer comes.
    pub fn handle_message_with(
        &self,
        message: Message,
        callbacks: Callbacks,
    ) -> tokio::task::JoinHandle<()> {
        callbacks.follow(self.stream(message))
    }

    /// Starts an agent that was created or stopped. Starting a running one does nothing.
    ///
    /// # Errors
    /// Any failure to make its parts anew after a stop.
    pub async fn start(&self) -> Result<()> {
        match self.state()? {
            AgentState::Stopped | AgentState::Failed => self.restart().await,
            _ => self.start_now(),
        }
    }

    pub(super) fn start_now(&self) -> Result<()> {
        self.galatea.orchestrator().start_agent(self.id)
    }

    /// Stops the agent: nothing new begins, turns and sends get until `within` to finish. What is
    /// left waits in the store. True if everything ended in time.
    ///
    /// # Errors
    /// `NotFound` after its removal.
    pub async fn stop(&self, within: Duration) -> Result<bool> {
        self.slot()?;
        self.galatea.orchestrator().stop_agent(self.id, within).await
    }

    /// Ends the agent's turns and sends, rebuilds its models and connectors, and starts it again.
    /// Other agents go on meanwhile.
    ///
    /// # Errors
    /// Any failure to rebuild it. A restart may be tried again after such a failure.
    pub async fn restart(&self) -> Result<()> {
        self.slot()?;
        self.galatea.orchestrator().restart_agent(self.id, DRAIN).await
    }

    /// Reads the agent's character file and the settings again. The change applies from the next turn
    /// on. An agent whose models, connectors or documents changed is restarted for it.
    ///
    /// # Errors
    /// `NotFound` for a missing file, `Conflict` for a character with another id, `Invalid` with the
    /// place of a fault. Nothing has changed then.
    pub async fn update(&self) -> Result<()> {
        let source = self.slot()?.source;
        self.update_to(source).await
    }

    /// As [`Self::update`], to another character of the same id.
    ///
    /// # Errors
    /// As [`Self::update`].
    pub async fn update_to(&self, source: impl Into<AgentSource>) -> Result<()> {
        let source = source.into();
        let Slot { factory, set, ephemeral, .. } = self.slot()?;
        let (before, mut after) = (factory.persona(), self.galatea.read(&source, &set)?);
        if ephemeral {
            after.character.id.clone_from(&before.character.id);
        }
        if after.character.identity() != before.character.identity() {
            return Err(Error::new(
                ErrorKind::Conflict,
                "the character has another id than the agent",
            )
            .with_fix("keep its `id`, or its name if it has none; another id is another agent"));
        }
        let restart = needs_restart(&before, &after);
        let change = change_to(&after)?;
        factory.set(after);
        let orchestrator = self.galatea.orchestrator();
        let outcome = if restart {
            orchestrator.restart_agent(self.id, DRAIN).await
        } else {
            let changed = orchestrator.update_agent(self.id, change).await;
            changed.inspect_err(|_| factory.set(before))
        };
        if outcome.is_ok()
            && let Some(slot) = self.galatea.lock().get_mut(&self.id)
        {
            slot.source = source;
        }
        outcome
    }

    /// elizaOS `reset`: stops the agent, deletes everything it remembers (messages, people, places,
    /// facts, tasks), and starts it again. What it spent and who is blocked stay.
    ///
    /// # Errors
    /// Those of the database, and any failure to rebuild the agent.
    pub async fn reset(&self) -> Result<()> {
        self.stop(DRAIN).await?;
        self.galatea.database().store().clear_agent(self.id, false).await?;
        self.restart().await
    }

    /// Stops an agent and forgets it. The database keeps its memory, unless it is ephemeral.
    ///
    /// # Errors
    /// `NotFound` if it was removed before.
    pub async fn remove(&self) -> Result<()> {
        self.galatea.remove_agent(self.id).await
    }

    pub(super) fn slot(&self) -> Result<Slot> {
        self.galatea.slot(self.id)
    }

    /// The way to the agent and its name.
    pub(super) fn way(&self) -> Result<(Arc<crate::platforms::Direct>, String)> {
        Ok((self.slot()?.direct, self.info()?.name))
    }
}
