//! Channels of elizaOS's API: message servers, channels and who is in them, and what people and foreign
//! programs wrote there. What agents answer is not here: it is a memory of the
//! Room that an agent has for the channel.

use async_trait::async_trait;
use serde_json::Value;
use uuid::Uuid;

use crate::{clock::Timestamp, error::Result, ids::AgentId};

/// Most rows that a list returns where its caller names no number.
pub const CHANNELS_LISTED: u32 = 1_000;

/// A message server: a group of channels.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelServer {
    /// Its id; the nil id is the server that always exists.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Where it comes from, such as `eliza_default`.
    pub source_type: String,
    /// Its id there.
    pub source_id: Option<String>,
    /// Free keys.
    pub metadata: Value,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
}

/// A channel. An agent that takes part has a Room for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its id, chosen by whoever made it.
    pub id: Uuid,
    /// Its message server.
    pub server: Uuid,
    /// Its name.
    pub name: String,
    /// `DM`, `GROUP`, … as its maker named it.
    pub kind: String,
    /// Where it comes from, such as `auto_created`.
    pub source_type: Option<String>,
    /// Its id there.
    pub source_id: Option<String>,
    /// What it is about.
    pub topic: Option<String>,
    /// Free keys.
    pub metadata: Value,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
}

/// What a person or a foreign program wrote in a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelMessage {
    /// Its id.
    pub id: Uuid,
    /// Its channel.
    pub channel: Uuid,
    /// Who wrote it, as the program that sent it names them.
    pub author: Uuid,
    /// Its text.
    pub text: String,
    /// What the program sent.
    pub raw: Value,
    /// By which way it came, such as `socketio_client`.
    pub source_type: Option<String>,
    /// Its id there.
    pub source_id: Option<String>,
    /// Free keys.
    pub metadata: Value,
    /// The message that it answers.
    pub reply_to: Option<Uuid>,
    /// Its time.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
}

/// Keeps what elizaOS's API knows of channels. Called by the control plane only. Additions change
/// nothing that is there, and say whether they added.
#[async_trait]
pub trait ChannelStore: Send + Sync {
    /// Every message server, the oldest first.
    async fn channel_servers(&self) -> Result<Vec<ChannelServer>>;
    /// Adds a message server.
    async fn add_channel_server(&self, server: &ChannelServer) -> Result<bool>;
    /// Agents of a message server.
    async fn channel_server_agents(&self, server: Uuid) -> Result<Vec<AgentId>>;
    /// Message servers of an agent.
    async fn servers_of_agent(&self, agent: AgentId) -> Result<Vec<Uuid>>;
    /// An agent takes part in a message server from now on, or no longer.
    async fn set_server_agent(&self, server: Uuid, agent: AgentId, takes_part: bool) -> Result<()>;

    /// A channel.
    async fn channel(&self, id: Uuid) -> Result<Option<Channel>>;
    /// Channels of a message server, the oldest first.
    async fn channels(&self, server: Uuid, limit: u32) -> Result<Vec<Channel>>;
    /// Adds a channel with who is in it. One that exists keeps its own, and those are not added.
    async fn add_channel(&self, channel: &Channel, people: &[Uuid]) -> Result<bool>;
    /// Replaces name, topic and metadata; and who is in it where that is given. False if there is no
    /// such channel.
    async fn change_channel(&self, channel: &Channel, people: Option<&[Uuid]>) -> Result<bool>;
    /// Removes a channel with its messages, sessions and jobs.
    async fn remove_channel(&self, id: Uuid) -> Result<bool>;
    /// Who is in a channel: people and agents, in the order in which they came.
    async fn channel_people(&self, channel: Uuid) -> Result<Vec<Uuid>>;
    /// Adds to who is in a channel.
    async fn add_channel_people(&self, channel: Uuid, people: &[Uuid]) -> Result<()>;

    /// Messages of a channel before a time, newest first.
    async fn channel_messages(
        &self,
        channel: Uuid,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<ChannelMessage>>;
    /// A message.
    async fn channel_message(&self, id: Uuid) -> Result<Option<ChannelMessage>>;
    /// Adds a message.
    async fn add_channel_message(&self, message: &ChannelMessage) -> Result<bool>;
    /// Replaces all of a message but its channel, author and time.
    async fn change_channel_message(&self, message: &ChannelMessage) -> Result<bool>;
    /// Removes a message.
    async fn remove_channel_message(&self, id: Uuid) -> Result<bool>;
    /// Removes all messages of a channel.
    async fn clear_channel(&self, channel: Uuid) -> Result<u64>;
}
