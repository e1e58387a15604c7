//! Says something in a channel: keeps it with the channel, and hands it to each agent that is there.

use async_trait::async_trait;
use galatea_core::{
    AgentId, ChannelType, Error, ErrorKind, Result, Timestamp,
    store::{Channel, ChannelMessage, OperatorRole},
};
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

use super::{Operator, Ops, channel_history::NewChannelMessage};

/// What is said to an agent in a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Who hears it.
    pub agent: AgentId,
    /// The channel.
    pub channel: Uuid,
    /// Name of the channel.
    pub channel_name: String,
    /// Sort of the channel.
    pub kind: ChannelType,
    /// The message.
    pub message: Uuid,
    /// Who says it.
    pub author: Uuid,
    /// Their name.
    pub author_name: String,
    /// The words.
    pub text: String,
    /// When.
    pub at: Timestamp,
    /// It is meant for the agent: the channel has nobody else, or names it.
    pub addressed: bool,
}

/// Hands what is said in a channel to agents. Hearing the same message again changes nothing.
#[async_trait]
pub trait Ears: Send + Sync {
    /// Ok means that the agent's inbox has it.
    async fn hear(&self, said: Said) -> Result<()>;
}

/// A message that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidMessage {
    /// The message.
    pub message: ChannelMessage,
    /// Its channel.
    pub channel: Channel,
    /// Agents that have it in their inboxes; the first is the one whose answer is waited for.
    pub heard: Vec<AgentId>,
}

/// The sort of a channel, as a program named it.
fn kind(channel: &Channel) -> ChannelType {
    serde_json::from_value(Value::String(channel.kind.clone())).unwrap_or(ChannelType::Group)
}

impl Ops {
    /// The same operations with a way to hand messages to agents.
    #[must_use]
    pub fn with_ears(self, ears: Arc<dyn Ears>) -> Self {
        Self { ears: Some(ears), ..self }
    }

    /// Says something in a channel.
    ///
    /// # Errors
    /// `NotFound` for an unknown channel, `TooLong` beyond the limits, `Unsupported` in a process that
    /// takes no messages, and failures of the store: the program says it again under the same id then.
    pub async fn say(
        &self,
        by: &Operator,
        new: NewChannelMessage,
        author_name: Option<&str>,
        target: Option<AgentId>,
    ) -> Result<SaidMessage> {
        by.need(OperatorRole::Operator)?;
        let ears = self.ears.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "this process takes no messages of channels")
        })?;
        let channel = self.channel(by, new.channel).await?;
        let people = self.channel_people(by, new.channel).await?;
        let known = self.agents(by)?;
        let mut agents: Vec<AgentId> = people
            .iter()
            .filter_map(|person| known.iter().find(|info| info.id.0 == *person))
            .map(|info| info.id)
            .collect();
        if agents.is_empty() {
            agents.extend(target.filter(|id| known.iter().any(|info| info.id == *id)));
        }
        agents.retain(|agent| agent.0 != new.author);
        let alone = agents.len() == 1 && people.len() <= 2;
        let message = self.keep_message(by, new).await?;
        let name = author_name.filter(|name| !name.trim().is_empty());
        let name = name.map_or_else(|| "User".to_owned(), |name| name.chars().take(128).collect());
        for agent in &agents {
            let said = Said {
                agent: *agent,
                channel: channel.id,
                channel_name: channel.name.clone(),
                kind: kind(&channel),
                message: message.id,
                author: message.author,
                author_name: name.clone(),
                text: message.text.clone(),
                at: message.created_at,
                addressed: alone || target == Some(*agent),
            };
            ears.hear(said).await?;
        }
        Ok(SaidMessage { message, channel, heard: agents })
    }
}
