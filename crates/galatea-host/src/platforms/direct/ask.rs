//! Asks an agent: stores the question as a message, follows its turn, and reads the answer from the
//! outbox. Events only say when to look; what was answered is read from the store, so that an event
//! that was missed loses no answer.

use galatea_core::{
    Addressed, Batch, ChannelType, Connection, Content, Decision, EntityRef, Error, ErrorKind,
    Event, EventBus, Gateway, Incoming, IncomingEvent, IncomingMessage, MemoryId, RemoteId, Result,
    Role, RoomRef, Store, TurnId, WorldRef,
    event::{Draft, EventReceiver},
    store::InboxState,
};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    message::{Answer, Message, Piece, SOURCE, person_id, room_id},
    way::Direct,
};

/// Pause between two looks at a message whose events may have been missed.
const LOOK: Duration = Duration::from_secs(1);

/// What a question needs beside the agent.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) events: EventBus,
    /// How long an answer may take.
    pub(crate) patience: Duration,
    /// The caller reads the answer while it is written.
    pub(crate) drafts: bool,
}

/// A message as it is stored, and where.
pub(super) struct Question {
    pub(super) incoming: Incoming,
    pub(super) memory: MemoryId,
    pub(super) room: RemoteId,
}

impl Direct {
    /// Says something to the agent, tells each step, and returns the answer.
    ///
    /// # Errors
    /// `Timeout` if there is no answer in time, `Unsupported` if the agent decides not to answer,
    /// and the failure of its turn.
    pub(crate) async fn ask(
        &self,
        message: &Message,
        asked: &Asked,
        tell: &mut (dyn FnMut(Piece) + Send),
    ) -> Result<Answer> {
        let room = room_of(message);
        let turn = Arc::clone(self.asking.lock().entry(room.clone()).or_default());
        let outcome = tokio::time::timeout(asked.patience, async {
            let _alone = turn.lock().await;
            self.asked(message, asked, tell).await
        });
        let outcome = outcome.await;
        drop(turn);
        // A Room in which nobody waits is not kept in memory.
        self.asking.lock().retain(|_, turn| Arc::strong_count(turn) > 1);
        outcome.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Timeout, "the agent did not answer in time"))
        })
    }

    async fn asked(
        &self,
        message: &Message,
        asked: &Asked,
        tell: &mut (dyn FnMut(Piece) + Send),
    ) -> Result<Answer> {
        let gateway = self.open().await?;
        // Before the question: no event of its turn is missed.
        let events = asked.events.subscribe();
        let drafts = asked.drafts.then(|| asked.events.drafts());
        let Question { incoming, memory, room } = question(&gateway, message);
        gateway.receive(Batch { events: vec![incoming], ..Batch::default() }).await?;
        let room_id = galatea_core::RoomId(gateway.agent().swizzle(room.as_str()));
        let turn = followed((events, drafts), &*asked.store, memory, room_id, tell).await?;
        let parts: Vec<String> = asked
            .store
            .deliveries_of(turn)
            .await?
            .into_iter()
            .filter(|item| item.delivery.address.remote == room)
            .filter_map(|item| Some(item.delivery.body.0.as_str()?.to_owned()))
            .collect();
        parts.iter().for_each(|part| tell(Piece::Text(part.clone())));
        Ok(Answer { text: parts.join("\n"), parts, turn, question: memory })
    }
}

/// Platform id of the Room that a message is said in.
fn room_of(message: &Message) -> RemoteId {
    match &message.room {
        Some(room) => room_id(room),
        None => person_id(&message.person),
    }
}

/// The message with its surroundings, and the id that it is stored under.
fn question(gateway: &Gateway, message: &Message) -> Question {
    let room = room_of(message);
    let own = message.id.clone().unwrap_or_else(|| MemoryId::fresh().to_string());
    let id = RemoteId::new(format_args!("{}/{own}", room.as_str()));
    let memory = MemoryId(gateway.agent().swizzle(id.as_str()));
    let who = person_id(&message.person);
    let (world, kind, name) = match &message.room {
        Some(name) => (room.clone(), ChannelType::Group, name.clone()),
        None => (room.clone(), ChannelType::Dm, message.person.name.clone()),
    };
    let roles = if message.person.owner { vec![(who.clone(), Role::Owner)] } else { Vec::new() };
    let connection = Connection {
        world: WorldRef { roles, ..WorldRef::new(world, Some(name.clone())) },
        room: RoomRef::new(room.clone(), Some(name), kind),
        entity: Some(EntityRef::new(
            who,
            Some(message.person.name.clone()),
            Some(message.person.id.clone()),
        )),
    };
    let content =
        Content { source: Some(SOURCE.as_str().to_owned()), ..Content::text(&message.text) };
    let incoming = IncomingMessage {
        id,
        legacy_id: None,
        content,
        // Whoever calls the agent by this program means it.
        addressed: Addressed { mention: message.room.is_some() && !message.aside, reply: false },
        reply_to: None,
        command: None,
        from_self: false,
    };
    let at = gateway.clock().now();
    let event = IncomingEvent::Message(incoming);
    Question { incoming: Incoming { connection, event, at }, memory, room }
}

/// Follows the turn of a message until it is committed; returns the turn.
async fn followed(
    (mut events, mut drafts): (EventReceiver, Option<Receiver<Draft>>),
    store: &dyn Store,
    asked: MemoryId,
    room: galatea_core::RoomId,
    tell: &mut (dyn FnMut(Piece) + Send),
) -> Result<TurnId> {
    let mut failures: HashMap<TurnId, String> = HashMap::new();
    // The turn of this Room that is under way: turns of a Room run one after another.
    let mut current = None;
    // The message may be finished already: it was said before.
    if let Some(turn) = stored(store, asked, &failures).await? {
        return Ok(turn);
    }
    loop {
        let event = tokio::select! {
            biased;
            event = tokio::time::timeout(LOOK, events.recv()) => event,
            draft = next(&mut drafts) => {
                if let Ok(draft) = draft && draft.room == room {
                    tell(Piece::Draft(draft.text.to_string()));
                }
                continue;
            }
        };
        let event = match event {
            Ok(Ok(event)) => event,
            Ok(Err(RecvError::Closed)) => {
                return Err(Error::unexpected("the agents have stopped"));
            }
            // An event may be missing.
            Ok(Err(RecvError::Lagged(_))) | Err(_) => {
                match stored(store, asked, &failures).await? {
                    Some(turn) => return Ok(turn),
                    None => continue,
                }
            }
        };
        match event {
            Event::TurnStarted { turn, room: there, .. } if there == room => {
                current = Some(turn);
                tell(Piece::Thinking);
            }
            Event::ActionStarted { turn, action, .. } if current == Some(turn) => {
                tell(Piece::ToolStarted { name: action });
            }
            Event::ActionCompleted { turn, action, success, .. } if current == Some(turn) => {
                tell(Piece::ToolEnded { name: action, success });
            }
            Event::TurnFailed { turn, room: there, reason, .. } if there == room => {
                failures.insert(turn, reason);
            }
            Event::TurnDecided { memory, .. } if memory == asked => {
                if let Some(turn) = stored(store, asked, &failures).await? {
                    return Ok(turn);
                }
            }
            _ => {}
        }
    }
}

/// The next draft. A reader that missed some goes on.
async fn next(drafts: &mut Option<Receiver<Draft>>) -> std::result::Result<Draft, RecvError> {
    match drafts {
        Some(drafts) => drafts.recv().await,
        None => std::future::pending().await,
    }
}

/// The turn that finished a message; none while it waits.
async fn stored(
    store: &dyn Store,
    asked: MemoryId,
    failures: &HashMap<TurnId, String>,
) -> Result<Option<TurnId>> {
    let Some(item) = store.inbox_item(asked).await? else { return Ok(None) };
    if item.state == InboxState::New {
        return Ok(None);
    }
    let decision = item.verdict.map(|verdict| verdict.decision);
    if let Some(reason) = item.turn.and_then(|turn| failures.get(&turn)) {
        return Err(
            Error::new(ErrorKind::Unavailable, "the agent could not answer").with("cause", reason)
        );
    }
    match (item.state, decision, item.turn) {
        (
            InboxState::Done,
            Some(Decision::Answer | Decision::Command | Decision::Merged),
            Some(turn),
        ) => Ok(Some(turn)),
        (InboxState::Dead, ..) => {
            Err(Error::new(ErrorKind::Unavailable, "the agent could not answer"))
        }
        (_, decision, _) => {
            Err(Error::new(ErrorKind::Unsupported, "the agent does not answer this")
                .with("decision", format!("{decision:?}")))
        }
    }
}
