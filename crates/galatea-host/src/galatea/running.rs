//! The agents of a program, and what all of them share.

use galatea_core::{AgentId, Error, ErrorKind, EventBus, Result, Settings, settings::Layer};
use galatea_runtime::Orchestrator;
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{settings::configuration, source::AgentSource};
use crate::{
    agents::{
        AgentSummary,
        boot::Opened,
        factory::{PersonaFactory, forget},
    },
    characters::personas::Persona,
    config::Configuration,
    platforms::{Asked, Direct, MeetingRoom},
    storage::{database::Database, lock::InstanceLock},
};

/// How long turns and sends in flight may take to end when an agent is restarted.
pub(super) const DRAIN: Duration = Duration::from_secs(25);

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
pub struct Galatea(pub(super) Arc<Inner>);

pub(super) struct Inner {
    /// Relative paths start here.
    pub(super) folder: PathBuf,
    /// Settings that the program set, for every agent.
    pub(super) set: Layer,
    /// Settings that the caller read already; none to read them from the folder each time.
    pub(super) read: Option<Configuration>,
    pub(super) redactor: galatea_core::redact::Redactor,
    pub(super) opened: Opened,
    pub(super) agents: Mutex<BTreeMap<AgentId, Slot>>,
    /// Most agents at once.
    pub(super) most: Option<usize>,
    pub(super) patience: Duration,
    pub(super) began: Instant,
    pub(super) meetings: Mutex<BTreeMap<String, Arc<MeetingRoom>>>,
    /// One process at a time uses the data folder; none for a database in memory.
    pub(super) lock: Mutex<Option<InstanceLock>>,
}

/// One agent, and the ways to it.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) source: AgentSource,
    /// Settings that the program set for this agent, stronger than all others.
    pub(super) set: Layer,
    pub(super) factory: Arc<PersonaFactory>,
    pub(super) direct: Arc<Direct>,
    pub(super) ephemeral: bool,
    pub(super) began: Option<Instant>,
}

impl Galatea {
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
    pub(super) async fn remove_agent(&self, id: AgentId) -> Result<()> {
        let slot = self.slot(id)?;
        self.0.opened.orchestrator.remove_agent(id).await?;
        self.lock().remove(&id);
        self.0.meetings.lock().values().for_each(|meeting| meeting.leave(id));
        forget(&self.0.opened.surroundings, id);
        if slot.ephemeral {
            self.0.opened.database.store().clear_agent(id, true).await?;
        }
        Ok(())
    }

    pub(super) fn slot(&self, agent: AgentId) -> Result<Slot> {
        let slot = self.lock().get(&agent).cloned();
        slot.ok_or_else(|| Error::not_found("no such agent").with("agent", agent))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Slot>> {
        self.0.agents.lock()
    }

    /// What a question needs beside its agent.
    pub(super) fn asked(&self) -> Asked {
        Asked {
            store: self.0.opened.database.store(),
            events: self.events().clone(),
            patience: self.0.patience,
            drafts: false,
        }
    }

    /// The persona of a source, with the settings of now.
    pub(super) fn read(&self, source: &AgentSource, set: &Layer) -> Result<Persona> {
        let Inner { folder, read, redactor, .. } = &*self.0;
        let mut persona = if let AgentSource::Persona(persona) = source {
            (**persona).clone()
        } else {
            let read_now;
            let configuration = match read {
                Some(configuration) => configuration,
                None => {
                    read_now = configuration(folder, &self.0.set, redactor)?;
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
    pub(super) fn has_room(&self) -> Result<()> {
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
