//! Worlds and Rooms that programs make through elizaOS's API, and changes of memories by operators.

use galatea_core::{
    Account, AgentId, ChannelType, Content, Error, MemoryId, MemoryKind, Participant, Result, Room,
    RoomId, Source, World, WorldId,
    store::{
        ConnectionChange, InboxItem, MemoriesOf, OperatorRole, OutboxItem, Place, RoomChange,
        WorldChange,
    },
};
use galatea_core::{EntityId, RemoteId, TurnId};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{Operator, Ops, channel_history::ids};

/// The platform of what programs make.
const SOURCE: Source = Source::new("web");
/// Longest name, in characters.
const NAME: usize = 256;

/// A Room that a program makes.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRoom {
    /// Its name.
    pub name: String,
    /// Its sort.
    pub kind: ChannelType,
    /// Its World; a fresh one if none is named.
    pub world: Option<WorldId>,
    /// The id that programs know it by; a fresh one if none is named.
    pub channel: Option<Uuid>,
    /// Free keys.
    pub metadata: Map<String, Value>,
}

fn checked(name: &str) -> Result<String> {
    if name.trim().is_empty() || name.chars().count() > NAME {
        return Err(Error::invalid(format!("a name has 1 to {NAME} characters")));
    }
    Ok(name.to_owned())
}

impl Ops {
    /// Makes a World of an agent.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Invalid` for a name that cannot be.
    pub async fn make_world(
        &self,
        by: &Operator,
        agent: AgentId,
        name: &str,
        metadata: Map<String, Value>,
    ) -> Result<World> {
        by.need(OperatorRole::Operator)?;
        self.agent(by, agent).await?;
        let remote = RemoteId::new(format_args!("web-world/{}", Uuid::now_v7()));
        let id = WorldId(ids::agent(agent).swizzle(remote.as_str()));
        let name = Some(checked(name)?);
        let world = WorldChange { id, agent, source: SOURCE, remote, name, metadata };
        self.store
            .connect(ConnectionChange { worlds: vec![world], ..ConnectionChange::default() })
            .await?;
        self.record(by, "world.make", id, None, None).await?;
        self.one_world(id).await
    }

    /// Changes name and metadata of a World. Keys that are not named stay.
    ///
    /// # Errors
    /// `NotFound` for an unknown World.
    pub async fn change_world(
        &self,
        by: &Operator,
        agent: AgentId,
        id: WorldId,
        name: Option<&str>,
        metadata: Map<String, Value>,
    ) -> Result<World> {
        by.need(OperatorRole::Operator)?;
        let world = self.one_world(id).await?;
        if world.agent_id != agent {
            return Err(Error::not_found("there is no such world"));
        }
        let change = WorldChange {
            id,
            agent,
            source: world.source,
            remote: world.remote,
            name: name.map(checked).transpose()?,
            metadata,
        };
        self.store
            .connect(ConnectionChange { worlds: vec![change], ..ConnectionChange::default() })
            .await?;
        self.record(by, "world.change", id, None, None).await?;
        self.one_world(id).await
    }

    async fn one_world(&self, id: WorldId) -> Result<World> {
        let world = self.store.world(id).await?;
        world.ok_or_else(|| Error::not_found("there is no such world"))
    }

    /// Makes a Room of an agent, in which the agent takes part.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent or World, `Invalid` for a name that cannot be.
    pub async fn make_room(&self, by: &Operator, agent: AgentId, new: NewRoom) -> Result<Room> {
        by.need(OperatorRole::Operator)?;
        let name = checked(&new.name)?;
        let world = match new.world {
            Some(id) => self.one_world(id).await?,
            None => self.make_world(by, agent, &format!("World for {name}"), Map::new()).await?,
        };
        if world.agent_id != agent {
            return Err(Error::not_found("there is no such world"));
        }
        let remote = ids::room(new.channel.unwrap_or_else(Uuid::new_v4));
        let id = RoomId(ids::agent(agent).swizzle(remote.as_str()));
        let room = RoomChange {
            id,
            agent,
            world: world.id,
            parent: None,
            source: SOURCE,
            account: Account("web".to_owned()),
            remote,
            kind: new.kind,
            name: Some(name),
            metadata: new.metadata,
        };
        let participants = vec![(EntityId(agent.0), id)];
        let change =
            ConnectionChange { rooms: vec![room], participants, ..ConnectionChange::default() };
        self.store.connect(change).await?;
        self.record(by, "room.make", id, None, None).await?;
        Ok(self.room(by, id).await?.0)
    }

    /// Rooms of a World with who is in each.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn rooms_of_world(&self, by: &Operator, world: WorldId) -> Result<Vec<Room>> {
        by.need(OperatorRole::Viewer)?;
        self.store.rooms(world).await
    }

    /// Who is in a Room.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn participants(&self, by: &Operator, room: RoomId) -> Result<Vec<Participant>> {
        by.need(OperatorRole::Viewer)?;
        self.store.participants(room).await
    }

    /// The Room that an agent has under an id: a Room's own, or a channel's.
    ///
    /// # Errors
    /// `NotFound` if it has none.
    pub async fn room_of_agent(&self, by: &Operator, agent: AgentId, id: Uuid) -> Result<Room> {
        by.need(OperatorRole::Viewer)?;
        for id in [RoomId(id), ids::room_of(agent, id)] {
            if let Some(room) = self.store.room(id).await?
                && room.agent_id == agent
            {
                return Ok(room);
            }
        }
        Err(Error::not_found("there is no such room"))
    }

    /// Removes the messages of a Room with what was made from them. Returns how many.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn clear_messages(&self, by: &Operator, agent: AgentId, room: RoomId) -> Result<u64> {
        by.need(OperatorRole::Operator)?;
        let gone = self.clear_room(agent, room).await?;
        self.record(by, "room.clear", room, None, Some(json!({ "memories": gone }))).await?;
        Ok(gone)
    }

    /// Removes the messages, facts and summaries of an agent. Returns how many.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn clear_memories(&self, by: &Operator, agent: AgentId) -> Result<u64> {
        by.need(OperatorRole::Operator)?;
        let (of, mut gone) = (MemoriesOf::Agent(agent), 0);
        for kind in [MemoryKind::Messages, MemoryKind::Facts, MemoryKind::Summaries] {
            loop {
                let page = self.store.list_memories(of, &kind, Place::NEWEST, 500).await?;
                let ids: Vec<MemoryId> = page.rows.iter().map(|memory| memory.id).collect();
                let deleted = match ids.is_empty() {
                    true => 0,
                    false => self.store.delete_memories(agent, &ids).await?,
                };
                gone += deleted;
                if deleted == 0 {
                    break;
                }
            }
        }
        self.record(by, "agent.clear", agent, None, Some(json!({ "memories": gone }))).await?;
        Ok(gone)
    }

    /// Replaces what a memory says.
    ///
    /// # Errors
    /// `NotFound` for an unknown one of this agent.
    pub async fn rewrite_memory(
        &self,
        by: &Operator,
        agent: AgentId,
        id: MemoryId,
        content: &Content,
    ) -> Result<()> {
        by.need(OperatorRole::Operator)?;
        if !self.store.update_content(agent, id, content).await? {
            return Err(Error::not_found("there is no such memory"));
        }
        self.record(by, "memory.rewrite", id, None, None).await
    }

    /// The messages that a turn finished, and the parts of its answer.
    ///
    /// # Errors
    /// `NotFound` for an unknown turn.
    pub async fn whole_turn(
        &self,
        by: &Operator,
        turn: TurnId,
    ) -> Result<(Vec<InboxItem>, Vec<OutboxItem>)> {
        by.need(OperatorRole::Viewer)?;
        let messages = self.store.inbox_of_turn(turn).await?;
        if messages.is_empty() {
            return Err(Error::not_found("there is no such turn"));
        }
        Ok((messages, self.store.deliveries_of(turn).await?))
    }
}
