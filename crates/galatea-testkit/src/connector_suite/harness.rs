//! Interface between the suite and a connector's tests: a loopback platform with people on it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use galatea_core::{ChannelType, Connector, Media, MediaKind, RemoteId};

/// A loopback platform with one account, and the connector for it. Each case uses a harness of its
/// own.
#[async_trait]
pub trait ConnectorHarness: Send + Sync + Sized + 'static {
    /// Starts a fresh platform.
    async fn start() -> Self;

    /// A connector for the platform's account. Called again for a restart: the new connector shares
    /// nothing with the old one but what the platform and the gateway store.
    fn connector(&self) -> Arc<dyn Connector>;

    /// Secrets that must not appear in any output.
    fn canaries(&self) -> Vec<String>;

    /// A spot with one person whom the agent may write to. `None` when the platform has no spot of
    /// this kind.
    async fn spot(&self, kind: SpotKind) -> Option<Spot>;

    /// Makes the spot's person send a message. Returns the id the connector must report.
    async fn say(&self, spot: &Spot, said: Said) -> RemoteId;

    /// Makes the person edit their message; false when the platform does not report edits to
    /// agents.
    async fn edit(&self, spot: &Spot, id: &RemoteId, text: &str) -> bool;

    /// Makes the person delete their message; false when the platform does not report deletions to
    /// agents.
    async fn delete(&self, spot: &Spot, id: &RemoteId) -> bool;

    /// Makes the person react to the agent's message; false when the platform does not report
    /// reactions to agents.
    async fn react(&self, spot: &Spot, id: &RemoteId, emoji: &str) -> bool;

    /// Makes the person press the button with this data under the agent's message.
    async fn press(&self, spot: &Spot, id: &RemoteId, data: &str);

    /// The agent's messages as people at the spot see them, oldest first; waits until there are at
    /// least `count`.
    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown>;

    /// Emoji the agent has set on a message.
    async fn reactions(&self, spot: &Spot, id: &RemoteId) -> Vec<String>;

    /// True if the agent has shown typing at the spot.
    async fn typing(&self, spot: &Spot) -> bool;

    /// Schedules a fault for the next send to the spot.
    async fn inject(&self, spot: &Spot, fault: PlatformFault);

    /// Makes the platform unreachable, or reachable again.
    fn set_reachable(&self, reachable: bool);

    /// Delivers every event again that the connector has already received.
    async fn redeliver(&self);

    /// Number of events the connector has not acknowledged; `None` when the platform has no
    /// acknowledgement.
    fn unacknowledged(&self) -> Option<usize>;

    /// Waits until every event is acknowledged.
    async fn wait_acknowledged(&self);

    /// True if the platform keeps messages for the connector while it is stopped.
    fn queues_while_away(&self) -> bool;

    /// True when the platform reports only messages that mention the agent; the harness then adds
    /// the mention to every message.
    fn hears_only_mentions(&self) -> bool {
        false
    }

    /// A file the platform accepts, with its bytes.
    fn file(&self) -> (Media, Bytes) {
        let media = Media {
            id: "note".into(),
            url: "data:text/plain;base64,aGVsbG8gd29ybGQ=".into(),
            title: "note.txt".into(),
            content_type: MediaKind::Document,
            mime: Some("text/plain".into()),
            size: Some(11),
            ..Media::default()
        };
        (media, Bytes::from_static(b"hello world"))
    }
}

/// Kind of spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpotKind {
    /// A person and the agent.
    Direct,
    /// Several people; the agent sees every message.
    Group,
    /// A thread or topic.
    Thread,
}

/// A place on the platform with one person in it, by the ids the connector must report.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Kind of spot.
    pub kind: SpotKind,
    /// Platform id of the World.
    pub world: RemoteId,
    /// Platform id of the Room.
    pub room: RemoteId,
    /// Platform id of the parent Room, for a thread.
    pub parent: Option<RemoteId>,
    /// Channel type the connector must report.
    pub channel: ChannelType,
    /// Platform id of the person.
    pub speaker: RemoteId,
    /// The person's display name.
    pub speaker_name: String,
}

/// A message for a person to send.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// Text of the message; the harness adds the mention when `mention` is set.
    pub text: String,
    /// True if it mentions the agent.
    pub mention: bool,
    /// Message it replies to.
    pub reply_to: Option<RemoteId>,
}

impl Said {
    /// A message with this text, without mention or reply.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// A message of the agent as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Id of the message, in the form the connector reports.
    pub id: RemoteId,
    /// Text without markup.
    pub text: String,
    /// Parts of the text shown as code; `None` when the platform cannot show code.
    pub code: Option<Vec<String>>,
    /// Message it replies to.
    pub reply_to: Option<RemoteId>,
    /// Rows of buttons: text, and data or URL.
    pub buttons: Vec<Vec<(String, String)>>,
    /// Files: name and bytes.
    pub files: Vec<(String, Bytes)>,
}

/// Fault of the next send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformFault {
    /// Rate limit: the client has to wait this long.
    SlowDown(Duration),
    /// The platform answers 5xx and shows nothing.
    ServerError,
    /// The platform shows the message, but its answer is lost.
    LostResponse,
    /// Final refusal: the agent may not write there.
    Forbidden,
}
