//! Builds a turn: an agent, people, and a group with roles.

use async_trait::async_trait;
use galatea_core::{
    Account, ActionResult, Address, AgentView, AnyAction, ChannelType, Character, Clock, Content,
    Entity, EntityId, EventBus, EventHandle, Fragment, Memory, MemoryId, MemoryKind, ModelInfo,
    Models, Outbound, Outgoing, Participant, Plugin, Provider, ProviderUse, RemoteId, Result, Role,
    Room, RoomId, RoomPeople, ServiceContext, Services, Settings, Source, State, Timestamp, Turn,
    TurnId, TurnUsage, World, WorldId, WorldMetadata,
    store::{Envelope, PluginCache, PluginStore, UsageRow},
    turn::Catalog,
    world::Ownership,
};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};

use crate::double::Double;

/// Discards every message.
struct Nowhere;

#[async_trait]
impl Outbound for Nowhere {
    async fn send_message_to_target(&self, _: &Address, _: Outgoing) -> Result<()> {
        Ok(())
    }
}

/// Usage rows that the engine has not stored yet.
#[derive(Default)]
pub(crate) struct Unstored(pub(crate) Mutex<Vec<UsageRow>>);

impl TurnUsage for Unstored {
    fn take(&self) -> Vec<UsageRow> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
    fn put_back(&self, rows: Vec<UsageRow>) {
        self.0.lock().unwrap().extend(rows);
    }
}

pub(crate) struct Scene {
    pub(crate) agent: AgentView,
    pub(crate) room: Room,
    pub(crate) world: Option<World>,
    pub(crate) message: Memory,
    pub(crate) merged: Vec<Memory>,
    pub(crate) recent: Vec<Arc<Memory>>,
    pub(crate) earlier: Option<Timestamp>,
    pub(crate) leaving: usize,
    pub(crate) double: Arc<Double>,
    store: Arc<dyn PluginStore>,
    cache: PluginCache,
    pub(crate) clock: ManualClock,
    shared_clock: Arc<dyn Clock>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) models: Models,
    pub(crate) usage: Arc<Unstored>,
    envelope: Envelope,
    state: State,
    services: Services,
    pub(crate) catalog: Catalog,
    pub(crate) events: EventBus,
    handle: EventHandle,
    outbound: Arc<dyn Outbound>,
    pub(crate) plugin: Plugin,
}

pub(crate) fn someone(n: u128) -> EntityId {
    EntityId(uuid::Uuid::from_u128(n))
}

/// Ids of the people: an owner, an admin, and two without a role.
pub(crate) const OWNER: u128 = 1;
pub(crate) const ADMIN: u128 = 2;
pub(crate) const MARIA: u128 = 3;
pub(crate) const BOB: u128 = 4;
/// A person who has not written in the group.
pub(crate) const ZOE: u128 = 77;

impl Scene {
    /// A group "general" that all people are members of, with an empty room "staff" beside it. Maria
    /// speaks.
    pub(crate) fn group() -> Self {
        let character = Character {
            name: "Eliza".into(),
            bio: (0..20).map(|n| format!("bio line {n}")).collect(),
            topics: (0..20).map(|n| format!("topic {n}")).collect(),
            adjectives: vec!["calm".into(), "curious".into()],
            ..Character::default()
        };
        Self::with(character)
    }

    /// A direct chat with Maria, who speaks.
    pub(crate) fn private() -> Self {
        let mut scene = Self::with(Character { name: "Eliza".into(), ..Character::default() });
        scene.world =
            Some(scene.a_world(someone(MARIA).0.into(), "private", WorldMetadata::default()));
        scene.room = scene.a_room(
            RoomId(someone(MARIA).0),
            someone(MARIA).0.into(),
            "Maria",
            ChannelType::Dm,
        );
        scene.message = scene.message_by(MARIA, "hello");
        scene
    }

    fn with(character: Character) -> Self {
        let double = Arc::new(Double::default());
        let clock = ManualClock::new();
        let model = Arc::new(ScriptedModel::new());
        let identity = character.identity();
        let agent = AgentView {
            identity,
            character: Arc::new(character),
            settings: Settings::default(),
            zone: Arc::default(),
        };
        let placeholder = Memory {
            id: MemoryId(uuid::Uuid::from_u128(1_000)),
            kind: MemoryKind::Messages,
            agent_id: agent.identity.id(),
            entity_id: someone(MARIA),
            room_id: RoomId(uuid::Uuid::from_u128(100)),
            world_id: None,
            content: Content::text("hello"),
            metadata: Map::from_iter([("entityName".to_owned(), json!("Maria"))]),
            created_at: clock.now(),
        };
        let agent_id = agent.identity.id();
        let events = EventBus::default();
        let mut scene = Self {
            room: Room {
                id: RoomId(uuid::Uuid::from_u128(100)),
                agent_id: agent.identity.id(),
                world_id: WorldId(uuid::Uuid::from_u128(10)),
                parent_id: None,
                source: Source::new("test"),
                account: Account("1".into()),
                remote: RemoteId::new("general-id"),
                kind: ChannelType::Group,
                name: "general".into(),
                metadata: Map::new(),
            },
            agent,
            world: None,
            message: placeholder,
            merged: Vec::new(),
            recent: Vec::new(),
            earlier: None,
            leaving: 0,
            store: Arc::clone(&double) as Arc<dyn PluginStore>,
            cache: PluginCache::new(Arc::clone(&double) as _, agent_id, "bootstrap"),
            double,
            shared_clock: clock.shared(),
            clock,
            models: Models::of_text(model.clone()),
            model,
            usage: Arc::default(),
            envelope: Envelope::default(),
            state: State::default(),
            services: Services::default(),
            catalog: Catalog::default(),
            handle: EventHandle::new(events.clone(), agent_id, "bootstrap"),
            events,
            outbound: Arc::new(Nowhere),
            plugin: galatea_bootstrap::plugin(),
        };
        let mut metadata = WorldMetadata {
            ownership: Some(Ownership { owner_id: someone(OWNER) }),
            ..WorldMetadata::default()
        };
        metadata.roles.insert(someone(ADMIN), Role::Admin);
        let world = scene.a_world(WorldId(uuid::Uuid::from_u128(10)), "The Guild", metadata);
        let staff =
            scene.a_room(RoomId(uuid::Uuid::from_u128(101)), world.id, "staff", ChannelType::Group);
        {
            let mut tables = scene.double.tables();
            tables.worlds.push(world.clone());
            tables.rooms.extend([scene.room.clone(), staff]);
            for (n, name) in [(OWNER, "Olga"), (ADMIN, "Adam"), (MARIA, "Maria"), (BOB, "Bob")] {
                let entity = Entity {
                    id: someone(n),
                    agent_id: scene.agent.identity.id(),
                    names: vec![name.into(), format!("{name}_handle")],
                    metadata: Map::new(),
                };
                tables.entities.push(entity);
                tables.participants.push(Participant {
                    entity_id: someone(n),
                    room_id: scene.room.id,
                    state: None,
                });
            }
        }
        scene.world = Some(world);
        scene
    }

    pub(crate) fn a_world(&self, id: WorldId, name: &str, metadata: WorldMetadata) -> World {
        World {
            id,
            agent_id: self.agent.identity.id(),
            source: Source::new("test"),
            remote: RemoteId::new(name),
            name: name.into(),
            metadata,
        }
    }

    pub(crate) fn a_room(&self, id: RoomId, world: WorldId, name: &str, kind: ChannelType) -> Room {
        Room {
            id,
            world_id: world,
            name: name.into(),
            kind,
            remote: RemoteId::new(format!("{name}-id")),
            ..self.room.clone()
        }
    }

    /// A new message of `who`, one second after the previous one.
    pub(crate) fn message_by(&self, who: u128, text: &str) -> Memory {
        self.clock.advance(std::time::Duration::from_secs(1));
        let name = match who {
            OWNER => "Olga",
            ADMIN => "Adam",
            MARIA => "Maria",
            ZOE => "Zoe",
            _ => "Bob",
        };
        Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::Messages,
            agent_id: self.agent.identity.id(),
            entity_id: someone(who),
            room_id: self.room.id,
            world_id: Some(self.room.world_id),
            content: Content::text(text),
            metadata: Map::from_iter([("entityName".to_owned(), json!(name))]),
            created_at: self.clock.now(),
        }
    }

    /// Replaces the speaker.
    pub(crate) fn by(mut self, who: u128) -> Self {
        self.message = self.message_by(who, "please do it");
        self
    }

    pub(crate) fn joins(&self, who: u128, room: RoomId) {
        self.double.tables().participants.push(Participant {
            entity_id: someone(who),
            room_id: room,
            state: None,
        });
    }

    /// The people of the room, as the runtime reads them.
    fn people(&self) -> &'static RoomPeople {
        if self.room.kind.is_direct() {
            return Box::leak(Box::default());
        }
        let tables = self.double.tables();
        let there = |entity: &&Entity| {
            let joined = |p: &Participant| (p.room_id, p.entity_id) == (self.room.id, entity.id);
            tables.participants.iter().any(joined)
        };
        let people: Vec<Entity> = tables.entities.iter().filter(there).cloned().collect();
        Box::leak(Box::new(RoomPeople::new(self.agent.identity.entity(), &people)))
    }

    pub(crate) fn turn(&self) -> Turn<'_> {
        Turn {
            id: TurnId::fresh(),
            agent: &self.agent,
            room: &self.room,
            world: self.world.as_ref(),
            people: self.people(),
            handle: None,
            files: true,
            message: &self.message,
            envelope: &self.envelope,
            merged: &self.merged,
            recent: &self.recent,
            earlier: self.earlier,
            leaving: self.leaving,
            state: &self.state,
            store: &self.store,
            cache: &self.cache,
            models: &self.models,
            usage: &*self.usage,
            services: &self.services,
            catalog: &self.catalog,
            clock: &self.shared_clock,
            events: &self.handle,
            outbound: &self.outbound,
        }
    }

    /// What a service of the agent may use.
    pub(crate) fn service_context(&self) -> ServiceContext {
        ServiceContext {
            agent: Arc::new(self.agent.clone()),
            store: Arc::clone(&self.store),
            settings: galatea_core::PluginSettings::default(),
            cache: self.cache.clone(),
            services: self.services.clone(),
            outbound: Arc::clone(&self.outbound),
            models: self.models.clone(),
            embedding: self.models.embedding.clone(),
            usage: Arc::clone(&self.usage) as _,
            clock: Arc::clone(&self.shared_clock),
            events: self.handle.clone(),
        }
    }

    pub(crate) fn scripted(&mut self) {
        let info = ModelInfo {
            provider: "offline".into(),
            model: "script".into(),
            scripted: true,
            ..ModelInfo::default()
        };
        let model = Arc::new(ScriptedModel::new().with_info(info));
        self.models.small = model.clone();
        self.models.large = model;
    }

    pub(crate) fn action(&self, name: &str) -> &Arc<dyn AnyAction> {
        self.plugin.actions.iter().find(|a| a.docs().name == name).unwrap()
    }

    pub(crate) async fn offers(&self, name: &str) -> bool {
        self.action(name).validate(&self.turn()).await.unwrap()
    }

    pub(crate) async fn does(&self, name: &str, params: Value) -> ActionResult {
        self.action(name).run(&self.turn(), params, &[]).await.unwrap()
    }

    pub(crate) fn provider(&self, name: &str) -> &Arc<dyn Provider> {
        self.plugin.providers.iter().find(|p| p.name() == name).unwrap()
    }

    pub(crate) async fn shows(&self, name: &str) -> Fragment {
        self.provider(name).provide(&self.turn()).await.unwrap()
    }

    /// The fragments of every provider that always runs, in prompt order.
    pub(crate) async fn composed(&self) -> Vec<Fragment> {
        let mut providers: Vec<_> =
            self.plugin.providers.iter().filter(|p| p.when() == ProviderUse::Always).collect();
        providers.sort_by_key(|p| p.position());
        let mut fragments = Vec::new();
        for provider in providers {
            fragments.push(provider.provide(&self.turn()).await.unwrap());
        }
        fragments
    }

    pub(crate) fn clock_now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Stores a memory.
    pub(crate) fn keep(
        &self,
        kind: MemoryKind,
        who: EntityId,
        room: RoomId,
        text: &str,
        at: Timestamp,
    ) {
        let memory = Memory {
            id: MemoryId::fresh(),
            kind,
            entity_id: who,
            room_id: room,
            content: Content::text(text),
            created_at: at,
            ..self.message.clone()
        };
        self.double.tables().memories.push(memory);
    }
}
