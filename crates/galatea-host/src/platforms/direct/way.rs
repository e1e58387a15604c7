//! The way to one agent from its own process: a connector without a platform.

use async_trait::async_trait;
use galatea_core::{
    Account, Address, AgentId, Capabilities, Connector, ConnectorInfo, Delivery, Encoded, Error,
    ErrorKind, Finding, Gateway, Health, Outgoing, ReadBack, ReadBackContext, ReadBackResult,
    Receipt, RemoteId, Result, SendHandler, TextUnit,
    settings::{Layer, Origin, Setting},
};
use parking_lot::Mutex;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::message::SOURCE;

/// A Room of this process in which the agent meets others.
#[async_trait]
pub(super) trait Hall: Send + Sync {
    /// A member says something to all others. Saying it again under the same id changes nothing.
    async fn answer(&self, agent: AgentId, id: RemoteId, text: &str) -> Result<()>;
    /// Passes what was said to each member that runs.
    async fn deliver(&self) -> Result<()>;
}

/// Longest text in code points.
const MAX_TEXT: usize = 100_000;

/// The way to one agent from its own process. It outlives restarts of the agent.
pub(crate) struct Direct {
    info: ConnectorInfo,
    gateway: watch::Sender<Option<Gateway>>,
    /// One question at a time in each Room: two at once would get one answer.
    pub(super) asking: Mutex<HashMap<RemoteId, Arc<tokio::sync::Mutex<()>>>>,
    /// Rooms of this process in which the agent meets others, by platform id.
    meetings: Meetings,
}

/// Meeting rooms by platform id.
type Meetings = Arc<Mutex<HashMap<RemoteId, Weak<dyn Hall>>>>;

/// Settings of this platform that hold unless a person sets others: agents of one process may answer
/// each other, up to `BOT_HOP_LIMIT`.
pub(crate) fn defaults() -> Layer {
    let setting = Setting { value: "true".into(), origin: Origin::Default };
    Layer::from(
        ["DIRECT_ALLOW_BOTS", "WEB_ALLOW_BOTS"].map(|name| (name.to_owned(), setting.clone())),
    )
}

impl Direct {
    pub(crate) fn new() -> Arc<Self> {
        let capabilities = Capabilities {
            max_text: MAX_TEXT,
            text_unit: TextUnit::CodePoints,
            edit: false,
            delete: false,
            react: false,
            typing: false,
            buttons: false,
            files: false,
            threads: false,
            read_back: ReadBack::Key,
            public: false,
        };
        Arc::new(Self {
            info: ConnectorInfo {
                source: SOURCE,
                account: Account("local".to_owned()),
                capabilities,
            },
            gateway: watch::Sender::new(None),
            asking: Mutex::default(),
            meetings: Meetings::default(),
        })
    }

    /// The gateway of the running agent; waits while it starts.
    pub(super) async fn open(&self) -> Result<Gateway> {
        let mut gateway = self.gateway.subscribe();
        let open = gateway.wait_for(Option::is_some).await;
        open.ok()
            .and_then(|gateway| gateway.clone())
            .ok_or_else(|| Error::unexpected("the agent was removed"))
    }

    /// Whether the agent's intake and its database answer. Waits while the agent starts.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) async fn probe(&self) -> Result<()> {
        self.open().await?.cursor("probe").await.map(drop)
    }

    /// The gateway, if the agent runs.
    pub(crate) fn gateway(&self) -> Option<Gateway> {
        self.gateway.borrow().clone()
    }

    /// The agent takes part in a meeting from now on, or no longer.
    pub(super) fn meets(&self, room: &RemoteId, meeting: Option<&Arc<dyn Hall>>) {
        let mut meetings = self.meetings.lock();
        meetings.retain(|_, meeting| meeting.strong_count() > 0);
        match meeting {
            Some(meeting) => meetings.insert(room.clone(), Arc::downgrade(meeting)),
            None => meetings.remove(room),
        };
    }

    /// Passes on what the agent missed in its meetings.
    async fn catch_up(&self) {
        let meetings: Vec<_> = self.meetings.lock().values().filter_map(Weak::upgrade).collect();
        for meeting in meetings {
            if let Err(error) = meeting.deliver().await {
                tracing::warn!(error = %error.report(), "failed to pass on what was said in a room while an agent was stopped; the next message of the room tries again");
            }
        }
    }
}

#[async_trait]
impl Connector for Direct {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        Vec::new()
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        let meetings = Arc::clone(&self.meetings);
        gateway.register_send_handler(Arc::new(Sender { agent: gateway.agent().id(), meetings }));
        gateway.report(Health::Up { detail: "this program".to_owned() });
        self.gateway.send_replace(Some(gateway));
        self.catch_up().await;
        stop.cancelled().await;
        self.gateway.send_replace(None);
        Ok(())
    }
}

/// Ends an answer: whoever asked reads it from the store, and the other members of a meeting get it
/// as a message.
struct Sender {
    agent: AgentId,
    meetings: Meetings,
}

#[async_trait]
impl SendHandler for Sender {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        match outgoing {
            Outgoing::Message { content, .. } => Ok(vec![Encoded(json!(content.text))]),
            Outgoing::Typing => Ok(Vec::new()),
            Outgoing::Edit { .. } | Outgoing::Delete { .. } | Outgoing::React { .. } => Err(
                Error::new(ErrorKind::Unsupported, "a question and its answer stay as they are"),
            ),
        }
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        let room = &delivery.address.remote;
        let id = RemoteId::new(format_args!("{}/{}", room.as_str(), delivery.key));
        let meeting = self.meetings.lock().get(room).and_then(Weak::upgrade);
        if let Some(meeting) = meeting {
            let text = delivery.body.0.as_str().unwrap_or_default();
            meeting.answer(self.agent, id.clone(), text).await?;
        }
        Ok(Receipt { id: Some(id), moved_to: None })
    }

    async fn find(&self, _: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        // A message with the same key is the same message to all who get it.
        Ok(ReadBackResult::NotSent)
    }

    async fn typing(&self, _: &Address) -> Result<()> {
        Ok(())
    }
}
