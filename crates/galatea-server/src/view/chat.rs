//! Messages of a conversation, and the outcome of each.

use galatea_core::{Button, Decision};
use galatea_host::ops::chat::{ChatMessage, Heard, Outcome};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{RoomView, list, word};

/// A message as one agent heard it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeardView {
    /// Id of the message. `galatea explain` takes it, and `/api/v1/messages/{id}`.
    id: Uuid,
    agent: Uuid,
    /// The agent's room.
    room: Uuid,
    /// False if the message was stored before: it is not answered again.
    new: bool,
}

impl From<&Heard> for HeardView {
    fn from(heard: &Heard) -> Self {
        Self { id: heard.memory.0, agent: heard.agent.0, room: heard.room.0, new: heard.new }
    }
}

/// A message that was taken in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Accepted {
    /// Id of the message for the first agent.
    id: Uuid,
    /// The first agent's room.
    room: Uuid,
    /// The channel that the agents share.
    channel: String,
    /// The message as each agent heard it.
    heard: Vec<HeardView>,
}

impl Accepted {
    pub(crate) fn of(channel: &str, heard: &[Heard]) -> Self {
        let first = heard.first();
        Self {
            id: first.map(|heard| heard.memory.0).unwrap_or_default(),
            room: first.map(|heard| heard.room.0).unwrap_or_default(),
            channel: channel.to_owned(),
            heard: heard.iter().map(HeardView::from).collect(),
        }
    }
}

/// A file of an answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct FileView {
    /// Its name.
    name: String,
    /// Its address: `https:` or `data:`.
    url: String,
    /// Its media type, where it is known.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    description: String,
}

/// A committed part of an answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerPart {
    id: Uuid,
    /// The memory that it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Uuid>,
    agent: Uuid,
    room: Uuid,
    channel: String,
    turn: Uuid,
    /// Its number within the turn, from 0.
    part: u32,
    at: i64,
    /// Markdown.
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    actions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<FileView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Vec<Object>>)]
    buttons: Vec<Vec<Button>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<Uuid>,
    /// Such as `offline script`.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

impl From<ChatMessage> for AnswerPart {
    fn from(message: ChatMessage) -> Self {
        let file = |media: galatea_core::Media| FileView {
            name: media.title,
            url: media.url,
            mime: media.mime,
            description: media.description,
        };
        Self {
            id: message.id.0,
            memory: message.memory.map(|id| id.0),
            agent: message.agent.0,
            room: message.room.0,
            channel: message.channel,
            turn: message.turn.0,
            part: message.part,
            at: message.at.0,
            text: message.text,
            actions: message.actions,
            attachments: message.attachments.into_iter().map(file).collect(),
            buttons: message.buttons,
            in_reply_to: message.in_reply_to.map(|id| id.0),
            label: message.label,
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct OutcomeView {
    /// Id of the message.
    id: Uuid,
    agent: Uuid,
    room: Uuid,
    /// `answered`, `silent`, `failed`, or `waiting` if it is not finished yet.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<Uuid>,
    /// `answer`, `skip`, `merged`, `command`, `expired`, `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    /// Why there is no answer, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The parts of the answer, in order.
    messages: Vec<AnswerPart>,
}

impl OutcomeView {
    pub(crate) fn waiting(heard: &Heard) -> Self {
        Self {
            id: heard.memory.0,
            agent: heard.agent.0,
            room: heard.room.0,
            state: "waiting",
            turn: None,
            decision: None,
            reason: None,
            messages: Vec::new(),
        }
    }
}

impl OutcomeView {
    /// The parts were shown already.
    pub(crate) fn without_messages(self) -> Self {
        Self { messages: Vec::new(), ..self }
    }
}

impl From<Outcome> for OutcomeView {
    fn from(outcome: Outcome) -> Self {
        let state = match outcome.decision {
            Decision::Answer | Decision::Command | Decision::Merged => "answered",
            Decision::Skip => "silent",
            Decision::Failed | Decision::Expired => "failed",
        };
        Self {
            state,
            turn: outcome.turn.map(|turn| turn.0),
            decision: Some(word(&outcome.decision)),
            reason: outcome.reason,
            messages: outcome.messages.into_iter().map(AnswerPart::from).collect(),
            ..Self::waiting(&outcome.heard)
        }
    }
}

/// A message, and what became of it at each agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Answered {
    #[serde(flatten)]
    pub(crate) accepted: Accepted,
    pub(crate) answers: Vec<OutcomeView>,
}

/// A conversation of the web.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ChatRoom {
    #[serde(flatten)]
    pub(crate) room: RoomView,
    /// The channel that its agents share.
    pub(crate) channel: String,
}

list!(/// Conversations of the web.
    ChatRoomList of ChatRoom);
