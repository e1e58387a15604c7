//! Parts of answers as readers get them, and why there is none.

use galatea_core::{
    AgentId, Button, Decision, DeliveryId, Media, MemoryId, RoomId, StepOutcome, Timestamp, TurnId,
    Verdict,
    store::{LiveEvent, MESSAGE_DECIDED, MESSAGE_SENT, OutboxItem},
};
use galatea_web::channel_of;

/// Kinds of live events that a conversation consists of.
pub const KINDS: [&str; 2] = [MESSAGE_SENT, MESSAGE_DECIDED];

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

/// An id in a live event.
pub(super) fn id<T: serde::de::DeserializeOwned>(event: &LiveEvent, name: &str) -> Option<T> {
    serde_json::from_value(event.data.get(name)?.clone()).ok()
}
