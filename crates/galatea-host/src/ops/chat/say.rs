//! Takes a message in for one or several agents.

use galatea_core::{
    AgentId, Batch, Error, ErrorKind, Gateway, MemoryId, RemoteId, Result, RoomId, Source,
};
use galatea_web::{AGENTS, SOURCE, Said, message_id, room_id};
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep};

use super::state::Chat;

/// Most agents of one channel.
const MOST: usize = 16;
/// How long a message waits for an agent that just starts.
const STARTS: Duration = Duration::from_secs(10);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(50);

/// A message as one agent heard it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The agent.
    pub agent: AgentId,
    /// Its Room of the channel.
    pub room: RoomId,
    /// The id that the message is stored under: `galatea explain` takes it.
    pub memory: MemoryId,
    /// False if the message was stored before: it is not answered again.
    pub new: bool,
}

impl Chat {
    /// Stores a message for each of these agents; Ok means durable. Each decides for itself whether to
    /// answer. Agents of one channel hear each other.
    ///
    /// # Errors
    /// `Invalid` for ids and texts out of bounds, `NotFound` for an unknown agent, `Unavailable` for one that
    /// does not run, `Unsupported` for one that has the web switched off.
    pub async fn say(&self, agents: &[AgentId], said: &Said) -> Result<Vec<Heard>> {
        if agents.is_empty() || agents.len() > MOST {
            return Err(Error::invalid(format!("name 1 to {MOST} agents")));
        }
        let mut said = said.clone();
        if agents.len() > 1 {
            said.channel.metadata.insert(AGENTS.to_owned(), json!(agents));
        }
        let at = self.clock.now();
        let incoming = galatea_web::decode(&said, at)?;
        // All, before the first one stores anything.
        let mut gateways = Vec::with_capacity(agents.len());
        for agent in agents {
            gateways.push(self.gateway(*agent, &said.platform()).await?);
        }
        let id = message_id(&said.channel.id, &said.id);
        let mut heard = Vec::with_capacity(agents.len());
        for gateway in gateways {
            let batch = Batch { events: vec![incoming.clone()], ..Batch::default() };
            let received = gateway.receive(batch).await?;
            heard.push(Heard {
                agent: gateway.agent().id(),
                room: room_of(&gateway, &said.channel.id),
                memory: MemoryId(gateway.agent().swizzle(id.as_str())),
                new: received.stored > 0,
            });
        }
        Ok(heard)
    }

    /// The Room that an agent has of a channel, whether it is stored or not.
    ///
    /// # Errors
    /// As [`Self::say`].
    pub async fn room(&self, agent: AgentId, channel: &str) -> Result<RoomId> {
        galatea_web::check_id("the id of a channel", channel)?;
        Ok(room_of(&self.gateway(agent, &SOURCE).await?, channel))
    }

    /// The way in to an agent. Waits a while for one that starts.
    async fn gateway(&self, agent: AgentId, source: &Source) -> Result<Gateway> {
        let orchestrator = self.running()?;
        let until = Instant::now() + STARTS;
        loop {
            match orchestrator.gateway(agent, source) {
                Err(error) if error.kind() == ErrorKind::Unavailable && Instant::now() < until => {
                    sleep(LOOK).await;
                }
                outcome => return outcome,
            }
        }
    }
}

fn room_of(gateway: &Gateway, channel: &str) -> RoomId {
    let remote: RemoteId = room_id(channel);
    RoomId(gateway.agent().swizzle(remote.as_str()))
}
