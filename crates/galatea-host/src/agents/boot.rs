//! Puts the process together: opens the database, then builds the agents and their connectors.
//! Nothing here waits for a platform or a model.

use galatea_core::{
    Clock, Error, EventBus, Plugin, Result, Settings, Skew, Store,
    redact::Redactor,
    store::{About, ProcessRole},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Choices, Dependencies};
use galatea_runtime::{ClusterOptions, Orchestrator, RuntimeOptions, compare_clocks};
use parking_lot::Mutex;
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use super::{
    factory::PersonaFactory,
    library,
    mcp::Hub,
    summary::AgentSummary,
    surroundings::{Platforms, Surroundings},
};
use crate::{
    characters::{
        personas::Persona,
        stored::{self, StoredLayers},
    },
    config::Configuration,
    models::choosing::{self, Choosers, Means},
    process::{machine_clock::MachineClock, member},
    storage::{
        data_dir::DataDir,
        database::{self, Database},
    },
};

/// How often the runtime polls for an operator's decisions about the outbox.
const RECONCILE_EVERY: Duration = Duration::from_secs(1);

/// A process with its agents, before it starts to work.
pub struct Booted {
    /// Runs the agents.
    pub orchestrator: Arc<Orchestrator>,
    /// The store of all agents.
    pub store: Arc<dyn Store>,
    /// The database behind `store`, kept so that it can be closed.
    pub database: Database,
    /// Whether the database was created by this start.
    pub created: bool,
    /// In the order given.
    pub agents: Vec<AgentSummary>,
    /// Circuit breakers of the agents' models.
    pub dependencies: Dependencies,
    /// Version of the program.
    pub version: String,
    pub(crate) opened: Opened,
    /// Makes each agent, at its start and at each restart.
    pub(crate) factories: Vec<Arc<PersonaFactory>>,
}

/// Where and how the agents of a process run.
pub struct BootOptions<'a> {
    /// Settings of the process.
    pub settings: &'a Settings,
    /// The folder of the database. The caller holds its lock.
    pub data_dir: &'a DataDir,
    /// Which platforms to connect.
    pub platforms: Platforms,
    /// What this process does of the work that it shares with others.
    pub role: ProcessRole,
    /// Masks secrets in stored errors.
    pub redactor: &'a Redactor,
    /// Version of the program. Other processes of the database compare it with their own.
    pub version: &'a str,
    /// The program that parses a document in a child process. It calls
    /// [`galatea_knowledge::sandbox::requested`] first.
    pub parser: &'a Path,
    /// Where the database is.
    pub place: Place,
}

/// Where the database of a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// PostgreSQL if `DATABASE_URL` is set, otherwise a SQLite file in the data folder.
    #[default]
    Settings,
    /// A SQLite file in the data folder, whatever the settings say.
    File,
    /// In memory. Nothing is written into the data folder.
    Memory,
}

/// An open database and the engine over it, without agents.
pub(crate) struct Opened {
    pub(crate) orchestrator: Arc<Orchestrator>,
    pub(crate) database: Database,
    created: bool,
    pub(crate) surroundings: Arc<Surroundings>,
    choosing: tokio::task::JoinHandle<()>,
}

/// Opens the database and builds the agents.
///
/// # Errors
/// `Invalid` for a role that the database does not support, `Invalid` with the place of an invalid
/// setting, and any error that prevents the database from opening.
pub async fn boot(options: BootOptions<'_>, personas: Vec<Persona>) -> Result<Booted> {
    boot_as(options, personas, None).await
}

/// As [`boot`], with what operators stored in the database: settings, edited characters, and agents that
/// they created. `configuration` and `folder` are those that the personas were read with.
///
/// # Errors
/// As [`boot`].
pub async fn boot_stored(
    options: BootOptions<'_>,
    personas: Vec<Persona>,
    configuration: &Configuration,
    folder: &Path,
) -> Result<Booted> {
    boot_as(options, personas, Some((configuration, folder))).await
}

async fn boot_as(
    options: BootOptions<'_>,
    personas: Vec<Persona>,
    stored: Option<(&Configuration, &Path)>,
) -> Result<Booted> {
    let version = options.version.to_owned();
    let (settings, redactor) = (options.settings.clone(), options.redactor.clone());
    let data_dir = options.data_dir.path().to_owned();
    let opened = open(options, &personas, Vec::new()).await?;
    let (mut agents, mut factories) = (Vec::new(), Vec::new());
    let mut started = stored::Started { personas, remarks: BTreeMap::new() };
    if let Some(stored) = stored {
        let (store, clock) = (opened.database.store(), &opened.surroundings.clock);
        let personas = started.personas;
        started = stored::start(&*store, &**clock, personas, Some(stored)).await?;
        let layers = StoredLayers::read(&*store, &settings, &data_dir, &redactor).await?;
        for persona in &mut started.personas {
            let (id, shared) = (persona.character.identity().id(), settings.layers().len());
            persona.settings = layers.put_into(&persona.settings, id, shared);
        }
    }
    for persona in started.personas {
        let remark = started.remarks.remove(&persona.character.identity().id());
        let factory = PersonaFactory::new(Arc::clone(&opened.surroundings), persona, None);
        opened.orchestrator.create_agent_by(Arc::clone(&factory) as _).await?;
        let summary = factory.summary().map(|mut summary| {
            summary.notes.extend(remark);
            summary
        });
        agents.extend(summary);
        factories.push(factory);
    }
    if agents.is_empty() {
        return Err(Error::invalid("there is no character to run"));
    }
    Ok(Booted {
        store: opened.database.store(),
        orchestrator: Arc::clone(&opened.orchestrator),
        database: opened.database.clone(),
        created: opened.created,
        agents,
        dependencies: opened.surroundings.dependencies.clone(),
        version,
        opened,
        factories,
    })
}

/// Opens the database. `personas` are those that are going to run, as other processes of the
/// database should know them; `plugins` are every agent's, beside the standard ones.
///
/// # Errors
/// As [`boot`].
pub(crate) async fn open(
    options: BootOptions<'_>,
    personas: &[Persona],
    plugins: Vec<Plugin>,
) -> Result<Opened> {
    let BootOptions { settings, data_dir, platforms, role, redactor, version, parser, place } =
        options;
    galatea_http::warm_up();
    let skew = Skew::default();
    let (database, created) = match place {
        Place::Settings => database::open(settings, data_dir, &skew, redactor).await?,
        Place::File => database::open(&Settings::default(), data_dir, &skew, redactor).await?,
        Place::Memory => (database::in_memory(redactor).await?, true),
    };
    let store = database.store();
    compare_clocks(&*store, &skew).await?;
    member::warn_of_skew(&skew);
    let clock: Arc<dyn Clock> = Arc::new(MachineClock::new(skew.clone()));
    let mut cluster = match platforms {
        Platforms::All => {
            let joined = member::join(&*store, data_dir, role).await?.with_hints(database.hints());
            Some(ClusterOptions { skew: skew.clone(), ..joined })
        }
        // The terminal serves this machine only, so the process does not join a cluster.
        Platforms::Terminal | Platforms::None => None,
    };
    if let Some(cluster) = &mut cluster {
        cluster.about = about(version, personas);
    }
    let events = EventBus::default();
    let dependencies = Dependencies::remembering(events.clone(), choices(data_dir, place));
    let orchestrator = Orchestrator::new(RuntimeOptions {
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        events,
        reconcile_every: RECONCILE_EVERY,
        cluster,
    })?;
    let http = HttpClient::new(HttpOptions::default())?;
    let parser = parser.to_owned();
    let mcp = Arc::new(Hub::new(galatea_mcp::Surroundings {
        keeper: parser.to_owned(),
        places: galatea_mcp::places::Places::new(data_dir.path()),
        http: http.clone(),
        clock: Arc::clone(&clock),
    }));
    let documents =
        library::Shared::new(Arc::clone(&store), http.clone(), Arc::clone(&clock), parser);
    let choosers = Arc::new(Choosers::default());
    // Runs in the background, so that the start does not wait for the provider's list of models.
    let means =
        Means { http: http.clone(), clock: Arc::clone(&clock), dependencies: dependencies.clone() };
    let choosing = tokio::spawn(choosing::watch(means, Arc::clone(&choosers)));
    let surroundings = Arc::new(Surroundings {
        data_dir: data_dir.path().to_owned(),
        platforms,
        clock,
        http,
        dependencies,
        documents,
        plugins,
        choosers,
        mcp,
        orchestrator: Arc::downgrade(&orchestrator),
        taken: Mutex::default(),
    });
    Ok(Opened { orchestrator, database, created, surroundings, choosing })
}

impl Opened {
    /// Ends intake, waits at most `within` for turns and sends in flight, and closes the database.
    /// Unfinished work continues at the next start.
    pub(crate) async fn stop(&self, within: Duration) {
        self.choosing.abort();
        if !self.orchestrator.stop(within).await {
            tracing::warn!(
                seconds = within.as_secs(),
                "turns or sends did not finish in time; they continue at the next start"
            );
        }
        self.surroundings.mcp.stop().await;
        self.database.close().await;
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.choosing.abort();
    }
}

impl Booted {
    /// Makers of the agents, in the order given.
    pub(super) fn factories(&self) -> &[Arc<PersonaFactory>] {
        &self.factories
    }

    /// The MCP servers of all agents.
    pub(crate) fn mcp(&self) -> Arc<Hub> {
        Arc::clone(&self.opened.surroundings.mcp)
    }

    /// Ends intake, waits at most `within` for turns and sends in flight, and closes the database.
    /// Unfinished work continues at the next start.
    pub async fn stop(&self, within: Duration) {
        self.opened.stop(within).await;
    }
}

/// The models chosen at earlier starts. They are kept in the data folder, if there is one.
fn choices(data_dir: &DataDir, place: Place) -> Choices {
    let file = choosing::file(data_dir);
    if place == Place::Memory { Choices::of(&file) } else { Choices::open(file) }
}

/// What this process runs. Other processes of the database compare it with their own.
fn about(version: &str, personas: &[Persona]) -> About {
    let agents =
        personas.iter().map(|persona| (persona.character.identity().id(), persona.about()));
    About { version: version.to_owned(), agents: agents.collect(), ..About::default() }
}
