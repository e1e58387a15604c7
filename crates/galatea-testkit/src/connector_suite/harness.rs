//! What a connector's tests provide: a loopback platform and people on it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use galatea_core::{ChannelType, Connector, Media, MediaKind, RemoteId};

/// A loopback platform with one account, and the connector for it. One harness serves one case.
#[async_trait]
pub trait ConnectorHarness: Send + Sync + Sized + 'static {
    /// Starts a fresh platform.
    async fn start() -> Self;

    /// A connector for the platform's account. Asked again for a restart: nothing of the first one
    /// is kept but what the platform and the gateway remember.
    fn connector(&self) -> Arc<dyn Connector>;

    /// Secrets that must appear nowhere.
    fn canaries(&self) -> Vec<String>;

    /// A place with one person in it who has written to the agent before, or whom it may write to.
    /// None when the platform has no such place.
    async fn spot(&self, kind: SpotKind) -> Option<Spot>;

    /// Lets the spot's person say something. Returns the id the connector must report.
    async fn say(&self, spot: &Spot, said: Said) -> RemoteId;

    /// Lets the person change what they said; false when the platform does not tell agents.
    async fn edit(&self, spot: &Spot, id: &RemoteId, text: &str) -> bool;

    /// Lets the person remove what they said; false when the platform does not tell agents.
    async fn delete(&self, spot: &Spot, id: &RemoteId) -> bool;

    /// Lets the person react to a message of the agent; false when the platform does not tell
    /// agents.
    async fn react(&self, spot: &Spot, id: &RemoteId, emoji: &str) -> bool;

    /// Lets the person press the button with this data under a message of the agent.
    async fn press(&self, spot: &Spot, id: &RemoteId, data: &str);

    /// Messages of the agent as people at the spot see them, oldest first; waits until there are at
    /// least `count`.
    async fn shown(&self, spot: &Spot, count: usize) -> Vec<Shown>;

    /// Emoji the agent has set on a message.
    async fn reactions(&self, spot: &Spot, id: &RemoteId) -> Vec<String>;

    /// Whether the agent has been shown typing at the spot.
    async fn typing(&self, spot: &Spot) -> bool;

    /// Orders a fault for the next send to the spot.
    async fn inject(&self, spot: &Spot, fault: PlatformFault);

    /// Cuts the platform off, or connects it again.
    fn set_reachable(&self, reachable: bool);

    /// Delivers everything once more that the connector had already.
    async fn redeliver(&self);

    /// How many events the platform has not been told to forget; none when the platform has no such
    /// thing.
    fn unacknowledged(&self) -> Option<usize>;

    /// Waits until everything is acknowledged.
    async fn wait_acknowledged(&self);

    /// Whether what is said while the connector is away comes when it is back.
    fn queues_while_away(&self) -> bool;

    /// The platform tells the agent only of what mentions it, so the harness adds the mention to
    /// everything.
    fn hears_only_mentions(&self) -> bool {
        false
    }

    /// A file the platform takes, with its bytes.
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

/// Kind of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpotKind {
    /// One person and the agent.
    Direct,
    /// Several people; the agent sees everything.
    Group,
    /// A thread or topic.
    Thread,
}

/// A place with a person in it, in the ids the connector must report.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Which kind.
    pub kind: SpotKind,
    /// The World's id.
    pub world: RemoteId,
    /// The Room's id.
    pub room: RemoteId,
    /// The Room it is a thread of.
    pub parent: Option<RemoteId>,
    /// The kind the connector must report.
    pub channel: ChannelType,
    /// The person's id.
    pub speaker: RemoteId,
    /// The person's display name.
    pub speaker_name: String,
}

/// Something to be said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// The words; the harness adds the mention where `mention` is set.
    pub text: String,
    /// It mentions the agent.
    pub mention: bool,
    /// It replies to this message.
    pub reply_to: Option<RemoteId>,
}

impl Said {
    /// Plain words.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// A message of the agent as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its id, in the form the connector reports ids.
    pub id: RemoteId,
    /// Its text without markup.
    pub text: String,
    /// The pieces of it shown as code; none when the platform cannot show code.
    pub code: Option<Vec<String>>,
    /// The message it replies to.
    pub reply_to: Option<RemoteId>,
    /// Buttons: text, and data or address.
    pub buttons: Vec<Vec<(String, String)>>,
    /// Files: name and bytes.
    pub files: Vec<(String, Bytes)>,
}

/// What goes wrong with the next send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformFault {
    /// Refused for now: wait this long.
    SlowDown(Duration),
    /// The platform fails (5xx); nothing is shown.
    ServerError,
    /// The message is shown, the answer never arrives.
    LostResponse,
    /// Refused for good: the agent may not write there.
    Forbidden,
}
