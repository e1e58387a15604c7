//! Channels of elizaOS's API: message servers, channels, and who is in them.

use galatea_core::{
    AgentId, Error, ErrorKind, Result, Timestamp,
    store::{CHANNELS_LISTED, Channel, ChannelServer, OperatorRole},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Operator, Ops};

/// The message server that always exists, as in elizaOS.
pub const DEFAULT_SERVER: Uuid = Uuid::nil();
/// Longest name of a channel or message server, in characters.
const NAME: usize = 256;
/// Most bytes of what a program keeps with a channel or message.
const METADATA: usize = 64 << 10;
/// Most people and agents in a channel.
const PEOPLE: usize = 1_000;

/// A channel that is to be made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewChannel {
    /// Its id; a fresh one if the caller names none.
    pub id: Option<Uuid>,
    /// Its message server.
    pub server: Uuid,
    /// Its name.
    pub name: String,
    /// `DM`, `GROUP`, …
    pub kind: String,
    /// Where it comes from.
    pub source_type: Option<String>,
    /// Free keys.
    pub metadata: Value,
    /// People and agents in it.
    pub people: Vec<Uuid>,
}

/// What is to be changed of a channel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChannelUpdate {
    /// Its name.
    pub name: Option<String>,
    /// People and agents in it.
    pub people: Option<Vec<Uuid>>,
    /// Free keys; those that are not named stay.
    pub metadata: Option<Value>,
}

pub(super) fn no_channel() -> Error {
    Error::not_found("there is no such channel")
}

/// A JSON object; an empty one for anything else.
///
/// # Errors
/// `TooLong` for more than 64 KiB.
pub(super) fn object(value: Value) -> Result<Value> {
    if !value.is_object() {
        return Ok(json!({}));
    }
    if value.to_string().len() > METADATA {
        return Err(Error::new(ErrorKind::TooLong, "metadata has at most 64 KiB"));
    }
    Ok(value)
}

fn checked(name: &str) -> Result<String> {
    if name.trim().is_empty() || name.chars().count() > NAME {
        return Err(Error::invalid(format!("a name has 1 to {NAME} characters")));
    }
    Ok(name.to_owned())
}

fn few(people: &[Uuid]) -> Result<()> {
    if people.len() > PEOPLE {
        return Err(Error::invalid(format!("a channel has at most {PEOPLE} participants")));
    }
    Ok(())
}

impl Ops {
    /// Every message server, the oldest first. The default one always is among them.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn channel_servers(&self, by: &Operator) -> Result<Vec<ChannelServer>> {
        by.need(OperatorRole::Viewer)?;
        let servers = self.store.channel_servers().await?;
        if servers.iter().any(|server| server.id == DEFAULT_SERVER) {
            return Ok(servers);
        }
        let now = self.clock.now();
        let default = ChannelServer {
            id: DEFAULT_SERVER,
            name: "Default Server".to_owned(),
            source_type: "eliza_default".to_owned(),
            source_id: None,
            metadata: json!({}),
            created_at: now,
            updated_at: now,
        };
        self.store.add_channel_server(&default).await?;
        self.store.channel_servers().await
    }

    /// Adds a message server.
    ///
    /// # Errors
    /// `Invalid` for a name that cannot be.
    pub async fn add_channel_server(
        &self,
        by: &Operator,
        name: &str,
        source_type: &str,
        source_id: Option<String>,
        metadata: Value,
    ) -> Result<ChannelServer> {
        by.need(OperatorRole::Operator)?;
        let now = self.clock.now();
        let server = ChannelServer {
            id: Uuid::new_v4(),
            name: checked(name)?,
            source_type: checked(source_type)?,
            source_id,
            metadata: object(metadata)?,
            created_at: now,
            updated_at: now,
        };
        self.store.add_channel_server(&server).await?;
        self.record(by, "message-server.add", server.id, None, Some(json!({ "name": name })))
            .await?;
        Ok(server)
    }

    /// Agents of a message server. Every agent of this process takes part in the default one.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn channel_server_agents(&self, by: &Operator, server: Uuid) -> Result<Vec<AgentId>> {
        by.need(OperatorRole::Viewer)?;
        let mut agents = self.store.channel_server_agents(server).await?;
        if server == DEFAULT_SERVER
            && let Ok(running) = self.agents(by)
        {
            agents.extend(running.into_iter().map(|info| info.id));
            agents.sort_unstable();
            agents.dedup();
        }
        Ok(agents)
    }

    /// Message servers of an agent.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn servers_of_agent(&self, by: &Operator, agent: AgentId) -> Result<Vec<Uuid>> {
        by.need(OperatorRole::Viewer)?;
        let mut servers = self.store.servers_of_agent(agent).await?;
        let runs = self.agents(by).is_ok_and(|all| all.iter().any(|info| info.id == agent));
        if runs && !servers.contains(&DEFAULT_SERVER) {
            servers.insert(0, DEFAULT_SERVER);
        }
        Ok(servers)
    }

    /// An agent takes part in a message server from now on, or no longer.
    ///
    /// # Errors
    /// `NotFound` for an unknown message server.
    pub async fn set_server_agent(
        &self,
        by: &Operator,
        server: Uuid,
        agent: AgentId,
        takes_part: bool,
    ) -> Result<()> {
        by.need(OperatorRole::Operator)?;
        if !self.channel_servers(by).await?.iter().any(|known| known.id == server) {
            return Err(Error::not_found("there is no such message server"));
        }
        self.store.set_server_agent(server, agent, takes_part).await?;
        let after = json!({ "agent": agent, "takesPart": takes_part });
        self.record(by, "message-server.agent", server, None, Some(after)).await
    }

    /// Channels of a message server, the oldest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn channels(&self, by: &Operator, server: Uuid) -> Result<Vec<Channel>> {
        by.need(OperatorRole::Viewer)?;
        self.store.channels(server, CHANNELS_LISTED).await
    }

    /// A channel.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn channel(&self, by: &Operator, id: Uuid) -> Result<Channel> {
        by.need(OperatorRole::Viewer)?;
        self.store.channel(id).await?.ok_or_else(no_channel)
    }

    /// Makes a channel, or finds the one that has its id.
    ///
    /// # Errors
    /// `Invalid` for a name that cannot be, `NotFound` for an unknown message server.
    pub async fn make_channel(&self, by: &Operator, new: NewChannel) -> Result<Channel> {
        by.need(OperatorRole::Operator)?;
        few(&new.people)?;
        if !self.channel_servers(by).await?.iter().any(|server| server.id == new.server) {
            return Err(Error::not_found(format!("Server {} does not exist", new.server)));
        }
        let now = self.clock.now();
        let channel = Channel {
            id: new.id.unwrap_or_else(Uuid::new_v4),
            server: new.server,
            name: checked(&new.name)?,
            kind: checked(&new.kind)?,
            source_type: new.source_type,
            source_id: None,
            topic: None,
            metadata: object(new.metadata)?,
            created_at: now,
            updated_at: now,
        };
        if !self.store.add_channel(&channel, &new.people).await? {
            return self.channel(by, channel.id).await;
        }
        Ok(channel)
    }

    /// Changes a channel.
    ///
    /// # Errors
    /// `NotFound` for an unknown one, `Invalid` for a name that cannot be.
    pub async fn change_channel(
        &self,
        by: &Operator,
        id: Uuid,
        update: ChannelUpdate,
    ) -> Result<Channel> {
        by.need(OperatorRole::Operator)?;
        let mut channel = self.channel(by, id).await?;
        if let Some(name) = update.name {
            channel.name = checked(&name)?;
        }
        if let (Some(old), Some(Value::Object(new))) =
            (channel.metadata.as_object_mut(), update.metadata)
        {
            old.extend(new);
        }
        channel.metadata = object(channel.metadata)?;
        channel.updated_at = Timestamp(self.clock.now().0.max(channel.created_at.0));
        if let Some(people) = &update.people {
            few(people)?;
        }
        if !self.store.change_channel(&channel, update.people.as_deref()).await? {
            return Err(no_channel());
        }
        Ok(channel)
    }

    /// People and agents in a channel, in the order in which they came.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn channel_people(&self, by: &Operator, channel: Uuid) -> Result<Vec<Uuid>> {
        by.need(OperatorRole::Viewer)?;
        self.store.channel_people(channel).await
    }

    /// Adds to who is in a channel.
    ///
    /// # Errors
    /// `NotFound` for an unknown channel.
    pub async fn join_channel(&self, by: &Operator, channel: Uuid, people: &[Uuid]) -> Result<()> {
        by.need(OperatorRole::Operator)?;
        self.channel(by, channel).await?;
        let there = self.channel_people(by, channel).await?;
        if there.len() + people.len() > PEOPLE {
            return few(&[there.as_slice(), people].concat());
        }
        self.store.add_channel_people(channel, people).await
    }

    /// Agents in a channel that are known to this installation.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn channel_agents(&self, by: &Operator, channel: Uuid) -> Result<Vec<AgentId>> {
        let people = self.channel_people(by, channel).await?;
        let known = self.agents(by)?;
        let known = known.into_iter().map(|info| info.id).filter(|id| people.contains(&id.0));
        Ok(known.collect())
    }
}
