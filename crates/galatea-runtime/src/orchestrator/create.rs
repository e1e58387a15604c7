//! Assembles an agent from its parts.

use dashmap::DashMap;
use galatea_core::{
    Account, AgentId, AgentIdentity, Character, Clock, Connector, ConnectorInfo, Error, ErrorKind,
    Event, EventBus, MemoryId, NoHints, Outbound, Result, Settings, Source, Store,
};
use std::{
    collections::{HashMap, btree_map::Entry as MapEntry},
    sync::Arc,
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    agent::Agent,
    company::Company,
    plugins::{AgentPlugins, Choices, PluginSurroundings, Slot},
    service_runner::ServiceRunner,
    spec::{AgentFactory, AgentSpec, RuntimeOptions},
    state::{Entry, Orchestrator},
};
use crate::{
    agent_room,
    budget::Budget,
    config::{AccountSettings, Policy},
    directory::Directory,
    in_flight::InFlight,
    inbox::{Inbox, InboxParts},
    intake::Intake,
    outbox::{Outbox, OutboxParts, ThroughOutbox},
    ownership::Ownership,
    plugins::own_store::OwnStore,
    profile::{CurrentProfile, Profile},
    tasks::TaskRunner,
    tools,
    trace::{TraceCounts, Tracer},
    turn::{Background, Claims, Engine, EngineParts},
};

impl Orchestrator {
    /// elizaOS `createAgent`: assembles an agent and stores it. It is started by
    /// [`Self::start_agent`] or [`Self::start`]. Each restart runs the same parts again.
    ///
    /// # Errors
    /// `Conflict` for an id in use, `Invalid` for settings or plugins that do not fit.
    pub async fn create_agent(&self, spec: AgentSpec) -> Result<AgentId> {
        self.create_agent_by(Arc::new(spec)).await
    }

    /// As [`Self::create_agent`]. The factory makes the parts now, and again at each restart.
    ///
    /// # Errors
    /// As [`Self::create_agent`], and those of the factory.
    pub async fn create_agent_by(&self, factory: Arc<dyn AgentFactory>) -> Result<AgentId> {
        let spec = factory.make().await?;
        let identity = spec.character.identity();
        let (id, name) = (identity.id(), spec.character.name.clone());
        if self.lock().contains_key(&id) {
            return Err(twice(&name));
        }
        let waker = self.tasks.waker();
        let agent = Arc::new(assemble(&self.options, &waker, spec, self.global_slots()).await?);
        match self.lock().entry(id) {
            // Made by another call while this one was stored.
            MapEntry::Occupied(_) => Err(twice(&name)),
            MapEntry::Vacant(free) => {
                free.insert(Entry::new(name, factory, agent));
                self.options.events.publish(Event::AgentCreated { agent: id });
                Ok(id)
            }
        }
    }
}

/// Assembles an agent, and stores it. `added` are plugins that it was given while it ran before.
pub(super) async fn assemble(
    options: &RuntimeOptions,
    tasks: &Arc<Notify>,
    spec: AgentSpec,
    added: Vec<Slot>,
) -> Result<Agent> {
    check_policies(&spec.connectors, &spec.settings, &spec.account_settings)?;
    let profile = Profile::new(&spec.character, spec.settings, spec.account_settings)?;
    let identity = spec.character.identity();
    let listed = &spec.character.plugins;
    let mut slots: Vec<Slot> =
        spec.plugins.into_iter().map(|plugin| Slot::new(plugin, listed)).chain(added).collect();
    Choices::load(&*options.store, identity.id()).await?.apply(&mut slots);
    let shared = Shared::load(options, &spec.character, profile, &spec.connectors).await?;
    let Shared { store, clock, profile, .. } = &shared;
    let outbox = shared.outbox();
    let outbound: Arc<dyn Outbound> = Arc::new(ThroughOutbox(Arc::downgrade(&outbox)));
    let budget = Budget::new(
        identity.clone(),
        profile.clone(),
        Arc::clone(store),
        Arc::clone(clock),
        Arc::clone(&outbound),
    );
    let agent_id = identity.id();
    let around = PluginSurroundings {
        own_store: Arc::new(OwnStore::new(Arc::clone(store), identity.id())),
        identity,
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        events: shared.events.clone(),
        outbound: Arc::clone(&outbound),
        models: spec.models,
    };
    let plugins = AgentPlugins::load(around, slots, profile.get()).await?;
    tools::announce(&**store, agent_id, &plugins.current().get().registry, clock.now()).await?;
    let in_flight = InFlight::default();
    let engine = Arc::new(Engine::new(EngineParts {
        current: plugins.current().clone(),
        budget: Arc::clone(&budget),
        outbox: Arc::clone(&outbox),
        claims: Claims::new(Arc::clone(&shared.ownership), in_flight.clone()),
        background: Background::new(shared.tasks.clone(), shared.stop.clone(), shared.halt.clone()),
        tracer: shared.tracer.clone(),
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        events: shared.events.clone(),
        directory: Arc::clone(&shared.directory),
        tasks: Arc::clone(tasks),
    }));
    let task_runner = TaskRunner::new(Arc::clone(&engine));
    let windows = Arc::clone(plugins.windows());
    let failures = Arc::clone(&engine.state.failures);
    let inbox = shared.inbox(engine, &outbox, in_flight);
    let intake = Arc::new(shared.intake(&inbox, &outbox));
    let Shared {
        identity,
        profile,
        clock,
        events,
        directory,
        ownership,
        tasks,
        stop,
        halt,
        tracer,
        trace_counts,
        ..
    } = shared;
    Ok(Agent {
        identity,
        profile,
        clock,
        events,
        connectors: spec.connectors,
        plugins,
        services: ServiceRunner::default(),
        company: Company::new(spec.encoders),
        directory,
        ownership,
        intake,
        inbox,
        outbox,
        budget,
        task_runner,
        windows,
        failures,
        outbound,
        tracer,
        trace_counts,
        tasks,
        connections: TaskTracker::new(),
        stop,
        halt,
    })
}

/// Reads the policy of each connector's account once, so that a setting that cannot be read is
/// refused before the agent is stored.
pub(super) fn check_policies(
    connectors: &[Arc<dyn Connector>],
    settings: &Settings,
    accounts: &HashMap<(Source, Account), AccountSettings>,
) -> Result<()> {
    for connector in connectors {
        let ConnectorInfo { source, account, .. } = connector.info();
        let own = accounts.get(&(source.clone(), account.clone()));
        Policy::from_settings(own.map_or(settings, |own| &own.settings), source)?;
    }
    Ok(())
}

/// What intake, inbox, engine and outbox of an agent share.
struct Shared {
    identity: AgentIdentity,
    profile: CurrentProfile,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    events: EventBus,
    directory: Arc<Directory>,
    ownership: Arc<Ownership>,
    tracer: Tracer,
    trace_counts: Arc<TraceCounts>,
    poll: Duration,
    tasks: TaskTracker,
    stop: CancellationToken,
    halt: CancellationToken,
}

impl Shared {
    /// Stores the agent, and reads which people and places it knows.
    async fn load(
        options: &RuntimeOptions,
        character: &Character,
        profile: Profile,
        connectors: &[Arc<dyn Connector>],
    ) -> Result<Self> {
        let (store, clock) = (&options.store, &options.clock);
        let identity = character.identity();
        store.save_agent(identity.id(), character).await?;
        agent_room::remember(&**store, &identity, &character.name).await?;
        let directory =
            Directory::load(&**store, identity.clone(), connectors, clock.now()).await?;
        let trace_counts = Arc::new(TraceCounts::default());
        let (tracer, writing) =
            Tracer::new(identity.id(), Arc::clone(store), Arc::clone(&trace_counts));
        // Not among the agent's tasks: it ends after the last of them.
        tokio::spawn(writing);
        Ok(Self {
            tracer,
            trace_counts,
            identity,
            profile: CurrentProfile::new(profile),
            store: Arc::clone(store),
            clock: Arc::clone(clock),
            events: options.events.clone(),
            directory: Arc::new(directory),
            ownership: Arc::new(ownership(options, connectors)),
            poll: options.reconcile_every,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            halt: CancellationToken::new(),
        })
    }

    fn outbox(&self) -> Arc<Outbox> {
        Outbox::new(OutboxParts {
            identity: self.identity.clone(),
            profile: self.profile.clone(),
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            events: self.events.clone(),
            directory: Arc::clone(&self.directory),
            ownership: Arc::clone(&self.ownership),
            tracer: self.tracer.clone(),
            tasks: self.tasks.clone(),
            halt: self.halt.clone(),
        })
    }

    fn inbox(
        &self,
        engine: Arc<Engine>,
        outbox: &Arc<Outbox>,
        in_flight: InFlight<MemoryId>,
    ) -> Arc<Inbox> {
        Inbox::new(InboxParts {
            agent: self.identity.id(),
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            directory: Arc::clone(&self.directory),
            ownership: Arc::clone(&self.ownership),
            engine,
            outbox: Arc::clone(outbox),
            in_flight,
            poll: self.poll,
            tasks: self.tasks.clone(),
            stop: self.stop.clone(),
            halt: self.halt.clone(),
        })
    }

    fn intake(&self, inbox: &Arc<Inbox>, outbox: &Arc<Outbox>) -> Intake {
        Intake {
            agent: self.identity.id(),
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            events: self.events.clone(),
            directory: Arc::clone(&self.directory),
            ownership: Arc::clone(&self.ownership),
            inbox: Arc::clone(inbox),
            outbox: Arc::clone(outbox),
            health: DashMap::new(),
            tasks: self.tasks.clone(),
            stop: self.stop.clone(),
            halt: self.halt.clone(),
        }
    }
}

/// Platforms that can be sent to are shared with the other processes, if there are any.
fn ownership(options: &RuntimeOptions, connectors: &[Arc<dyn Connector>]) -> Ownership {
    let shared = connectors
        .iter()
        .filter(|c| options.cluster.is_some() && c.send_handler().is_some())
        .map(|c| c.info().source.clone());
    let hints = options
        .cluster
        .as_ref()
        .map_or_else(|| Arc::new(NoHints::default()) as _, |cluster| Arc::clone(&cluster.hints));
    let open = connectors
        .iter()
        .filter(|c| options.cluster.is_some() && c.delivers_by_commit())
        .map(|c| c.info().source.clone());
    Ownership::new(shared.collect(), open.collect(), hints)
}

fn twice(name: &str) -> Error {
    Error::new(ErrorKind::Conflict, "two characters have the same id")
        .with_code("GAL-AGENT-TWICE")
        .with("name", name)
        .with_fix("give one of them another name or id")
}
