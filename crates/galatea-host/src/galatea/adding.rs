//! An agent that is about to be added.

use galatea_core::{
    Character, Error, ErrorKind, Result,
    settings::{Layer, Origin, Setting},
};
use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Instant,
};

use super::{
    agent::Agent,
    limits::AgentLimits,
    running::{Galatea, Slot},
    source::AgentSource,
};
use crate::{
    agents::factory::{PersonaFactory, forget},
    platforms::Direct,
};

/// An agent that is about to be added. Awaiting it is [`AddAgent::start`].
#[must_use = "the agent is added by `start`, `create` or `.await`"]
pub struct AddAgent {
    galatea: Galatea,
    source: AgentSource,
    set: Layer,
    ephemeral: bool,
}

impl AddAgent {
    pub(super) fn new(galatea: Galatea, source: AgentSource) -> Self {
        Self { galatea, source, set: Layer::default(), ephemeral: false }
    }

    /// Sets a setting of this agent, stronger than all others.
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        let setting = Setting { value: value.into(), origin: Origin::Environment };
        self.set.insert(name.to_owned(), setting);
        self
    }

    /// Limits of this agent, in place of those of all agents.
    pub fn limits(mut self, limits: AgentLimits) -> Self {
        limits.write(&mut self.set);
        self
    }

    /// elizaOS `ephemeral`: the agent gets an id of its own, is not listed, and is erased with
    /// everything it remembers when it is removed or the program shuts down. Several of one character
    /// may run at once.
    pub fn ephemeral(mut self) -> Self {
        self.ephemeral = true;
        self
    }

    /// Adds the agent and starts it. The answer to a first question waits for its connectors and
    /// services; this call does not.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub async fn start(self) -> Result<Agent> {
        let agent = self.create().await?;
        agent.start_now()?;
        Ok(agent)
    }

    /// Adds the agent without starting it: [`Agent::start`] does.
    ///
    /// # Errors
    /// `NotFound` for a missing file, `Invalid` with the place of a fault, `Conflict` for a character
    /// with the id of another agent, `Exhausted` (`GAL-AGENT-LIMIT`) beyond the most agents.
    pub async fn create(self) -> Result<Agent> {
        let Self { galatea, source, set, ephemeral } = self;
        crate::config::learn(&set, &galatea.0.redactor);
        let mut persona = galatea.read(&source, &set)?;
        if ephemeral {
            persona.character = of_its_own(persona.character);
        }
        let id = persona.character.identity().id();
        if galatea.lock().contains_key(&id) {
            return Err(same());
        }
        galatea.has_room()?;
        let surroundings = Arc::clone(&galatea.0.opened.surroundings);
        let direct = Direct::new();
        let factory = PersonaFactory::new(surroundings, persona, Some(Arc::clone(&direct) as _));
        let orchestrator = &galatea.0.opened.orchestrator;
        if let Err(error) = orchestrator.create_agent_by(Arc::clone(&factory) as _).await {
            // Not of an agent that another call created meanwhile.
            if orchestrator.info(id).is_none() {
                forget(&galatea.0.opened.surroundings, id);
            }
            return Err(error);
        }
        let slot = Slot { source, set, factory, direct, ephemeral, began: Some(Instant::now()) };
        galatea.lock().insert(id, slot);
        // Of two calls at once the later one may find no place.
        if galatea.0.most.is_some_and(|most| galatea.lock().len() > most) {
            galatea.remove_agent(id).await?;
            galatea.has_room()?;
        }
        Ok(Agent::new(galatea, id))
    }
}

impl IntoFuture for AddAgent {
    type Output = Result<Agent>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

/// The character with an id that no other agent has.
fn of_its_own(character: Character) -> Character {
    Character { id: Some(galatea_core::AgentId::fresh().to_string()), ..character }
}

fn same() -> Error {
    Error::new(ErrorKind::Conflict, "an agent with the id of this character runs already")
        .with_code("GAL-CHAR-SAME")
        .with_fix("give one of them another name, or an `id` of its own")
}
