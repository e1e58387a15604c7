//! Conversations over the program's own ways in: the API, sockets, the chat script of a page, clients of
//! other interfaces. A message is stored like that of any platform, under the source `web`; its answers are
//! read from the store, in any process. Whoever calls decides who may speak as whom.

mod ask;
mod follow;
mod relay;
mod say;

use galatea_core::{
    AgentId, Button, Clock, Decision, DeliveryId, Error, ErrorKind, Media, MemoryId, Result,
    RoomId, StepOutcome, Store, Timestamp, TurnId, Verdict,
    store::{LiveEvent, MESSAGE_DECIDED, MESSAGE_SENT, OutboxItem},
};
use galatea_runtime::Orchestrator;
use std::sync::Arc;
use tokio::task::JoinHandle;

use super::{Ops, live::Live};

pub use ask::{Outcome, Waiting};
pub use follow::{ChatEvent, ChatFollower};
pub use galatea_web::{Channel, Said, Speaker, channel_of, person_id, room_id};
pub use say::Heard;

/// The platform's name in addresses and settings.
pub use galatea_web::{SOURCE, VISITORS};

/// Kinds of live events that a conversation consists of.
pub const KINDS: [&str; 2] = [MESSAGE_SENT, MESSAGE_DECIDED];

/// Conversations of this process's agents.
pub struct Chat {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    orchestrator: Option<Arc<Orchestrator>>,
    live: Arc<Live>,
    relay: Option<JoinHandle<()>>,
}

impl Drop for Chat {
    fn drop(&mut self) {
        self.relay.iter().for_each(JoinHandle::abort);
    }
}

/// A part of an answer, as readers get it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Its id: that of the outbox row.
    pub id: DeliveryId,
    /// The memory that it shows.
    pub memory: Option<MemoryId>,
    /// The agent that said it.
    pub agent: AgentId,
    /// The agent's Room.
    pub room: RoomId,
    /// The channel of that Room.
    pub channel: String,
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// Its number within the turn, from 0.
    pub part: u32,
    /// Time of its commit.
    pub at: Timestamp,
    /// The words, as Markdown.
    pub text: String,
    /// Names of actions.
    pub actions: Vec<String>,
    /// Files and links.
    pub attachments: Vec<Media>,
    /// Rows of buttons.
    pub buttons: Vec<Vec<Button>>,
    /// The message that it answers, where the agent names one.
    pub in_reply_to: Option<MemoryId>,
    /// Words that stand beside it, such as `offline script`.
    pub label: Option<String>,
}

impl ChatMessage {
    /// Reads an outbox row; none for one of another platform, or whose words were deleted.
    pub fn of(item: OutboxItem) -> Option<Self> {
        let delivery = item.delivery;
        let channel = channel_of(&delivery.address.remote)?.to_owned();
        let body = galatea_web::read(&delivery.body)?;
        Some(Self {
            id: delivery.id,
            memory: item.memory,
            agent: delivery.agent,
            room: delivery.address.room,
            channel,
            turn: delivery.turn,
            part: delivery.part,
            at: delivery.created_at,
            text: body.text,
            actions: body.actions,
            attachments: body.attachments,
            buttons: body.buttons,
            in_reply_to: body.in_reply_to,
            label: body.label,
        })
    }
}

/// Why there is no answer, in a sentence; none where there is one.
pub fn reason(verdict: &Verdict) -> Option<String> {
    let step = |outcome: StepOutcome| {
        let found = verdict.steps.iter().rev().find(|step| step.outcome == outcome);
        found.map(|step| step.reason.clone().into_owned())
    };
    match verdict.decision {
        Decision::Answer | Decision::Command => None,
        Decision::Merged => Some("it is answered together with what was said after it".to_owned()),
        Decision::Expired => Some("its turn came too late".to_owned()),
        Decision::Failed => {
            Some(step(StepOutcome::Failed).unwrap_or_else(|| "no answer could be made".to_owned()))
        }
        Decision::Skip => {
            Some(step(StepOutcome::Skip).unwrap_or_else(|| "there is nothing to say".to_owned()))
        }
    }
}

impl Chat {
    /// Conversations of the agents that `ops` has, and the passing on of answers to the other agents of
    /// their channels, for as long as it lives.
    pub fn start(ops: &Ops, live: &Arc<Live>) -> Arc<Self> {
        let (store, clock) = (Arc::clone(&ops.store), Arc::clone(&ops.clock));
        let mut chat = Self {
            store,
            clock,
            orchestrator: ops.orchestrator.clone(),
            live: Arc::clone(live),
            relay: None,
        };
        if let Some(orchestrator) = &ops.orchestrator {
            let (store, live) = (Arc::clone(&chat.store), Arc::clone(live));
            let relay = relay::run(store, Arc::downgrade(orchestrator), live);
            chat.relay = Some(tokio::spawn(relay));
        }
        Arc::new(chat)
    }

    fn running(&self) -> Result<&Arc<Orchestrator>> {
        self.orchestrator
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, "no agents run in this process"))
    }

    /// Ids and names of this process's agents.
    pub fn personas(&self) -> Vec<(AgentId, String)> {
        self.orchestrator.as_ref().map(|all| all.agents()).unwrap_or_default()
    }

    /// The parts of a turn's answer in a Room, in order.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn messages_of(&self, turn: TurnId, room: RoomId) -> Result<Vec<ChatMessage>> {
        let items = self.store.deliveries_of(turn).await?.into_iter();
        Ok(items.filter_map(ChatMessage::of).filter(|message| message.room == room).collect())
    }
}

/// An id in a live event.
fn id<T: serde::de::DeserializeOwned>(event: &LiveEvent, name: &str) -> Option<T> {
    serde_json::from_value(event.data.get(name)?.clone()).ok()
}
