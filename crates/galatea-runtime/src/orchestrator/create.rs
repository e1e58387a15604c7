//! Assembles an agent from its parts.

use dashmap::DashMap;
use galatea_core::{
    AgentId, AgentView, ConnectorInfo, Error, ErrorKind, NoHints, Outbound, Result, Services, Zone,
    store::PluginCache,
};
use std::{collections::btree_map::Entry as MapEntry, sync::Arc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    agent::{Agent, Beside},
    spec::{AgentSpec, RuntimeOptions},
    state::{Entry, Lifecycle, Orchestrator},
};
use crate::{
    agent_room,
    budget::Budget,
    config::{self, Limits, MODEL_NOTICE, Policies, Policy},
    directory::Directory,
    in_flight::InFlight,
    inbox::{Inbox, InboxParts},
    intake::Intake,
    outbox::{Outbox, OutboxParts, ThroughOutbox},
    ownership::Ownership,
    registry::Registry,
    turn::{Background, Engine, EngineState, PluginParts},
};

impl Orchestrator {
    /// elizaOS `createAgent`: assembles an agent and stores it. It is started by
    /// [`Self::start_agent`] or [`Self::start`].
    ///
    /// # Errors
    /// `Conflict` for an id in use, `Invalid` for settings or plugins that do not fit.
    pub async fn create_agent(&self, spec: AgentSpec) -> Result<AgentId> {
        let identity = spec.character.identity();
        let (id, name) = (identity.id(), spec.character.name.clone());
        if self.lock().contains_key(&id) {
            return Err(twice(&name));
        }
        for connector in &spec.connectors {
            let ConnectorInfo { source, account, .. } = connector.info();
            let own = spec.account_settings.get(&(source.clone(), account.clone()));
            Policy::from_settings(own.map_or(&spec.settings, |own| &own.settings), source)?;
        }
        let agent = Arc::new(assemble(&self.options, spec).await?);
        match self.lock().entry(id) {
            // Made by another call while this one was stored.
            MapEntry::Occupied(_) => Err(twice(&name)),
            MapEntry::Vacant(free) => {
                free.insert(Entry { name, agent, state: Lifecycle::Created });
                Ok(id)
            }
        }
    }
}

async fn assemble(options: &RuntimeOptions, spec: AgentSpec) -> Result<Agent> {
    let limits = Limits::from_settings(&spec.settings)?;
    let owners = config::owners(&spec.settings)?;
    let model_notice =
        spec.settings.text(&MODEL_NOTICE).filter(|text| !text.trim().eq_ignore_ascii_case("none"));
    let zone = Arc::new(Zone::from_settings(&spec.settings)?);
    let beside = Beside {
        store: Arc::clone(&options.store) as _,
        embedding: spec.models.embedding.clone(),
        policy: Arc::new(Policy::from_settings(&spec.settings, &agent_room::SOURCE)?),
    };
    let (cache_store, agent) = (Arc::clone(&options.store), spec.character.identity().id());
    let cache = |plugin: &str| PluginCache::new(Arc::clone(&cache_store) as _, agent, plugin);
    let registry = Arc::new(Registry::load(spec.plugins, cache)?);
    let services = Services::new(registry.services.iter().cloned());
    let ownership = Arc::new(ownership(options, &spec.connectors));
    let (store, clock, events) = (&options.store, &options.clock, &options.events);
    let identity = spec.character.identity();
    let id = identity.id();
    store.save_agent(id, &spec.character).await?;
    agent_room::remember(&**store, &identity, &spec.character.name).await?;
    let directory =
        Directory::load(&**store, identity.clone(), &spec.connectors, clock.now()).await?;
    let directory = Arc::new(directory);
    let view = Arc::new(AgentView {
        identity: identity.clone(),
        character: Arc::new(spec.character),
        settings: spec.settings,
        zone,
    });
    let (tasks, stop, halt) =
        (TaskTracker::new(), CancellationToken::new(), CancellationToken::new());

    let outbox = Outbox::new(OutboxParts {
        view: Arc::clone(&view),
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        events: events.clone(),
        directory: Arc::clone(&directory),
        ownership: Arc::clone(&ownership),
        answer_ttl: limits.answer_ttl,
        resend_unsure: limits.resend_unsure,
        tasks: tasks.clone(),
        halt: halt.clone(),
    });
    let outbound: Arc<dyn Outbound> = Arc::new(ThroughOutbox(Arc::downgrade(&outbox)));
    let budget =
        Budget::new(identity, owners, Arc::clone(store), Arc::clone(clock), Arc::clone(&outbound));
    let in_flight = InFlight::default();
    let engine = Arc::new(Engine {
        policies: Policies::new(view.settings.clone(), spec.account_settings),
        view: Arc::clone(&view),
        models: spec.models,
        registry,
        plugins: PluginParts {
            store: Arc::clone(store) as _,
            cache: cache(""),
            services: services.clone(),
            outbound: Arc::clone(&outbound),
        },
        limits,
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        events: events.clone(),
        directory: Arc::clone(&directory),
        ownership: Arc::clone(&ownership),
        budget: Arc::clone(&budget),
        outbox: Arc::clone(&outbox),
        in_flight: in_flight.clone(),
        background: Background { tasks: tasks.clone(), halt: halt.clone() },
        state: EngineState::new(Arc::clone(store), model_notice, stop.clone()),
    });
    let inbox = Inbox::new(InboxParts {
        agent: id,
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        directory: Arc::clone(&directory),
        ownership: Arc::clone(&ownership),
        engine,
        outbox: Arc::clone(&outbox),
        in_flight,
        poll: options.reconcile_every,
        tasks: tasks.clone(),
        stop: stop.clone(),
        halt: halt.clone(),
    });
    let intake = Arc::new(Intake {
        agent: id,
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        events: events.clone(),
        directory: Arc::clone(&directory),
        ownership: Arc::clone(&ownership),
        inbox: Arc::clone(&inbox),
        outbox: Arc::clone(&outbox),
        health: DashMap::new(),
        poll: options.reconcile_every,
        tasks: tasks.clone(),
        stop: stop.clone(),
        halt: halt.clone(),
    });
    Ok(Agent {
        view,
        clock: Arc::clone(clock),
        events: events.clone(),
        connectors: spec.connectors,
        services,
        beside,
        directory,
        ownership,
        intake,
        inbox,
        outbox,
        budget,
        outbound,
        tasks,
        connections: TaskTracker::new(),
        stop,
        halt,
    })
}

/// Platforms that can be sent to are shared with the other processes, if there are any.
fn ownership(
    options: &RuntimeOptions,
    connectors: &[Arc<dyn galatea_core::Connector>],
) -> Ownership {
    let shared = connectors
        .iter()
        .filter(|c| options.cluster.is_some() && c.send_handler().is_some())
        .map(|c| c.info().source.clone());
    let hints = options
        .cluster
        .as_ref()
        .map_or_else(|| Arc::new(NoHints::default()) as _, |cluster| Arc::clone(&cluster.hints));
    Ownership::new(shared.collect(), hints)
}

fn twice(name: &str) -> Error {
    Error::new(ErrorKind::Conflict, "two characters have the same id")
        .with_code("GAL-AGENT-TWICE")
        .with("name", name)
        .with_fix("give one of them another name or id")
}
