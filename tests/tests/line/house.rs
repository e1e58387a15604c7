//! Harness of these tests: one store, one orchestrator, and agents with their platforms and models.

use galatea_core::{
    Account, Address, Addressed, AgentId, AgentIdentity, Batch, ChannelType, Character, Clock,
    Command, Connection, Content, EntityId, EntityRef, EventBus, Gateway, Incoming, IncomingEvent,
    IncomingMessage, MemberId, MemoryId, Models, Outgoing, Plugin, Received, RemoteId, RoomId,
    RoomRef, Settings, Store, SystemClock, TextModel, WorldId, WorldRef,
    store::{OutboxQuery, OutboxState, ProcessRole},
};
use galatea_runtime::{
    AgentSpec, ClusterOptions, Encoders, Orchestrator, RuntimeOptions,
    explain::{self, ExplainQuery, Explanation},
};
use galatea_store::Database;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    models,
    platform::{PATIENCE, Platform, Plugged, SOURCE},
};

/// A running program with one agent, called Eliza unless the plan says otherwise.
pub(crate) struct House {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) platform: Arc<Platform>,
    pub(crate) orchestrator: Arc<Orchestrator>,
    pub(crate) agent: AgentId,
    pub(crate) identity: AgentIdentity,
    pub(crate) gateway: Gateway,
    messages: AtomicU64,
}

/// Options for building a [`House`].
pub(crate) struct Plan {
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Vec<(&'static str, &'static str)>,
    pub(crate) character: Character,
    pub(crate) models: Models,
    pub(crate) plugins: Vec<Plugin>,
    pub(crate) platform: Arc<Platform>,
    /// A second platform.
    pub(crate) abroad: Option<Arc<Platform>>,
    /// The web, too.
    pub(crate) web: bool,
    pub(crate) reconcile_every: Duration,
    pub(crate) cluster: Option<ClusterOptions>,
    pub(crate) encoders: Encoders,
}

impl Plan {
    pub(crate) fn new(model: Arc<dyn TextModel>) -> Self {
        Self {
            store: None,
            clock: Arc::new(SystemClock),
            settings: Vec::new(),
            character: character("Eliza"),
            models: models::all(model),
            plugins: Vec::new(),
            platform: Platform::new("1000"),
            abroad: None,
            web: false,
            // No other process uses this store, and some tests count statements.
            reconcile_every: Duration::from_secs(3600),
            cluster: None,
            encoders: Encoders::default(),
        }
    }

    pub(crate) fn set(mut self, name: &'static str, value: &'static str) -> Self {
        self.settings.push((name, value));
        self
    }

    pub(crate) fn plugin(mut self, plugin: Plugin) -> Self {
        self.plugins.push(plugin);
        self
    }

    pub(crate) fn on(mut self, platform: Arc<Platform>) -> Self {
        self.platform = platform;
        self
    }

    pub(crate) fn store(mut self, store: &(impl Store + Clone + 'static)) -> Self {
        self.store = Some(Arc::new(store.clone()));
        self
    }

    /// Makes the process one of several, with a store that can be shared.
    pub(crate) fn among_others(mut self) -> Self {
        let options = ClusterOptions::new(MemberId::fresh(), "house".into(), ProcessRole::All);
        self.platform.share();
        self.cluster = Some(ClusterOptions { tick: Duration::from_millis(20), ..options });
        self
    }

    /// With the web beside its platform.
    pub(crate) fn on_the_web(self) -> Self {
        Self { web: true, ..self }
    }

    pub(crate) fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the process one of several, with this role and without ticks: it reacts only to
    /// notices and to its own reads.
    pub(crate) fn without_ticks(mut self, role: ProcessRole) -> Self {
        const HOUR: Duration = Duration::from_secs(3600);
        let options = ClusterOptions::new(MemberId::fresh(), role.to_string(), role);
        self.platform.share();
        self.cluster = Some(ClusterOptions { tick: HOUR, ttl: 2 * HOUR, ..options });
        self
    }

    /// Starts the program without waiting for its account to connect.
    pub(crate) async fn begin(self) -> (Arc<Orchestrator>, AgentId) {
        let begun = self.assemble().await;
        (begun.orchestrator, begun.agent)
    }

    pub(crate) async fn build(self) -> House {
        let Begun { store, clock, platform, orchestrator, agent, identity } = self.assemble().await;
        let gateway = platform.gateway().await;
        House {
            store,
            clock,
            platform,
            orchestrator,
            agent,
            identity,
            gateway,
            messages: AtomicU64::new(0),
        }
    }

    async fn assemble(self) -> Begun {
        let store = match self.store {
            Some(store) => store,
            None => Arc::new(Database::in_memory().await.unwrap()),
        };
        let orchestrator = Orchestrator::new(RuntimeOptions {
            store: Arc::clone(&store),
            clock: Arc::clone(&self.clock),
            events: EventBus::default(),
            reconcile_every: self.reconcile_every,
            cluster: self.cluster,
        })
        .unwrap();
        let character = self.character;
        let identity = character.identity();
        let agent = orchestrator
            .create_agent(AgentSpec {
                character,
                settings: Settings::from_pairs(self.settings),
                models: self.models,
                plugins: self.plugins,
                connectors: std::iter::once(&self.platform)
                    .chain(&self.abroad)
                    .map(|platform| Arc::new(Plugged(Arc::clone(platform))) as _)
                    .chain(self.web.then(|| crate::web::connector(&identity)))
                    .collect(),
                account_settings: HashMap::new(),
                encoders: self.encoders,
            })
            .await
            .unwrap();
        orchestrator.start().unwrap();
        Begun { store, clock: self.clock, platform: self.platform, orchestrator, agent, identity }
    }
}

struct Begun {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    platform: Arc<Platform>,
    orchestrator: Arc<Orchestrator>,
    agent: AgentId,
    identity: AgentIdentity,
}

pub(crate) fn character(name: &str) -> Character {
    Character { name: name.to_owned(), ..Character::default() }
}

impl House {
    /// A message with a fresh id, not yet received.
    pub(crate) fn message(&self, at: &Spot, text: &str) -> Incoming {
        let id = self.messages.fetch_add(1, Ordering::Relaxed) + 1;
        at.message(self.clock.now(), &format!("{}-{id}", at.room), text)
    }

    /// Receives a message of a person; returns its memory id.
    pub(crate) async fn say(&self, at: &Spot, text: &str) -> MemoryId {
        let message = self.message(at, text);
        let id = self.id_of(&message);
        self.receive(vec![message]).await;
        id
    }

    /// Makes the agent send or do something without a turn, as a plugin would.
    pub(crate) async fn does(&self, at: &Spot, outgoing: Outgoing) {
        let address = Address {
            source: SOURCE,
            account: Account("1000".into()),
            room: self.room(at),
            remote: RemoteId::new(at.room),
        };
        self.orchestrator.send_message_to_target(self.agent, &address, outgoing).await.unwrap();
    }

    pub(crate) async fn receive(&self, events: Vec<Incoming>) -> Received {
        self.gateway.receive(Batch { events, ..Batch::default() }).await.unwrap()
    }

    pub(crate) fn id_of(&self, incoming: &Incoming) -> MemoryId {
        match &incoming.event {
            IncomingEvent::Message(message) => MemoryId(self.identity.swizzle(message.id.as_str())),
            _ => panic!("no message"),
        }
    }

    pub(crate) fn room(&self, at: &Spot) -> RoomId {
        RoomId(self.identity.swizzle(at.room))
    }

    pub(crate) fn world(&self, at: &Spot) -> WorldId {
        WorldId(self.identity.swizzle(at.world))
    }

    pub(crate) fn entity(&self, at: &Spot) -> EntityId {
        EntityId(self.identity.swizzle(at.person))
    }

    /// Explanation why a message was answered or not.
    pub(crate) async fn explain(&self, id: MemoryId) -> Explanation {
        explain::explain(self.store.as_ref(), &ExplainQuery::Memory(id))
            .await
            .unwrap()
            .pop()
            .expect("the message is not known")
    }

    /// Waits until no turn, send or stored row is unfinished.
    pub(crate) async fn quiet(&self) {
        let wait = async {
            loop {
                let open = is_open(&*self.store).await;
                if !open && self.orchestrator.active_lanes() == (0, 0) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, wait).await;
        assert!(
            ended.is_ok(),
            "it never became quiet: {:?} {:?}",
            self.store.audit().await,
            self.orchestrator.active_lanes()
        );
    }
}

/// A person in a room.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) world: &'static str,
    pub(crate) room: &'static str,
    pub(crate) kind: ChannelType,
    pub(crate) person: &'static str,
    /// The person's name; none is "Person" and the id.
    pub(crate) name: Option<&'static str>,
    pub(crate) is_bot: bool,
    pub(crate) mention: bool,
    /// The agent's nickname in the room's server.
    pub(crate) nickname: Option<&'static str>,
}

/// A person's direct chat; world and room have the person's id.
pub(crate) fn dm(person: &'static str) -> Spot {
    Spot {
        world: person,
        room: person,
        kind: ChannelType::Dm,
        person,
        name: None,
        is_bot: false,
        mention: false,
        nickname: None,
    }
}

/// A person in a group, not addressing the agent.
pub(crate) fn group(room: &'static str, person: &'static str) -> Spot {
    Spot { world: room, room, kind: ChannelType::Group, ..dm(person) }
}

impl Spot {
    pub(crate) fn mentioning(mut self) -> Self {
        self.mention = true;
        self
    }

    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    pub(crate) fn where_the_agent_is(mut self, nickname: &'static str) -> Self {
        self.nickname = Some(nickname);
        self
    }

    pub(crate) fn bot(mut self) -> Self {
        self.is_bot = true;
        self
    }

    pub(crate) fn connection(&self) -> Connection {
        let mut entity = EntityRef::new(
            RemoteId::new(self.person),
            Some(self.name.map_or_else(|| format!("Person {}", self.person), str::to_owned)),
            Some(format!("user{}", self.person)),
        );
        entity.is_bot = self.is_bot;
        let mut room =
            RoomRef::new(RemoteId::new(self.room), Some(format!("Room {}", self.room)), self.kind);
        if let Some(nickname) = self.nickname {
            room.metadata.insert(galatea_core::room::OWN_NAME.into(), nickname.into());
        }
        Connection {
            world: WorldRef::new(RemoteId::new(self.world), Some(format!("World {}", self.world))),
            room,
            entity: Some(entity),
        }
    }

    /// A message event; "/name args" becomes a command.
    pub(crate) fn message(&self, at: galatea_core::Timestamp, id: &str, text: &str) -> Incoming {
        let command = text.strip_prefix('/').map(|line| {
            let (name, args) = line.split_once(' ').unwrap_or((line, ""));
            Command { name: name.to_owned(), args: args.to_owned() }
        });
        Incoming {
            connection: self.connection(),
            event: IncomingEvent::Message(IncomingMessage {
                id: RemoteId::new(id),
                legacy_id: None,
                content: Content { source: Some(SOURCE.to_string()), ..Content::text(text) },
                addressed: Addressed { mention: self.mention, reply: false },
                reply_to: None,
                command,
                from_self: false,
            }),
            at,
        }
    }
}

/// True if a stored message waits for its turn, or a stored delivery for its platform.
pub(crate) async fn is_open(store: &dyn Store) -> bool {
    let open = OutboxQuery { states: vec![OutboxState::Pending, OutboxState::Sending], limit: 1 };
    store.audit().await.unwrap().iter().any(|line| line.pending > 0)
        || !store.outbox(&open).await.unwrap().is_empty()
}
