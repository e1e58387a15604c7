//! Builds a [`Galatea`](super::Galatea).

use galatea_core::{
    Plugin, Result,
    redact::Redactor,
    settings::{Layer, Origin, Setting},
    store::ProcessRole,
};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    limits::AgentLimits,
    running::{Galatea, Inner},
    settings::{configuration, with_set},
    source::AgentSource,
};
use crate::{
    agents::{
        Platforms,
        boot::{BootOptions, Place, open},
    },
    config::{self, Configuration, DATABASE_URL},
    platforms::Person,
    storage::{data_dir::DataDir, lock::InstanceLock},
};

/// How long an answer may take unless the program says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// Builds a [`Galatea`]. Nothing is required.
pub struct Builder {
    folder: PathBuf,
    set: Layer,
    read: Option<Configuration>,
    redactor: Redactor,
    plugins: Vec<Plugin>,
    platforms: Platforms,
    parser: PathBuf,
    database: Database,
    role: ProcessRole,
    version: String,
    most: Option<usize>,
    patience: Duration,
    lock: Option<InstanceLock>,
}

/// Where the database is.
enum Database {
    Settings,
    Memory,
    File(PathBuf),
}

impl Galatea {
    /// Begins with the settings (`.env`, `galatea.toml`) of the working folder.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl Builder {
    fn new() -> Self {
        Self {
            folder: PathBuf::from("."),
            set: Layer::default(),
            read: None,
            redactor: Redactor::default(),
            plugins: Vec::new(),
            platforms: Platforms::All,
            parser: PathBuf::new(),
            database: Database::Settings,
            role: ProcessRole::default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            most: None,
            patience: PATIENCE,
            lock: None,
        }
    }

    /// The folder with the settings (`.env`, `galatea.toml`), in which relative paths start. The
    /// working folder by default.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Where everything is stored: `sqlite::memory:` (lost with the process, nothing on the disk),
    /// `sqlite:PATH` (a file), or `postgres://…`. By default the settings decide.
    #[must_use]
    pub fn database(mut self, address: &str) -> Self {
        let file = |rest: &str| PathBuf::from(rest.trim_start_matches("//"));
        self.database = match address.strip_prefix("sqlite:") {
            Some(":memory:" | "//:memory:" | "") => Database::Memory,
            Some(rest) => Database::File(file(rest)),
            None => {
                return Self { database: Database::Settings, ..self }
                    .setting(DATABASE_URL.name, address);
            }
        };
        self
    }

    /// Sets a setting for every agent, stronger than the environment and the files of the folder,
    /// weaker than the agents' own.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        let setting = Setting { value: value.into(), origin: Origin::Environment };
        self.set.insert(name.to_owned(), setting);
        self
    }

    /// Settings that the program has read already. They are not read from the folder then.
    #[must_use]
    pub fn configuration(mut self, configuration: Configuration) -> Self {
        self.read = Some(configuration);
        self
    }

    /// Masks the program's secrets in stored errors. It learns those of the settings.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
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

    /// What this process does of the work that it shares with others of one PostgreSQL.
    #[must_use]
    pub fn role(mut self, role: ProcessRole) -> Self {
        self.role = role;
        self
    }

    /// Version of the program, which other processes of the database compare with theirs.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// elizaOS `maxAgents`: most agents at once. Any number by default.
    #[must_use]
    pub fn max_agents(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }

    /// elizaOS `resourceLimits`: limits of every agent. Those of one agent are set where it is added.
    #[must_use]
    pub fn limits(mut self, limits: AgentLimits) -> Self {
        limits.write(&mut self.set);
        self
    }

    /// How long [`Agent::ask`](super::Agent::ask) and its like wait for an answer; two minutes by
    /// default. The turn goes on after that.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The lock of the data folder, if the program holds it already.
    #[must_use]
    pub fn lock(mut self, lock: InstanceLock) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Reads the settings, takes the data folder and opens the database. There are no agents yet.
    ///
    /// # Errors
    /// `Invalid` with the place of a setting that cannot be read, `Conflict` (`GAL-LOCK`) if another
    /// process uses the data folder, and any error that prevents the database from opening.
    pub async fn build(self) -> Result<Galatea> {
        let Self { folder, set, mut read, redactor, plugins, platforms, parser, .. } = self;
        config::learn(&set, &redactor);
        if let Some(configuration) = &mut read {
            with_set(configuration, &set);
        }
        let settings = match &read {
            Some(configuration) => configuration.settings.clone(),
            None => configuration(&folder, &set, &redactor)?.settings,
        };
        let (data_dir, place) = match &self.database {
            Database::Settings => (DataDir::locate(&settings, &folder), Place::Settings),
            Database::Memory => (DataDir::locate(&settings, &folder), Place::Memory),
            Database::File(file) => (DataDir::of_file(&folder.join(file)), Place::File),
        };
        let mut lock = self.lock;
        if place != Place::Memory && lock.is_none() {
            data_dir.create()?;
            lock = Some(InstanceLock::take(data_dir.path())?);
        }
        let options = BootOptions {
            settings: &settings,
            data_dir: &data_dir,
            platforms,
            role: self.role,
            redactor: &redactor,
            version: &self.version,
            parser: &parser,
            place,
        };
        let opened = open(options, &[], plugins).await?;
        opened.orchestrator.start()?;
        Ok(Galatea(Arc::new(Inner {
            folder,
            set,
            read,
            redactor,
            opened,
            agents: Mutex::default(),
            most: self.most,
            patience: self.patience,
            began: Instant::now(),
            meetings: Mutex::new(BTreeMap::new()),
            lock: Mutex::new(lock),
        })))
    }

    /// Serverless: one question to a character, one answer. The database is in memory unless
    /// [`Self::database`] names another; the agent is ephemeral, and nothing of it is left.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> galatea_core::Result<()> {
    /// use galatea_host::{AgentSource, Galatea};
    ///
    /// # let folder = std::env::temp_dir();
    /// let nova = AgentSource::json(r#"{"name": "Nova", "bio": "A gardener."}"#);
    /// let answer = Galatea::builder().folder(folder).answer(nova, "alice", "Hello!").await?;
    /// assert!(!answer.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Self::build`], of adding the agent, and of [`Agent::ask`](super::Agent::ask).
    pub async fn answer(
        mut self,
        source: impl Into<AgentSource>,
        person: impl Into<Person>,
        text: &str,
    ) -> Result<String> {
        if matches!(self.database, Database::Settings) {
            self.database = Database::Memory;
        }
        let galatea = self.platforms(Platforms::None).build().await?;
        let answer = async {
            let agent = galatea.add_agent(source).ephemeral().start().await?;
            agent.ask(person, text).await
        };
        let answer = answer.await;
        galatea.shutdown(Duration::ZERO).await;
        answer
    }
}
