//! Agents in a program of one's own: created from character files, asked, changed, restarted and
//! removed while others run.

use galatea_core::{
    AgentId, Error, EventBus, Plugin, Result, Settings,
    redact::Redactor,
    settings::{Layer, Origin, Setting},
    store::ProcessRole,
};
use galatea_runtime::{AgentInfo, Orchestrator};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{
    agents::{
        boot::{BootOptions, Opened, open},
        factory::{PersonaFactory, change_to, forget, needs_restart},
        surroundings::Platforms,
    },
    characters::personas::{self, Persona},
    config::{Configuration, Sources},
    platforms::Direct,
    storage::{data_dir::DataDir, lock::InstanceLock},
};

/// How long turns and sends in flight may take to end when an agent stops.
const DRAIN: Duration = Duration::from_secs(25);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Agents in a program of one's own.
///
/// ```no_run
/// # async fn run() -> galatea_core::Result<()> {
/// use galatea_host::Galatea;
///
/// // `.env`, `galatea.toml` and character files are read from this folder.
/// let galatea = Galatea::builder("my-agents").build().await?;
/// let ada = galatea.add_agent("ada.json").await?;
/// println!("{}", galatea.ask(ada, "Who are you?").await?);
/// galatea.update(ada).await?; // reads ada.json again
/// galatea.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub struct Galatea {
    folder: PathBuf,
    set: Layer,
    redactor: Redactor,
    opened: Opened,
    agents: Mutex<BTreeMap<AgentId, Slot>>,
    /// One process at a time uses the data folder.
    _lock: InstanceLock,
}

/// One agent, and the ways to it.
#[derive(Clone)]
struct Slot {
    file: PathBuf,
    factory: Arc<PersonaFactory>,
    direct: Arc<Direct>,
}

/// Builds a [`Galatea`].
pub struct Builder {
    folder: PathBuf,
    set: Layer,
    plugins: Vec<Plugin>,
    platforms: Platforms,
    parser: PathBuf,
}

impl Builder {
    /// Sets a setting for every agent, stronger than the environment and the files of the folder,
    /// weaker than the agents' own.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        let setting = Setting { value: value.into(), origin: Origin::Environment };
        self.set.insert(name.to_owned(), setting);
        self
    }

    /// Adds a plugin to every agent, such as one that brings a model.
    #[must_use]
    pub fn plugin(mut self, plugin: Plugin) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// Which platforms to connect; all that are configured by default.
    #[must_use]
    pub fn platforms(mut self, platforms: Platforms) -> Self {
        self.platforms = platforms;
        self
    }

    /// The program that parses documents in child processes, so that a damaged one harms nothing. It
    /// calls [`galatea_knowledge::sandbox::requested`] before anything else. Without such a program
    /// documents stay unread, and the log says so.
    #[must_use]
    pub fn parser(mut self, program: impl Into<PathBuf>) -> Self {
        self.parser = program.into();
        self
    }

    /// Reads the settings, takes the data folder and opens the database. There are no agents yet.
    ///
    /// # Errors
    /// `Invalid` with the place of a setting that cannot be read, `Conflict` (`GAL-LOCK`) if another
    /// process uses the data folder, and any error that prevents the database from opening.
    pub async fn build(self) -> Result<Galatea> {
        let Self { folder, set, plugins, platforms, parser } = self;
        let redactor = Redactor::default();
        let settings = configuration(&folder, &set, &redactor)?.settings;
        let data_dir = DataDir::locate(&settings, &folder);
        data_dir.create()?;
        let lock = InstanceLock::take(data_dir.path())?;
        let options = BootOptions {
            settings: &settings,
            data_dir: &data_dir,
            platforms,
            role: ProcessRole::default(),
            redactor: &redactor,
            version: env!("CARGO_PKG_VERSION"),
            parser: &parser,
        };
        let opened = open(options, &[], plugins).await?;
        opened.orchestrator.start()?;
        Ok(Galatea { folder, set, redactor, opened, agents: Mutex::default(), _lock: lock })
    }
}

impl Galatea {
    /// Begins with the folder that contains the settings (`.env`, `galatea.toml`) and that relative
    /// paths start at.
    pub fn builder(folder: impl Into<PathBuf>) -> Builder {
        Builder {
            folder: folder.into(),
            set: Layer::default(),
            plugins: Vec::new(),
            platforms: Platforms::All,
            parser: PathBuf::new(),
        }
    }

    /// Creates an agent from a character file and starts it.
    ///
    /// # Errors
    /// `NotFound` for a missing file, `Invalid` with the place of a fault, `Conflict` for a character
    /// with the id of another agent.
    pub async fn add_agent(&self, file: impl AsRef<Path>) -> Result<AgentId> {
        let file = file.as_ref().to_path_buf();
        let persona = self.read(&file)?;
        let id = persona.character.identity().id();
        if self.lock().contains_key(&id) {
            return Err(Error::new(
                galatea_core::ErrorKind::Conflict,
                "an agent with the id of this character runs already",
            )
            .with_code("GAL-CHAR-SAME")
            .with_fix("give one of them another name, or an `id` of its own"));
        }
        let direct = Direct::new();
        let factory = PersonaFactory::new(
            Arc::clone(&self.opened.surroundings),
            persona,
            Some(Arc::clone(&direct) as _),
        );
        let orchestrator = &self.opened.orchestrator;
        if let Err(error) = orchestrator.create_agent_by(Arc::clone(&factory) as _).await {
            // Not of an agent that another call created meanwhile.
            if orchestrator.info(id).is_none() {
                forget(&self.opened.surroundings, id);
            }
            return Err(error);
        }
        self.lock().insert(id, Slot { file, factory, direct });
        orchestrator.start_agent(id)?;
        Ok(id)
    }

    /// Says something to an agent as its owner, and waits up to two minutes for the answer. One
    /// question at a time is asked; others wait.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Timeout` without an answer, `Unsupported` if the agent
    /// decides not to answer, and the failure of its models.
    pub async fn ask(&self, agent: AgentId, text: &str) -> Result<String> {
        let direct = self.slot(agent)?.direct;
        direct.ask(text, self.opened.orchestrator.events(), PATIENCE).await
    }

    /// Reads an agent's character file and the settings again. The change applies from the next turn
    /// on. An agent whose models, connectors or documents changed is restarted for it.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent or a missing file, `Conflict` for a character with another id,
    /// `Invalid` with the place of a fault. Nothing has changed then.
    pub async fn update(&self, agent: AgentId) -> Result<()> {
        let Slot { file, factory, .. } = self.slot(agent)?;
        let (before, after) = (factory.persona(), self.read(&file)?);
        if after.character.identity() != before.character.identity() {
            return Err(Error::new(
                galatea_core::ErrorKind::Conflict,
                "the character has another id than the agent",
            )
            .with_fix("keep its `id`, or its name if it has none; another id is another agent"));
        }
        let restart = needs_restart(&before, &after);
        let change = change_to(&after)?;
        factory.set(after);
        let orchestrator = &self.opened.orchestrator;
        if restart {
            return orchestrator.restart_agent(agent, DRAIN).await;
        }
        orchestrator.update_agent(agent, change).await.inspect_err(|_| factory.set(before))
    }

    /// Ends an agent's turns and sends, rebuilds its models and connectors, and starts it again.
    /// Other agents go on meanwhile.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, and any failure to rebuild it. A restart may be tried again
    /// after such a failure.
    pub async fn restart(&self, agent: AgentId) -> Result<()> {
        self.slot(agent)?;
        self.opened.orchestrator.restart_agent(agent, DRAIN).await
    }

    /// Stops an agent and forgets it. The database keeps its memory.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent.
    pub async fn remove(&self, agent: AgentId) -> Result<()> {
        self.slot(agent)?;
        self.opened.orchestrator.remove_agent(agent).await?;
        self.lock().remove(&agent);
        forget(&self.opened.surroundings, agent);
        Ok(())
    }

    /// Every agent, with how far its start or stop has come.
    pub fn agents(&self) -> Vec<AgentInfo> {
        self.opened.orchestrator.infos()
    }

    /// What happens to all agents.
    pub fn events(&self) -> &EventBus {
        self.opened.orchestrator.events()
    }

    /// The engine of the agents, for what has no method here.
    pub fn orchestrator(&self) -> &Arc<Orchestrator> {
        &self.opened.orchestrator
    }

    /// Stops every agent, closes the database and frees the data folder. Unfinished work continues
    /// at the next start.
    pub async fn shutdown(self) {
        self.opened.stop(DRAIN).await;
    }

    fn slot(&self, agent: AgentId) -> Result<Slot> {
        let slot = self.lock().get(&agent).cloned();
        slot.ok_or_else(|| Error::not_found("no such agent").with("agent", agent))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Slot>> {
        self.agents.lock()
    }

    fn read(&self, file: &Path) -> Result<Persona> {
        let configuration = configuration(&self.folder, &self.set, &self.redactor)?;
        Ok(personas::one(file, &configuration, &self.folder)?)
    }
}

/// The settings of now: those that the program set, then those of the environment and the files.
fn configuration(folder: &Path, set: &Layer, redactor: &Redactor) -> Result<Configuration> {
    let sources = Sources::new(folder.to_path_buf(), None, None);
    let mut configuration = Configuration::load(&sources, redactor)
        .map_err(|reports| Error::from(crate::report::Faults::Settings(reports)))?;
    let layers = std::iter::once(set).chain(configuration.settings.layers()).cloned().collect();
    configuration.settings = Settings::new(layers);
    Ok(configuration)
}
