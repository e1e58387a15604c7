//! Boot: storage, agents and their connectors, put together. Nothing here waits for a network.

use galatea_core::{AgentId, Clock, Error, EventBus, Hints, Host, Result, Settings, Store, store::Role};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::Dependencies;
use galatea_runtime::{AgentSpec, Orchestrator, RuntimeOptions};
use std::{sync::Arc, time::Duration};

use crate::{
    accounts::{self, OwnSettings},
    connectors::{Built, PLATFORMS, Taken, with_policies},
    data_dir::DataDir,
    database::Database,
    machine_clock::MachineClock,
    member,
    models::{self, ModelHealth},
    personas::Persona,
    plugins,
};

/// How soon an operator's decision about the outbox takes effect.
const LOOK_AROUND: Duration = Duration::from_secs(1);

/// Which platforms to be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platforms {
    /// Every one that is configured.
    All,
    /// Only the terminal.
    Terminal,
}

/// A process with its agents, not started yet.
pub(crate) struct Booted {
    /// Runs the agents.
    pub(crate) orchestrator: Arc<Orchestrator>,
    /// Storage.
    pub(crate) store: Arc<dyn Store>,
    /// The same, to be closed.
    pub(crate) database: Database,
    /// The database was made just now.
    pub(crate) created: bool,
    /// The agents, in the order given.
    pub(crate) agents: Vec<BootedAgent>,
    /// The breakers of their models.
    pub(crate) dependencies: Dependencies,
}

/// What there is to tell about one agent.
pub(crate) struct BootedAgent {
    /// Its id.
    pub(crate) id: AgentId,
    /// Its name.
    pub(crate) name: String,
    /// Its model, for people.
    pub(crate) model: String,
    /// How its models do.
    pub(crate) health: ModelHealth,
    /// What a person should know about its models.
    pub(crate) notes: Vec<String>,
    /// Each platform: its title, and why it is off.
    pub(crate) platforms: Vec<(String, Option<String>)>,
}

/// Opens the storage and makes the agents.
///
/// # Errors
/// `Invalid` for a role that the database does not allow, `Invalid` with the place of a setting that makes no sense, and whatever keeps the database from opening.
pub(crate) async fn boot(settings: &Settings, data_dir: &DataDir, personas: Vec<Persona>, platforms: Platforms, role: Role) -> Result<Booted> {
    galatea_http::warm_up();
    let (database, created) = Database::open(settings, data_dir).await?;
    let store = database.store();
    let clock: Arc<dyn Clock> = Arc::new(MachineClock::new());
    let cluster = match platforms {
        Platforms::All => Some(member::join(&*store, data_dir, role).await?.with_hints(hints(settings, &*store)?)),
        // A terminal is this machine's own.
        Platforms::Terminal => None,
    };
    let events = EventBus::default();
    let dependencies = Dependencies::new(events.clone());
    let options = RuntimeOptions { store: Arc::clone(&store), clock: Arc::clone(&clock), events, look_around: LOOK_AROUND, cluster };
    let orchestrator = Orchestrator::new(options)?;
    let http = HttpClient::new(HttpOptions::default())?;
    let mut taken = Taken::default();
    let mut agents = Vec::new();
    for persona in personas {
        let parts = parts(&persona, data_dir, platforms, &http, &clock, &dependencies, &mut taken)?;
        let spec = AgentSpec {
            character: persona.character,
            settings: with_policies(&persona.settings)?,
            models: parts.models,
            plugins: plugins::standard(),
            connectors: parts.connectors,
            account_settings: parts.account_settings,
        };
        let id = orchestrator.create_agent(spec).await?;
        agents.push(BootedAgent { id, ..parts.agent });
    }
    if agents.is_empty() {
        return Err(Error::invalid("there is no character to run"));
    }
    Ok(Booted { orchestrator, store, database, created, agents, dependencies })
}

impl Booted {
    /// Ends intake, lets turns and sends finish for at most `within`, and closes the database. What did not finish goes on at the next start.
    pub(crate) async fn stop(&self, within: Duration) {
        if !self.orchestrator.stop(within).await {
            tracing::warn!(seconds = within.as_secs(), "not everything was finished in time; the rest goes on at the next start");
        }
        self.database.close().await;
    }
}

/// The bus, where processes share the store.
fn hints(settings: &Settings, store: &dyn Store) -> Result<Option<Arc<dyn Hints>>> {
    settings.secret(&galatea_hints::NATS_URL).filter(|_| store.is_shared()).map(|url| galatea_hints::open(&url)).transpose()
}

struct Parts {
    agent: BootedAgent,
    models: galatea_core::Models,
    connectors: Vec<Arc<dyn galatea_core::Connector>>,
    account_settings: OwnSettings,
}

fn parts(
    persona: &Persona,
    data_dir: &DataDir,
    platforms: Platforms,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
    dependencies: &Dependencies,
    taken: &mut Taken,
) -> Result<Parts> {
    let identity = persona.character.identity();
    let configured = galatea_models::build(&persona.settings, http, Arc::clone(clock), dependencies)?;
    let offline = configured.is_offline();
    let model = if offline { models::describe(configured.models.large.info()) } else { configured.description };
    let mut notes = configured.notes;
    if !offline && configured.models.embedding.is_none() {
        notes.push(galatea_models::check::NO_EMBEDDING.to_owned());
    }
    let (models, health) = models::watch(configured.models);
    let host = Host { agent: identity.clone(), agent_name: persona.character.name.clone(), data_dir: data_dir.path().to_owned(), clock: Arc::clone(clock) };
    let mut connectors: Vec<Arc<dyn galatea_core::Connector>> = Vec::new();
    let mut account_settings = OwnSettings::new();
    let mut states = Vec::new();
    for platform in PLATFORMS.iter().filter(|p| platforms == Platforms::All || p.source == galatea_terminal::SOURCE) {
        for account in accounts::of(platform, &persona.settings) {
            let title = account.title(platform);
            match platform.connector(&account, &host, taken)? {
                Built::On(connector) => {
                    accounts::keep(&mut account_settings, &account, connector.info())?;
                    connectors.push(connector);
                    states.push((title, None));
                }
                Built::Off(why) => states.push((title, Some(why))),
            }
        }
    }
    let mut public: Vec<_> = connectors.iter().filter(|c| c.info().capabilities.public).map(|c| c.info().source.to_string()).collect();
    public.dedup();
    if offline && !configured.offline_public && !public.is_empty() {
        notes.push(format!("silent on {} until a model is set, or OFFLINE_RESPONDER_PUBLIC=true", public.join(" and ")));
    }
    let agent = BootedAgent { id: identity.id(), name: persona.character.name.clone(), model, health, notes, platforms: states };
    Ok(Parts { agent, models, connectors, account_settings })
}
