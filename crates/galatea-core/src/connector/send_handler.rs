//! The outbound side of a platform, with what it is able to do.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    connector::send_permit::SendPermit,
    content::Media,
    error::{Error, Result},
    ids::{Account, RemoteId, Source},
    message::{Address, Delivery, Encoded, Outgoing, ReadBackContext, ReadBackResult, Receipt},
    split::Weight,
};

/// The outbound side of a platform, for one account. Registered by
/// [`crate::Gateway::register_send_handler`]; the [crate's guide](crate#a-connector) has a whole
/// one. Methods run at the same time for several Rooms; deliveries of one Room come one after
/// another. Most of the work is [`Self::encode`], which cuts an answer into what fits one call:
///
/// ```
/// use galatea_core::{Encoded, Error, Outgoing, Result, TextUnit, split};
/// use serde_json::json;
///
/// fn encode(outgoing: &Outgoing) -> Result<Vec<Encoded>> {
///     let weight = TextUnit::Utf16.weight().ok_or_else(|| Error::unexpected("no weight"))?;
///     match outgoing {
///         Outgoing::Message { content, .. } => Ok(split::fenced(&content.text, 2_000, weight)
///             .into_iter()
///             .map(|piece| Encoded(json!({ "text": piece.text })))
///             .collect()),
///         Outgoing::Typing => Ok(Vec::new()),
///         _ => Err(Error::invalid("this platform shows new messages only")),
///     }
/// }
///
/// let long = galatea_core::Content::text("A sentence.\n\n".repeat(300));
/// let parts = encode(&Outgoing::Message { content: long, reply_to: None })?;
/// assert_eq!(parts.len(), 2);
/// # Ok::<(), Error>(())
/// ```
#[async_trait]
pub trait SendHandler: Send + Sync {
    /// Splits and renders for the platform. Called while a turn is committed, before its deliveries
    /// exist. Pure: no I/O, same result for the same input; each result fits one call. Typing
    /// encodes to nothing when the platform cannot show it.
    ///
    /// # Errors
    /// `Invalid` or `Unsupported` for what the platform cannot show.
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>>;

    /// True if whoever is written to reads the answer from the store: it is delivered by the commit, by
    /// any process, and nothing is sent. Such a platform has no login, and every process takes its
    /// messages in. Called for each answer. Pure.
    fn delivers_by_commit(&self) -> bool {
        false
    }

    /// Priority of a call when calls compete for a rate limit. Called before each attempt. Pure;
    /// decided by what [`Self::encode`] wrote.
    fn priority(&self, _: &Encoded) -> Priority {
        Priority::Answer
    }

    /// Makes one attempt to send. Never retries by itself. Every handler implements this method or
    /// [`Self::send_with`]; each calls the other where only that one is written. Called once per
    /// attempt, after the attempt was stored.
    ///
    /// # Errors
    /// A rate limit is `RateLimited` with `Retry::After`. [`crate::error::Sent`] states whether the
    /// platform may have done it, and must be accurate: the runtime resends what is `No` and reads
    /// back what is `Maybe`.
    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        self.send_with(delivery, &SendPermit::always()).await
    }

    /// The method the runtime calls, once per attempt, after the attempt was stored. A platform
    /// that would show a repeated send twice implements it in place of [`Self::send`]: it checks
    /// the permit when the bytes go out, and sends nothing once the permit is withdrawn. Called
    /// once per attempt.
    async fn send_with(&self, delivery: &Delivery, _permit: &SendPermit) -> Result<Receipt> {
        self.send(delivery).await
    }

    /// Reads back whether a delivery with an unknown outcome arrived. Called after an attempt ended
    /// with `Sent::Maybe`, and for deliveries that a crash interrupted, when the platform's
    /// [`Capabilities::read_back`] is [`ReadBack::Find`].
    async fn find(&self, delivery: &Delivery, context: &ReadBackContext) -> Result<ReadBackResult>;

    /// Why nothing can be said there in answer to this message, as far as that is known without
    /// asking the platform: a permission that is missing, money that is spent. Asked before a model
    /// is; the message is then skipped, and its verdict carries message, code and fix. Pure but for
    /// the clock.
    fn barred(&self, _: &Address, _: &RemoteId) -> Option<Error> {
        None
    }

    /// Shows that an answer is being prepared. Called every few seconds until the answer is
    /// committed.
    async fn typing(&self, address: &Address) -> Result<()>;

    /// The account's user name, without `@`. Called for each prompt. None where there is none, or
    /// it is not known yet. Pure.
    fn handle(&self) -> Option<String> {
        None
    }

    /// True if the platform shows that an answer to this message is coming (`is thinking…`). Called
    /// for each message that may be answered. Its answer is then a reply to it, or
    /// [`Self::unanswered`] is called. Pure.
    fn awaits(&self, _: &RemoteId) -> bool {
        false
    }

    /// Ends the sign that an answer is coming. Called when a message that [`Self::awaits`] an
    /// answer gets none, with the reason. Tried once; nothing is lost when it fails.
    async fn unanswered(&self, _: &Address, _: &RemoteId, _why: &str) -> Result<()> {
        Ok(())
    }

    /// Marks the buttons of a message as used. Called when a press of one was carried out that is not to be
    /// pressed again. Tried once; nothing is lost when it fails.
    async fn used(&self, _: &Address, _press: &RemoteId) -> Result<()> {
        Ok(())
    }

    /// Asks if the platform lets this person write there now: they have not left, are not banned,
    /// muted or restricted. Called before the agent says something there in their name. With
    /// [`Speak::Unknown`] nothing is said.
    async fn may_speak(&self, _: &Address, _person: &RemoteId) -> Result<Speak> {
        Ok(Speak::Unknown)
    }

    /// Downloads a file of a received message whose address only this connector can open. Called
    /// when a turn looks at the file. At most `limit` bytes.
    ///
    /// # Errors
    /// `TooLong` for a larger file.
    async fn fetch(&self, media: &Media, limit: usize) -> Result<Vec<u8>> {
        Err(Error::invalid("this platform's files cannot be downloaded")
            .with("attachment", &media.id)
            .with("limit", limit))
    }
}

/// The right of a person to say something in a place ([`SendHandler::may_speak`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speak {
    /// The platform lets them write there.
    Yes,
    /// The platform does not let them write there.
    No,
    /// The platform cannot tell.
    Unknown,
}

/// Order of calls that compete for a platform's allowance, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Words of the agent: answers, and messages to other Rooms.
    Answer,
    /// A button press or a command is acknowledged; a file is fetched.
    Callback,
    /// A message is changed or removed, a reaction set.
    Change,
    /// Typing is shown. Worthless a moment later: dropped when it would have to wait.
    Typing,
}

/// Description of a connector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorInfo {
    /// The platform that the account is on.
    pub source: Source,
    /// Our login on the platform.
    pub account: Account,
    /// Abilities of the connector; tests choose their cases by it.
    pub capabilities: Capabilities,
}

/// Abilities of a platform. Shared tests choose their cases by it; prompts state the limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Longest text of one message, in `text_unit`s.
    pub max_text: usize,
    /// The unit of `max_text`.
    pub text_unit: TextUnit,
    /// A message can be changed afterwards.
    pub edit: bool,
    /// A message can be removed.
    pub delete: bool,
    /// Reactions can be set.
    pub react: bool,
    /// Typing can be shown.
    pub typing: bool,
    /// Buttons can be shown.
    pub buttons: bool,
    /// Files can be sent.
    pub files: bool,
    /// Rooms can have threads or topics.
    pub threads: bool,
    /// An ambiguous send can be resolved.
    pub read_back: ReadBack,
    /// Strangers see what is said here: the offline script is off unless opted in.
    pub public: bool,
}

/// Unit of a length limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextUnit {
    /// UTF-16 code units.
    Utf16,
    /// Unicode code points.
    CodePoints,
    /// Bytes of UTF-8, as protocols of lines count (IRC, RFC 2812 §2.3).
    Bytes,
    /// X's weighted length, which counts links and emoji as wholes.
    Weighted,
}

impl TextUnit {
    /// Weight of a character, for [`crate::split`]; none where a character has no weight of its
    /// own.
    pub fn weight(self) -> Option<Weight> {
        match self {
            Self::Utf16 => Some(char::len_utf16),
            Self::CodePoints => Some(|_| 1),
            Self::Bytes => Some(char::len_utf8),
            Self::Weighted => None,
        }
    }
}

/// Way to resolve an ambiguous send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBack {
    /// The platform accepts a key and never sends twice.
    Key,
    /// [`SendHandler::find`] reads messages back from the platform.
    Find,
    /// The platform cannot be asked: a lost answer stays unknown.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Timestamp,
        ids::{AgentId, DeliveryId, RoomId, TurnId},
    };

    /// A handler of a platform that shows doubles: it has `send_with` in place of `send`.
    struct Careful;

    #[async_trait]
    impl SendHandler for Careful {
        fn encode(&self, _: &Outgoing) -> Result<Vec<Encoded>> {
            Ok(Vec::new())
        }
        async fn send_with(&self, _: &Delivery, permit: &SendPermit) -> Result<Receipt> {
            if permit.is_valid() {
                Err(Error::invalid("sent"))
            } else {
                Err(Error::invalid("held"))
            }
        }
        async fn find(&self, _: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
            Ok(ReadBackResult::Unknown)
        }
        async fn typing(&self, _: &Address) -> Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn send_with_may_be_written_in_place_of_send() {
        let source = Source::new("x");
        let address = Address {
            source,
            account: Account("1".into()),
            room: RoomId::fresh(),
            remote: RemoteId::new(1),
        };
        let delivery = Delivery {
            id: DeliveryId::fresh(),
            agent: AgentId::fresh(),
            turn: TurnId::fresh(),
            part: 0,
            address,
            key: String::new(),
            body: Encoded(serde_json::Value::Null),
            attempt: 0,
            created_at: Timestamp(0),
            previous: None,
        };
        let said = |outcome: Result<Receipt>| outcome.unwrap_err().message().to_owned();
        assert_eq!(said(Careful.send(&delivery).await), "sent");
        assert_eq!(
            said(Careful.send_with(&delivery, &SendPermit::while_true(|| false)).await),
            "held"
        );
    }

    #[test]
    fn every_unit_weighs_what_its_platforms_count() {
        let weights =
            |unit: TextUnit| unit.weight().map(|weight| ['a', 'é', '日', '😀'].map(weight));
        assert_eq!(weights(TextUnit::Utf16), Some([1, 1, 1, 2]));
        assert_eq!(weights(TextUnit::CodePoints), Some([1; 4]));
        assert_eq!(weights(TextUnit::Bytes), Some([1, 2, 3, 4]));
        assert_eq!(weights(TextUnit::Weighted), None);
        assert_eq!(serde_json::to_value(TextUnit::Bytes).unwrap(), "bytes");
    }
}
