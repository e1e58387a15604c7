//! Requests to a platform, queued parts, and the platform's answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    content::{Button, Content},
    ids::{Account, AgentId, DeliveryId, RemoteId, RoomId, Source, TurnId},
};

/// A request to a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Outgoing {
    /// Say something, in as many parts as the platform needs.
    Message {
        /// Text, attachments and buttons.
        content: Content,
        /// The platform message it answers.
        reply_to: Option<RemoteId>,
    },
    /// Change what was said.
    Edit {
        /// Our message.
        id: RemoteId,
        /// The whole content after the edit.
        content: Content,
    },
    /// Set or take back a reaction.
    React {
        /// The platform's id of the message to react to.
        id: RemoteId,
        /// The emoji; none takes it back.
        emoji: Option<String>,
    },
    /// Deletes a message of the agent on the platform.
    Delete {
        /// The platform's id of the message.
        id: RemoteId,
    },
    /// Show that an answer is being prepared. Never stored, never retried.
    Typing,
}

impl Outgoing {
    /// The request as it may go out: texts without what no reader sees ([`Content::made_visible`]).
    #[must_use]
    pub fn made_visible(self) -> Self {
        match self {
            Self::Message { content, reply_to } => {
                Self::Message { content: content.made_visible(), reply_to }
            }
            Self::Edit { id, content } => Self::Edit { id, content: content.made_visible() },
            other @ (Self::React { .. } | Self::Delete { .. } | Self::Typing) => other,
        }
    }

    /// A message with these buttons and text.
    pub fn ask(text: impl Into<String>, buttons: Vec<Vec<Button>>) -> Self {
        Self::Message { content: Content { buttons, ..Content::text(text) }, reply_to: None }
    }
}

/// A Room, and how its platform is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The platform that delivers it.
    pub source: Source,
    /// Our login on the platform that delivers it.
    pub account: Account,
    /// Our id of the Room.
    pub room: RoomId,
    /// The platform's id of that Room, as its connector wrote it.
    pub remote: RemoteId,
}

/// An outbox row on its way: a part of an answer, already in the platform's own form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// Id of the outbox row; stays the same over all attempts.
    pub id: DeliveryId,
    /// The agent that sends it.
    pub agent: AgentId,
    /// The turn it belongs to; unique together with `part`.
    pub turn: TurnId,
    /// Number of this part, from 0.
    pub part: u32,
    /// The Room that it goes to.
    pub address: Address,
    /// Idempotency key: at most 22 characters of base62, stable over retries.
    pub key: String,
    /// Body to send, from [`crate::SendHandler::encode`].
    pub body: Encoded,
    /// Attempts made before this one.
    pub attempt: u32,
    /// Time of the row's commit.
    pub created_at: Timestamp,
    /// The platform's id of the previous part, if known: an answer in several parts continues
    /// there. Set for each attempt, not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<RemoteId>,
}

/// A platform's own form of one part. Only its connector interprets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Encoded(pub Value);

/// Answer of the platform to a [`Delivery`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The platform's id of what was sent, in the form incoming ids have.
    pub id: Option<RemoteId>,
    /// Set when the platform says that the room has moved; the delivery went to the new one.
    pub moved_to: Option<RemoteId>,
}

/// Stored surroundings of a delivery whose outcome is unknown: where a read-back has to look, and
/// what it need not take for the lost one.
///
/// A platform that shows a Room's newest messages is read like this:
///
/// ```
/// use galatea_core::{ReadBackContext, ReadBackResult, Receipt, RemoteId};
///
/// /// `page` is what the Room shows, newest first, each with its text.
/// fn find(page: &[(RemoteId, &str)], sent: &str, context: &ReadBackContext) -> ReadBackResult {
///     for (id, text) in page {
///         // Older than the delivery: all that followed was looked at.
///         if context.sent.contains(id) || context.received.contains(id) {
///             return ReadBackResult::NotSent;
///         }
///         if *text == sent && !context.ours.contains(id) {
///             return ReadBackResult::Sent(Receipt { id: Some(id.clone()), moved_to: None });
///         }
///     }
///     ReadBackResult::Unknown
/// }
///
/// let context = ReadBackContext { received: vec![RemoteId::new(6)], ..Default::default() };
/// let page = [(RemoteId::new(8), "hello"), (RemoteId::new(6), "are you there?")];
/// assert!(matches!(find(&page, "hello", &context), ReadBackResult::Sent(_)));
/// assert_eq!(find(&page[1..], "hello", &context), ReadBackResult::NotSent);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBackContext {
    /// The newest messages received in the Room before the delivery was committed, newest first.
    pub received: Vec<RemoteId>,
    /// Messages sent to the Room before it, newest first.
    pub sent: Vec<RemoteId>,
    /// Messages of ours around it on this account, in any Room, whose outcome is known.
    pub ours: Vec<RemoteId>,
    /// Messages received on this account about then and lately, in any Room: where several Rooms
    /// share one count of messages, these lie between.
    pub others: Vec<RemoteId>,
    /// Rooms of this account in which another delivery's outcome is unknown; its own Room once for
    /// each earlier one that came to no clear end.
    pub outcome_unknown: Vec<RemoteId>,
    /// True if more was sent since than is listed here.
    pub cut: bool,
}

/// Result of a read-back of an ambiguous delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadBackResult {
    /// The platform has the message, so it is not sent again.
    Sent(Receipt),
    /// It is provably not there.
    NotSent,
    /// The platform gives no way to tell.
    Unknown,
}
