//! Puts the process together: opens the database, then builds the agents and their connectors.
//! Nothing here waits for a platform or a model.

use galatea_core::{
    AgentId, Clock, Error, EventBus, Host, Result, Settings, Skew, Store,
    model::RegisteredModel,
    redact::Redactor,
    store::{About, ProcessRole},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Choices, Dependencies, with_registered};
use galatea_runtime::{AgentSpec, ClusterOptions, Orchestrator, RuntimeOptions, compare_clocks};
use std::{path::Path, sync::Arc, time::Duration};

use super::{library, plugins};
use crate::{
    characters::{personas::Persona, wants},
    models::{
        choosing::{self, Choosing, Means},
        no_model,
        watch::{self, ModelHealth, Renewal},
    },
    platforms::{
        Built, PLATFORMS, TERMINAL, Taken,
        accounts::{self, OwnSettings},
        encoders, with_policies,
    },
    process::{machine_clock::MachineClock, member},
    report::Trouble,
    storage::{
        data_dir::DataDir,
        database::{self, Database},
    },
};

/// How often the runtime polls for an operator's decisions about the outbox.
const RECONCILE_EVERY: Duration = Duration::from_secs(1);

/// Which platforms to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platforms {
    /// Every configured platform.
    All,
    /// Only the terminal.
    Terminal,
}

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
    pub agents: Vec<BootedAgent>,
    /// Circuit breakers of the agents' models.
    pub dependencies: Dependencies,
    /// Version of the program.
    pub version: String,
    choosing: tokio::task::JoinHandle<()>,
}

/// Summary of one agent, for the banner and `/readyz`.
pub struct BootedAgent {
    /// Id of the agent.
    pub id: AgentId,
    /// Name of its character.
    pub name: String,
    /// The model's name for people.
    pub model: String,
    /// Health of its models.
    pub health: ModelHealth,
    /// Remarks about its models and settings, for people.
    pub notes: Vec<String>,
    /// Title and state of each platform.
    pub platforms: Vec<(String, PlatformState)>,
    /// Why the agent does not answer on some platforms.
    pub no_answer: Option<Trouble>,
    /// What the character asks for and this program does not have.
    pub missing: Option<String>,
}

/// State of a platform for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlatformState {
    /// Connected, and messages are answered.
    On,
    /// Connected, but messages are not answered.
    WithoutModel,
    /// Not connected, with the reason.
    Off(String),
}

/// The surroundings of the agents of a process.
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
}

/// Opens the database and builds the agents.
///
/// # Errors
/// `Invalid` for a role that the database does not support, `Invalid` with the place of an invalid
/// setting, and any error that prevents the database from opening.
pub async fn boot(options: BootOptions<'_>, personas: Vec<Persona>) -> Result<Booted> {
    let BootOptions { settings, data_dir, platforms, role, redactor, version, parser } = options;
    galatea_http::warm_up();
    let skew = Skew::default();
    let (database, created) = database::open(settings, data_dir, &skew, redactor).await?;
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
        Platforms::Terminal => None,
    };
    if let Some(cluster) = &mut cluster {
        cluster.about = about(version, &personas);
    }
    let events = EventBus::default();
    let dependencies =
        Dependencies::remembering(events.clone(), Choices::open(choosing::file(data_dir)));
    let options = RuntimeOptions {
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        events,
        reconcile_every: RECONCILE_EVERY,
        cluster,
    };
    let orchestrator = Orchestrator::new(options)?;
    let http = HttpClient::new(HttpOptions::default())?;
    let documents = library::Shared::new(
        Arc::clone(&store),
        http.clone(),
        Arc::clone(&clock),
        parser.to_owned(),
    );
    let mut taken = Taken::default();
    let mut agents = Vec::new();
    let mut choosing = Vec::new();
    for persona in personas {
        let settings = persona.settings.clone();
        plugins::check(&settings)?;
        let mut plugins = plugins::standard();
        let own = OwnModels {
            http: &http,
            clock: &clock,
            dependencies: &dependencies,
            registered: plugins::models(&plugins),
        };
        let parts = build_parts(&persona, data_dir, platforms, &own, &mut taken)?;
        let library = documents.library(&persona, parts.models.embedding.clone())?;
        plugins.push(plugins::documents(library));
        let spec = AgentSpec {
            character: persona.character,
            settings: with_policies(&persona.settings)?,
            models: parts.models,
            plugins,
            connectors: parts.connectors,
            account_settings: parts.account_settings,
            encoders: encoders(&settings),
        };
        let id = orchestrator.create_agent(spec).await?;
        choosing.push(Choosing {
            settings,
            configured: parts.configured,
            registered: own.registered,
            renewal: parts.renewal,
            health: parts.agent.health.clone(),
        });
        agents.push(BootedAgent { id, ..parts.agent });
    }
    if agents.is_empty() {
        return Err(Error::invalid("there is no character to run"));
    }
    // Runs in the background, so that the start does not wait for the provider's list of models.
    let means = Means { http, clock, dependencies: dependencies.clone() };
    let choosing = tokio::spawn(choosing::watch(means, choosing));
    Ok(Booted {
        orchestrator,
        store,
        database,
        created,
        agents,
        dependencies,
        version: version.to_owned(),
        choosing,
    })
}

impl Booted {
    /// Ends intake, waits at most `within` for turns and sends in flight, and closes the database.
    /// Unfinished work continues at the next start.
    pub async fn stop(&self, within: Duration) {
        self.choosing.abort();
        if !self.orchestrator.stop(within).await {
            tracing::warn!(
                seconds = within.as_secs(),
                "turns or sends did not finish in time; they continue at the next start"
            );
        }
        self.database.close().await;
    }
}

/// What this process runs. Other processes of the database compare it with their own.
fn about(version: &str, personas: &[Persona]) -> About {
    let agents =
        personas.iter().map(|persona| (persona.character.identity().id(), persona.about()));
    About { version: version.to_owned(), agents: agents.collect(), ..About::default() }
}

struct Parts {
    agent: BootedAgent,
    configured: galatea_models::Configured,
    renewal: Renewal,
    models: galatea_core::Models,
    connectors: Vec<Arc<dyn galatea_core::Connector>>,
    account_settings: OwnSettings,
}

/// What the models of an agent are built of, besides its settings.
struct OwnModels<'a> {
    http: &'a HttpClient,
    clock: &'a Arc<dyn Clock>,
    dependencies: &'a Dependencies,
    /// Those that plugins bring.
    registered: Vec<RegisteredModel>,
}

fn build_parts(
    persona: &Persona,
    data_dir: &DataDir,
    platforms: Platforms,
    own: &OwnModels<'_>,
    taken: &mut Taken,
) -> Result<Parts> {
    let OwnModels { http, clock, dependencies, registered } = own;
    let identity = persona.character.identity();
    let configured =
        galatea_models::build(&persona.settings, http, Arc::clone(clock), dependencies)?;
    let models = with_registered(
        configured.models.clone(),
        registered,
        &persona.settings,
        clock,
        dependencies,
    )?;
    // A model of a plugin answers in place of the script.
    let offline = models.large.info().scripted;
    let model = if offline {
        watch::describe(models.large.info())
    } else if configured.is_offline() {
        models.large.info().full_name()
    } else {
        choosing::describe(&configured)
    };
    let mut notes = notes(&configured, &persona.settings);
    if !offline && models.embedding.is_none() {
        let offer = galatea_models::embedding_offer(&models.large.info().provider);
        notes.push(format!("{}; {offer}", galatea_models::check::NO_EMBEDDING));
    }
    let (models, health, renewal) = watch::watch(models);
    health.describe(model.clone());
    let host = Host {
        agent: identity.clone(),
        agent_name: persona.character.name.clone(),
        data_dir: data_dir.path().to_owned(),
        clock: Arc::clone(clock),
    };
    let Connections { connectors, account_settings, mut states, on } =
        connections(persona, &host, platforms, taken)?;
    let name = persona.character.name.clone();
    let places =
        no_model::places(&configured, offline, &with_policies(&persona.settings)?, &connectors);
    for (n, _) in on.into_iter().filter(|(_, title)| places.contains(title)) {
        states[n].1 = PlatformState::WithoutModel;
    }
    let no_answer = no_model::trouble(&name, &places);
    if no_answer.is_some() {
        notes.push("the agent answers no message in these places: `galatea init` connects a model; OFFLINE_RESPONDER_PUBLIC=true lets the script speak".to_owned());
    }
    let missing = wants::brief(&persona.character);
    let agent = BootedAgent {
        id: identity.id(),
        name,
        model,
        health,
        notes,
        platforms: states,
        no_answer,
        missing,
    };
    Ok(Parts { agent, configured, renewal, models, connectors, account_settings })
}

/// What a person should know about the models and accounts of an agent.
fn notes(configured: &galatea_models::Configured, settings: &Settings) -> Vec<String> {
    let describe = |finding: &galatea_core::Finding| match &finding.fix {
        Some(fix) if finding.severity >= galatea_core::Severity::Warning => {
            format!("{}: {fix}", finding.message)
        }
        _ => finding.message.clone(),
    };
    let mut notes = configured.notes.clone();
    notes.extend(configured.findings.iter().map(describe));
    notes.extend(accounts::listed(settings));
    notes
}

/// The connectors of an agent, and which platforms are on.
#[derive(Default)]
struct Connections {
    connectors: Vec<Arc<dyn galatea_core::Connector>>,
    account_settings: OwnSettings,
    /// The title of each account, and whether it is on.
    states: Vec<(String, PlatformState)>,
    /// Of those that are on: the index in `states`, and the platform's title.
    on: Vec<(usize, &'static str)>,
}

/// Builds a connector for each account that is configured.
fn connections(
    persona: &Persona,
    host: &Host,
    platforms: Platforms,
    taken: &mut Taken,
) -> Result<Connections> {
    let mut built = Connections::default();
    for platform in PLATFORMS.iter().filter(|p| platforms == Platforms::All || p.source == TERMINAL)
    {
        for account in accounts::of(platform, &persona.settings) {
            let title = account.title(platform);
            match platform.connector(&account, host, taken)? {
                Built::On(connector) => {
                    accounts::keep(&mut built.account_settings, &account, connector.info())?;
                    built.on.push((built.states.len(), platform.title));
                    built.connectors.push(connector);
                    built.states.push((title, PlatformState::On));
                }
                Built::Off(why)
                    if account.number == 1 && wants::asks_for(&persona.character, platform) =>
                {
                    built.states.push((
                        title,
                        PlatformState::Off(format!("{why}; its character asks for it")),
                    ));
                }
                Built::Off(why) => built.states.push((title, PlatformState::Off(why))),
            }
        }
    }
    Ok(built)
}
