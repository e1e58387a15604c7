//! Conversations within this process: the program that contains an agent asks it, and waits for the
//! answer.

use async_trait::async_trait;
use galatea_core::{
    Account, Address, Addressed, Batch, Capabilities, ChannelType, Connection, Connector,
    ConnectorInfo, Content, Decision, Delivery, Encoded, EntityRef, Error, ErrorKind, Event,
    EventBus, Finding, Gateway, Health, Incoming, IncomingEvent, IncomingMessage, MemoryId,
    Outgoing, ReadBack, ReadBackContext, ReadBackResult, Receipt, RemoteId, Result, Role, RoomRef,
    SendHandler, Source, TextUnit, TurnId, WorldRef,
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::{Notify, broadcast::error::RecvError, watch};
use tokio_util::sync::CancellationToken;

/// The platform's name in addresses and settings (`DIRECT_DM_POLICY`, …).
const SOURCE: Source = Source::new("direct");
/// The person who asks. Ids are hashed without the platform's name, so it names the platform.
const PERSON: &str = "direct-owner";
/// Longest text in code points.
const MAX_TEXT: usize = 100_000;
/// Turns whose texts are kept for a question that has not ended. Those of nobody's question, such
/// as a message that the agent sends by itself, are dropped after as many others.
const KEPT: usize = 64;

/// The way to one agent from its own process. It outlives restarts of the agent.
pub(crate) struct Direct {
    info: ConnectorInfo,
    gateway: watch::Sender<Option<Gateway>>,
    shown: Arc<Shown>,
    /// One question at a time: the conversation is one Room, and two questions in it would get one
    /// answer.
    asking: tokio::sync::Mutex<()>,
}

/// Texts that the agent sent, by turn and number of the part.
#[derive(Default)]
struct Shown {
    texts: Mutex<BTreeMap<TurnId, BTreeMap<u32, String>>>,
    changed: Notify,
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
            shown: Arc::default(),
            asking: tokio::sync::Mutex::default(),
        })
    }

    /// Says `text` to the agent as its owner, and returns what it answers, parts separated by line
    /// breaks.
    ///
    /// # Errors
    /// `Timeout` if there is no answer `within` that time, `Unsupported` if the agent decides not to
    /// answer, and the failure of its turn.
    pub(crate) async fn ask(
        &self,
        text: &str,
        events: &EventBus,
        within: Duration,
    ) -> Result<String> {
        let asked = async {
            let _alone = self.asking.lock().await;
            let gateway = self.open().await?;
            // Before the question: no event of its turn is missed.
            let mut events = events.subscribe();
            let (incoming, memory) = question(&gateway, text);
            gateway.receive(Batch { events: vec![incoming], ..Batch::default() }).await?;
            let (turn, parts) = decided(&mut events, memory).await?;
            self.shown.take(turn, parts).await
        };
        tokio::time::timeout(within, asked).await.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Timeout, "the agent did not answer in time"))
        })
    }

    /// The gateway of the running agent; waits while it starts.
    async fn open(&self) -> Result<Gateway> {
        let mut gateway = self.gateway.subscribe();
        let open = gateway.wait_for(Option::is_some).await;
        open.ok()
            .and_then(|gateway| gateway.clone())
            .ok_or_else(|| Error::unexpected("the agent was removed"))
    }
}

/// The question as a message, and the id that it is stored under.
fn question(gateway: &Gateway, text: &str) -> (Incoming, MemoryId) {
    let id = RemoteId::new(format_args!("{PERSON}/{}", MemoryId::fresh()));
    let memory = MemoryId(gateway.agent().swizzle(id.as_str()));
    let who = RemoteId::new(PERSON);
    let connection = Connection {
        world: WorldRef {
            roles: vec![(who.clone(), Role::Owner)],
            ..WorldRef::new(RemoteId::new("direct"), Some("This program".to_owned()))
        },
        room: RoomRef::new(who.clone(), Some("This program".to_owned()), ChannelType::Dm),
        entity: Some(EntityRef {
            metadata: Map::new(),
            ..EntityRef::new(who, Some("owner".to_owned()), Some("owner".to_owned()))
        }),
    };
    let message = IncomingMessage {
        id,
        legacy_id: None,
        content: Content { source: Some(SOURCE.as_str().to_owned()), ..Content::text(text) },
        addressed: Addressed::default(),
        reply_to: None,
        command: None,
        from_self: false,
    };
    let at = gateway.clock().now();
    (Incoming { connection, event: IncomingEvent::Message(message), at }, memory)
}

/// Waits until the turn of a message has ended; returns it and the number of its parts.
async fn decided(
    events: &mut galatea_core::event::EventReceiver,
    asked: MemoryId,
) -> Result<(TurnId, u32)> {
    let (mut ours, mut failed) = (None, None);
    loop {
        match events.recv().await {
            Ok(Event::TurnDecided { memory, turn, decision, .. }) if memory == asked => {
                if let Some((_, reason)) = failed.filter(|(failed, _)| *failed == turn) {
                    return Err(Error::new(ErrorKind::Unavailable, "the agent could not answer")
                        .with("cause", reason));
                }
                failed = None;
                if !matches!(decision, Decision::Answer | Decision::Command) {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "the agent does not answer this",
                    )
                    .with("decision", format!("{decision:?}")));
                }
                ours = Some(turn);
            }
            Ok(Event::TurnFailed { turn, reason, .. }) => failed = Some((turn, reason)),
            Ok(Event::TurnFinished { turn, parts, .. }) if ours == Some(turn) => {
                return Ok((turn, parts));
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Err(Error::unexpected("the agents have stopped")),
        }
    }
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<TurnId, BTreeMap<u32, String>>> {
        self.texts.lock()
    }

    fn show(&self, turn: TurnId, part: u32, text: String) {
        let mut texts = self.lock();
        texts.entry(turn).or_default().insert(part, text);
        while texts.len() > KEPT {
            texts.pop_first();
        }
        drop(texts);
        self.changed.notify_waiters();
    }

    /// Waits until all parts of a turn were sent.
    async fn take(&self, turn: TurnId, parts: u32) -> Result<String> {
        loop {
            // Listens before it looks, so that no part is missed in between.
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut texts = self.lock();
                let shown = texts.get(&turn).map_or(0, BTreeMap::len);
                if shown >= usize::try_from(parts).unwrap_or(usize::MAX) {
                    let texts = texts.remove(&turn).unwrap_or_default();
                    return Ok(texts.into_values().collect::<Vec<_>>().join("\n"));
                }
            }
            changed.await;
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
        gateway.register_send_handler(Arc::new(Sender(Arc::clone(&self.shown))));
        gateway.report(Health::Up { detail: "this program".to_owned() });
        self.gateway.send_replace(Some(gateway));
        stop.cancelled().await;
        self.gateway.send_replace(None);
        Ok(())
    }
}

struct Sender(Arc<Shown>);

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
        let text = delivery.body.0.as_str().unwrap_or_default().to_owned();
        self.0.show(delivery.turn, delivery.part, text);
        Ok(Receipt {
            id: Some(RemoteId::new(format_args!("{PERSON}/{}", delivery.key))),
            moved_to: None,
        })
    }

    async fn find(&self, _: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        Ok(ReadBackResult::Unknown)
    }

    async fn typing(&self, _: &Address) -> Result<()> {
        Ok(())
    }
}
