//! Says something in a channel: keeps it with the channel, and hands it to each agent that is there.

use galatea_core::{
    AgentId, ChannelType, MemoryId, Result,
    store::{Channel, ChannelMessage, OperatorRole},
};
use galatea_web::{AGENTS, Said, Speaker};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Operator, Ops,
    channel_history::{NewChannelMessage, ids},
    channels::DEFAULT_SERVER,
    chat::{Chat, Heard},
};

/// A message that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidMessage {
    /// The message.
    pub message: ChannelMessage,
    /// Its channel.
    pub channel: Channel,
    /// The message as each agent heard it; the first one's answer is waited for.
    pub heard: Vec<Heard>,
}

/// The sort of a channel, as a program named it.
fn kind(channel: &Channel) -> ChannelType {
    serde_json::from_value(Value::String(channel.kind.clone())).unwrap_or(ChannelType::Group)
}

impl Ops {
    /// Says something in a channel. Agents that are in it hear it; where there is none, `target` does.
    ///
    /// # Errors
    /// `NotFound` for an unknown channel, `TooLong` beyond the limits, `Unsupported` in a process without
    /// agents, and failures of the store: the program says it again under the same id then.
    pub async fn say(
        &self,
        by: &Operator,
        chat: &Chat,
        new: NewChannelMessage,
        author_name: Option<&str>,
        target: Option<AgentId>,
    ) -> Result<SaidMessage> {
        by.need(OperatorRole::Operator)?;
        let channel = self.channel(by, new.channel).await?;
        let people = self.channel_people(by, new.channel).await?;
        let mut agents = self.channel_agents(by, new.channel).await?;
        // The order in which they came.
        agents.sort_by_key(|agent| people.iter().position(|person| *person == agent.0));
        if agents.is_empty() {
            let known = self.agents(by)?;
            agents.extend(target.filter(|id| known.iter().any(|info| info.id == *id)));
        }
        agents.retain(|agent| agent.0 != new.author);
        let alone = agents.len() == 1 && people.len() <= 2;
        let message = self.keep_message(by, new).await?;
        let said = said(&channel, &message, author_name, &agents);
        let mut heard = Vec::with_capacity(agents.len());
        for agent in agents {
            let in_reply_to = self.replied(agent, &message).await?;
            let mention = alone || target == Some(agent);
            let said = Said { mention, in_reply_to, ..said.clone() };
            heard.extend(chat.say(&[agent], &said).await?);
        }
        Ok(SaidMessage { message, channel, heard })
    }

    /// The agent's memory of what a message replies to.
    async fn replied(&self, agent: AgentId, message: &ChannelMessage) -> Result<Option<MemoryId>> {
        let Some(id) = message.reply_to else { return Ok(None) };
        // What agents answer has the id of its memory.
        let of_person = self.store.channel_message(id).await?.is_some();
        let id = if of_person { ids::memory_of(agent, message.channel, id) } else { MemoryId(id) };
        Ok(Some(id))
    }
}

/// The message as agents hear it.
fn said(
    channel: &Channel,
    message: &ChannelMessage,
    author_name: Option<&str>,
    agents: &[AgentId],
) -> Said {
    let name = author_name.map(str::trim).filter(|name| !name.is_empty());
    let speaker = Speaker::new(message.author.to_string(), Some(name.unwrap_or("User").to_owned()));
    let mut place = galatea_web::Channel::new(channel.id.to_string(), kind(channel));
    place.name = Some(channel.name.clone());
    let own = |server: &Uuid| *server != DEFAULT_SERVER;
    place.server = Some(channel.server).filter(own).map(|server| server.to_string());
    if agents.len() > 1 {
        place.metadata.insert(AGENTS.to_owned(), json!(agents));
    }
    let list = message.raw.get("attachments").or_else(|| message.metadata.get("attachments"));
    let attachments = list.and_then(|list| serde_json::from_value(list.clone()).ok());
    Said {
        attachments: attachments.unwrap_or_default(),
        source: message.source_type.clone(),
        ..Said::new(speaker, place, message.id.to_string(), message.text.clone())
    }
}
