//! What was said in a channel: what people and programs wrote, and what the agents in it answered. A
//! channel has one history, by whatever way its messages came.

use galatea_core::{
    AgentId, EntityId, Error, Memory, MemoryId, MemoryKind, Result, Room, RoomId, Timestamp,
    store::{ChannelMessage, InboxItem, MemoriesOf, OperatorRole, Place},
};
use serde_json::{Value, json};
use std::collections::HashSet;
use uuid::Uuid;

use super::{
    Operator, Ops,
    channels::{no_channel, object},
};

/// Longest text of a message, in characters.
const TEXT: usize = 50_000;
/// Most messages of a page.
pub const HISTORY: u32 = 1_000;
/// What elizaOS names the way of an agent's answer.
pub const AGENT_RESPONSE: &str = "agent_response";

/// A message that is to be kept with a channel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewChannelMessage {
    /// Its id; a fresh one if the program names none.
    pub id: Option<Uuid>,
    /// Its channel.
    pub channel: Uuid,
    /// Who writes it.
    pub author: Uuid,
    /// Its text.
    pub text: String,
    /// What the program sent.
    pub raw: Value,
    /// By which way it came.
    pub source_type: Option<String>,
    /// Its id there.
    pub source_id: Option<String>,
    /// Free keys.
    pub metadata: Value,
    /// The message that it answers.
    pub reply_to: Option<Uuid>,
}

/// What is to be changed of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageUpdate {
    /// Its text.
    pub text: Option<String>,
    /// What the program sent.
    pub raw: Option<Value>,
    /// By which way it came.
    pub source_type: Option<String>,
    /// Free keys.
    pub metadata: Option<Value>,
    /// The message that it answers.
    pub reply_to: Option<Uuid>,
}

/// Ids that an agent has for a channel, and for what is said there.
pub(crate) mod ids {
    use galatea_core::{AgentId, MemoryId, RemoteId, RoomId, ids::AgentIdentity};
    use uuid::Uuid;

    /// The channel, as the id of a Room of the platform `web`.
    pub(crate) fn room(channel: Uuid) -> RemoteId {
        galatea_web::room_id(&channel.to_string())
    }

    /// The channel of such an id.
    pub(crate) fn channel(room: &RemoteId) -> Option<Uuid> {
        galatea_web::channel_of(room)?.parse().ok()
    }

    /// A message of the channel.
    pub(crate) fn message(channel: Uuid, message: Uuid) -> RemoteId {
        galatea_web::message_id(&channel.to_string(), &message.to_string())
    }

    /// An agent, for the ids that are derived from its own.
    pub(crate) fn agent(agent: AgentId) -> AgentIdentity {
        AgentIdentity::new(Some(&agent.to_string()), "")
    }

    /// The agent's Room for a channel.
    pub(crate) fn room_of(agent: AgentId, of: Uuid) -> RoomId {
        RoomId(self::agent(agent).swizzle(room(of).as_str()))
    }

    /// The agent's memory of a message of a channel.
    pub(crate) fn memory_of(agent: AgentId, channel: Uuid, said: Uuid) -> MemoryId {
        MemoryId(self::agent(agent).swizzle(message(channel, said).as_str()))
    }
}

/// The channel that an agent has a Room for; none for Rooms of other platforms.
pub fn channel_of(room: &Room) -> Option<Uuid> {
    ids::channel(&room.remote)
}

/// The message of a channel that an inbox row is about; none if it came without such an id.
pub fn message_of(item: &InboxItem) -> Option<Uuid> {
    let (_, message) = item.entry.remote.as_str().rsplit_once('/')?;
    message.parse().ok()
}

fn no_message() -> Error {
    Error::not_found("there is no such message")
}

/// A message of an agent, as elizaOS shows it.
fn answer(memory: Memory, channel: Uuid, name: &str) -> ChannelMessage {
    let content = memory.content;
    let raw = json!({
        "text": content.text,
        "thought": content.thought,
        "actions": content.actions,
        "attachments": content.attachments,
    });
    ChannelMessage {
        id: memory.id.0,
        channel,
        author: memory.agent_id.0,
        metadata: json!({ "agentName": name }),
        raw,
        text: content.text,
        source_type: Some(AGENT_RESPONSE.to_owned()),
        source_id: None,
        reply_to: content.in_reply_to.map(|id| id.0),
        created_at: memory.created_at,
        updated_at: memory.created_at,
    }
}

/// A message that a person wrote to the agent without elizaOS's API.
fn heard(memory: Memory, channel: Uuid) -> ChannelMessage {
    ChannelMessage {
        id: memory.id.0,
        channel,
        author: memory.entity_id.0,
        raw: json!({ "text": memory.content.text, "attachments": memory.content.attachments }),
        text: memory.content.text,
        source_type: memory.content.source,
        source_id: None,
        metadata: json!({}),
        reply_to: memory.content.in_reply_to.map(|id| id.0),
        created_at: memory.created_at,
        updated_at: memory.created_at,
    }
}

impl Ops {
    /// Keeps a message with its channel. No agent hears it.
    ///
    /// # Errors
    /// `NotFound` for an unknown channel, `TooLong` beyond the limits.
    pub async fn keep_message(
        &self,
        by: &Operator,
        new: NewChannelMessage,
    ) -> Result<ChannelMessage> {
        by.need(OperatorRole::Operator)?;
        self.channel(by, new.channel).await?;
        check_text(&new.text)?;
        let now = self.clock.now();
        let message = ChannelMessage {
            id: new.id.unwrap_or_else(Uuid::now_v7),
            channel: new.channel,
            author: new.author,
            text: new.text,
            raw: object(new.raw)?,
            source_type: new.source_type,
            source_id: new.source_id,
            metadata: object(new.metadata)?,
            reply_to: new.reply_to,
            created_at: now,
            updated_at: now,
        };
        if self.store.add_channel_message(&message).await? {
            return Ok(message);
        }
        let there = self.store.channel_message(message.id).await?;
        there.filter(|there| there.channel == message.channel).ok_or_else(no_message)
    }

    /// A message of a person or program; none if it was deleted.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn channel_message(&self, by: &Operator, id: Uuid) -> Result<Option<ChannelMessage>> {
        by.need(OperatorRole::Viewer)?;
        self.store.channel_message(id).await
    }

    /// Changes a message that a program wrote.
    ///
    /// # Errors
    /// `NotFound` for an unknown one, `TooLong` beyond the limits.
    pub async fn change_message(
        &self,
        by: &Operator,
        id: Uuid,
        update: MessageUpdate,
    ) -> Result<ChannelMessage> {
        by.need(OperatorRole::Operator)?;
        let mut message = self.store.channel_message(id).await?.ok_or_else(no_message)?;
        if let Some(text) = update.text {
            check_text(&text)?;
            message.text = text;
        }
        if let Some(raw) = update.raw {
            message.raw = object(raw)?;
        }
        if let Some(metadata) = update.metadata {
            message.metadata = object(metadata)?;
        }
        message.source_type = update.source_type.or(message.source_type);
        message.reply_to = update.reply_to.or(message.reply_to);
        message.updated_at = Timestamp(self.clock.now().0.max(message.created_at.0));
        if !self.store.change_channel_message(&message).await? {
            return Err(no_message());
        }
        Ok(message)
    }

    /// Messages of a channel before a time, newest first. All messages of one moment come together, so
    /// a page may have some more than asked for.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn history(
        &self,
        by: &Operator,
        channel: Uuid,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<ChannelMessage>> {
        by.need(OperatorRole::Viewer)?;
        let limit = limit.clamp(1, HISTORY);
        let written = self.store.channel_messages(channel, before, limit).await?;
        let agents = self.channel_agents(by, channel).await?;
        let mut known: HashSet<Uuid> = HashSet::new();
        for agent in &agents {
            known.extend(written.iter().map(|m| ids::memory_of(*agent, channel, m.id).0));
        }
        let mut all: Vec<(bool, ChannelMessage)> =
            written.into_iter().map(|message| (false, message)).collect();
        for (n, agent) in agents.iter().enumerate() {
            // What the other agents said is read from their own memories.
            let others: Vec<EntityId> = agents
                .iter()
                .map(|other| galatea_web::person_id(&format!("agent:{other}")))
                .map(|other| EntityId(ids::agent(*agent).swizzle(other.as_str())))
                .collect();
            let name = self.running()?.info(*agent).map(|info| info.name).unwrap_or_default();
            let of = MemoriesOf::Room(ids::room_of(*agent, channel));
            let before = Place { at: before, seq: i64::MIN };
            let kind = MemoryKind::Messages;
            for memory in self.store.list_memories(of, &kind, before, limit).await?.rows {
                if memory.entity_id.0 == agent.0 {
                    all.push((true, answer(memory, channel, &name)));
                } else if n == 0
                    && !known.contains(&memory.id.0)
                    && !others.contains(&memory.entity_id)
                {
                    all.push((false, heard(memory, channel)));
                }
            }
        }
        // An answer has the time of what it answers.
        all.sort_by_key(|(answers, message)| {
            std::cmp::Reverse((message.created_at, *answers, message.id))
        });
        let mut all: Vec<ChannelMessage> = all.into_iter().map(|(_, message)| message).collect();
        let last = all.get(limit as usize - 1).map(|message| message.created_at);
        if let Some(last) = last {
            all.retain(|message| message.created_at >= last);
        }
        Ok(all)
    }

    /// Removes a message of a channel, of a person or of an agent, with what agents made from it.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn remove_message(&self, by: &Operator, channel: Uuid, id: Uuid) -> Result<()> {
        by.need(OperatorRole::Operator)?;
        let mut gone = self.store.remove_channel_message(id).await?;
        for agent in self.channel_agents(by, channel).await? {
            let ids = [ids::memory_of(agent, channel, id), MemoryId(id)];
            gone |= self.store.delete_memories(agent, &ids).await? > 0;
        }
        if !gone {
            return Err(no_message());
        }
        let before = json!({ "channel": channel });
        self.record(by, "channel.message.delete", id, Some(before), None).await
    }

    /// Removes everything that was said in a channel.
    ///
    /// # Errors
    /// `NotFound` for an unknown channel.
    pub async fn clear_channel(&self, by: &Operator, channel: Uuid) -> Result<()> {
        by.need(OperatorRole::Operator)?;
        self.channel(by, channel).await?;
        self.store.clear_channel(channel).await?;
        for agent in self.channel_agents(by, channel).await? {
            self.clear_room(agent, ids::room_of(agent, channel)).await?;
        }
        self.record(by, "channel.clear", channel, None, None).await
    }

    /// Removes a channel with everything that was said there.
    ///
    /// # Errors
    /// `NotFound` for an unknown channel.
    pub async fn remove_channel(&self, by: &Operator, channel: Uuid) -> Result<()> {
        self.clear_channel(by, channel).await?;
        if !self.store.remove_channel(channel).await? {
            return Err(no_channel());
        }
        self.record(by, "channel.delete", channel, None, None).await
    }

    /// Removes the messages of a Room with what was made from them. Returns how many.
    pub(super) async fn clear_room(&self, agent: AgentId, room: RoomId) -> Result<u64> {
        let (of, mut gone) = (MemoriesOf::Room(room), 0);
        loop {
            let page = self.store.list_memories(of, &MemoryKind::Messages, Place::NEWEST, 500);
            let ids: Vec<MemoryId> = page.await?.rows.iter().map(|memory| memory.id).collect();
            if ids.is_empty() {
                return Ok(gone);
            }
            let deleted = self.store.delete_memories(agent, &ids).await?;
            gone += deleted;
            if deleted == 0 {
                return Ok(gone);
            }
        }
    }
}

fn check_text(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::invalid("a message has a text"));
    }
    if text.chars().count() > TEXT {
        let words = format!("a message has at most {TEXT} characters");
        return Err(Error::new(galatea_core::ErrorKind::TooLong, words));
    }
    Ok(())
}
