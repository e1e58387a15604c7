//! Agents in a program of one's own: created from characters, asked, changed, restarted and removed
//! while others run. The program owns the async runtime, the log, the signals and every listener.

mod adding;
mod agent;
mod answering;
mod builder;
mod callbacks;
mod health;
mod limits;
mod listening;
mod meeting;
mod source;

use galatea_core::{AgentId, Error, ErrorKind, EventBus, Result, Settings, settings::Layer};
use galatea_runtime::{AgentInfo, AgentState, Orchestrator};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

pub use self::{
    adding::AddAgent,
    agent::Agent,
    answering::Answering,
    builder::Builder,
    callbacks::Callbacks,
    health::{AgentHealth, KeyCheck, SystemStatus},
    limits::AgentLimits,
    listening::Listener,
    meeting::Meeting,
    source::AgentSource,
};
use crate::{
    agents::{
        AgentSummary,
        boot::Opened,
        factory::{PersonaFactory, forget},
    },
    characters::personas::Persona,
    config::Configuration,
    platforms::{Asked, Direct, Message},
    storage::{database::Database, lock::InstanceLock},
};

/// How long turns and sends in flight may take to end when an agent is restarted.
const DRAIN: Duration = Duration::from_secs(25);

/// Agents in a program of one's own. Cheap to clone; all clones are the same.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> galatea_core::Result<()> {
/// use galatea_core::Character;
/// use galatea_host::Galatea;
/// use std::time::Duration;
///
/// # let folder = std::env::temp_dir();
/// // Without a model in the settings the offline script answers.
/// let galatea = Galatea::builder().folder(folder).database("sqlite::memory:").build().await?;
/// let nova = Character::from_json(r#"{"name": "Nova", "bio": "A gardener."}"#)?;
/// let nova = galatea.add_agent(nova).start().await?;
/// println!("{}", nova.ask("alice", "Shall I water today?").await?);
/// galatea.shutdown(Duration::from_secs(10)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Galatea(Arc<Inner>);

struct Inner {
    /// Relative paths start here.
    folder: PathBuf,
    /// Settings that the program set, for every agent.
    set: Layer,
    /// Settings that the caller read already; none to read them from the folder each time.
    read: Option<Configuration>,
    redactor: galatea_core::redact::Redactor,
    opened: Opened,
    agents: Mutex<BTreeMap<AgentId, Slot>>,
    /// Most agents at once.
    most: Option<usize>,
    patience: Duration,
    began: std::time::Instant,
    meetings: Mutex<BTreeMap<String, Arc<crate::platforms::MeetingRoom>>>,
    /// One process at a time uses the data folder; none for a database in memory.
    lock: Mutex<Option<InstanceLock>>,
}

/// One agent, and the ways to it.
#[derive(Clone)]
struct Slot {
    source: AgentSource,
    /// Settings that the program set for this agent, stronger than all others.
    set: Layer,
    factory: Arc<PersonaFactory>,
    direct: Arc<Direct>,
    ephemeral: bool,
    began: Option<std::time::Instant>,
}

impl Galatea {
    /// Begins with the settings (`.env`, `galatea.toml`) of the working folder.
    pub fn builder() -> Builder {
        Builder::new()
    }

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
    pub async fn handle_messages(
        &self,
        messages: Vec<(AgentId, Message)>,
    ) -> Vec<Result<crate::platforms::Answer>> {
        let answers = messages
            .into_iter()
            .map(|(id, message)| async move { self.agent(id)?.handle_message(message).await });
        futures::future::join_all(answers).await
    }

    /// What happens to all agents, for subscribers that want every event.
    pub fn events(&self) -> &EventBus {
        self.0.opened.orchestrator.events()
    }

    /// The engine of the agents, for what has no method here.
    pub fn orchestrator(&self) -> &Arc<Orchestrator> {
        &self.0.opened.orchestrator
    }

    /// The database of all agents.
    pub fn database(&self) -> &Database {
        &self.0.opened.database
    }

    /// Models, platforms and remarks of each agent, for people.
    pub fn summaries(&self) -> Vec<AgentSummary> {
        self.lock().values().filter_map(|slot| slot.factory.summary()).collect()
    }

    /// Stops every agent, waits at most `within` for turns and sends in flight, closes the database
    /// and frees the data folder. What waits in a queue stays there, and goes on at the next start.
    /// Ephemeral agents are erased. Later calls fail.
    pub async fn shutdown(&self, within: Duration) {
        let ephemeral: Vec<AgentId> = {
            let agents = self.lock();
            agents.iter().filter(|(_, slot)| slot.ephemeral).map(|(id, _)| *id).collect()
        };
        for id in ephemeral {
            if let Err(error) = self.remove_agent(id).await {
                tracing::warn!(agent = %id, error = %error.report(), "failed to erase an ephemeral agent");
            }
        }
        self.0.opened.stop(within).await;
        self.0.lock.lock().take();
    }

    /// Stops an agent and forgets it. Of an ephemeral one the database keeps nothing.
    async fn remove_agent(&self, id: AgentId) -> Result<()> {
        let slot = self.slot(id)?;
        self.0.opened.orchestrator.remove_agent(id).await?;
        self.lock().remove(&id);
        self.meetings_without(id);
        forget(&self.0.opened.surroundings, id);
        if slot.ephemeral {
            self.0.opened.database.store().clear_agent(id, true).await?;
        }
        Ok(())
    }

    fn slot(&self, agent: AgentId) -> Result<Slot> {
        let slot = self.lock().get(&agent).cloned();
        slot.ok_or_else(|| Error::not_found("no such agent").with("agent", agent))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Slot>> {
        self.0.agents.lock()
    }

    /// What a question needs beside its agent.
    fn asked(&self) -> Asked {
        Asked {
            store: self.0.opened.database.store(),
            events: self.events().clone(),
            patience: self.0.patience,
        }
    }

    /// The persona of a source, with the settings of now.
    fn read(&self, source: &AgentSource, set: &Layer) -> Result<Persona> {
        let Inner { folder, read, redactor, .. } = &*self.0;
        let mut persona = if let AgentSource::Persona(persona) = source {
            (**persona).clone()
        } else {
            let read_now;
            let configuration = match read {
                Some(configuration) => configuration,
                None => {
                    read_now = builder::configuration(folder, &self.0.set, redactor)?;
                    &read_now
                }
            };
            source.read(configuration, folder)?
        };
        if !set.is_empty() {
            let own = std::iter::once(set).chain(persona.settings.layers()).cloned().collect();
            persona.settings = Settings::new(own);
        }
        Ok(persona)
    }

    /// Refuses an agent beyond the most at once.
    fn has_room(&self) -> Result<()> {
        match self.0.most {
            Some(most) if self.lock().len() >= most => Err(Error::new(
                ErrorKind::Exhausted,
                format!("there are {most} agents already, the most that this program allows"),
            )
            .with_code("GAL-AGENT-LIMIT")
            .with_fix("remove an agent, or allow more with max_agents")),
            _ => Ok(()),
        }
    }
}
