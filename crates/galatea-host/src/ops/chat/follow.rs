//! Follows conversations: answers and decisions as they are committed, drafts as they are written.

use galatea_core::{
    AgentId, Decision, DeliveryId, Event, MemoryId, Result, RoomId, TurnId,
    event::{Draft, EventReceiver},
    model::Usage,
    store::{LiveEvent, MESSAGE_DECIDED, MESSAGE_SENT, OperatorRole},
};
use std::{collections::BTreeMap, future::pending, sync::Arc};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    super::{
        Operator,
        live::{Followed, Follower},
    },
    message::{ChatMessage, id, reason},
    state::Chat,
};

/// What happens in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// An agent began to think. Of this process only.
    Thinking {
        /// The agent.
        agent: AgentId,
        /// Its Room of the channel.
        room: RoomId,
        /// The turn.
        turn: TurnId,
    },
    /// An agent began to use a tool. Of this process only.
    Tool {
        /// The agent.
        agent: AgentId,
        /// Its Room of the channel.
        room: RoomId,
        /// The turn.
        turn: TurnId,
        /// Name of the action.
        action: String,
    },
    /// A model was asked. Of this process only.
    Model {
        /// The agent.
        agent: AgentId,
        /// Its Room of the channel.
        room: RoomId,
        /// The turn.
        turn: TurnId,
        /// Tokens of the call.
        usage: Usage,
    },
    /// The words of an answer so far. Of this process only, never stored; [`Self::Message`] replaces it.
    Draft(Draft),
    /// A committed part of an answer.
    Message {
        /// Number of the event, to go on from.
        seq: i64,
        /// The part.
        message: Box<ChatMessage>,
    },
    /// It is committed what happens to a message. The parts of its answer came before.
    Decided {
        /// Number of the event, to go on from.
        seq: i64,
        /// The agent.
        agent: AgentId,
        /// Its Room of the channel.
        room: RoomId,
        /// The message.
        memory: MemoryId,
        /// The turn that decided.
        turn: TurnId,
        /// The decision: everything but [`Decision::Answer`], [`Decision::Command`] and
        /// [`Decision::Merged`] means that there is no answer.
        decision: Decision,
        /// Why there is no answer, in a sentence.
        reason: Option<String>,
    },
    /// Events up to this number are not kept any more: the history has to be read again.
    Missed(i64),
}

/// A reader of conversations.
pub struct ChatFollower {
    chat: Arc<Chat>,
    rooms: Option<Vec<RoomId>>,
    live: Follower,
    events: Option<EventReceiver>,
    drafts: Option<Receiver<Draft>>,
    /// Rooms of the turns that are under way.
    turns: BTreeMap<TurnId, (AgentId, RoomId)>,
    /// The event that is being read: a call may be dropped meanwhile.
    reading: Option<Arc<LiveEvent>>,
    last: Option<DeliveryId>,
}

/// Turns under way that are kept at most; a turn whose end was missed must not stay for ever.
const TURNS: usize = 1_024;

impl Chat {
    /// Follows the conversations of these Rooms, or of all with `None`: from now on, or after the number of
    /// an event that was seen. The caller decides who may read them.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn follow(
        self: &Arc<Self>,
        rooms: Option<Vec<RoomId>>,
        after: Option<i64>,
    ) -> Result<ChatFollower> {
        let here = self.orchestrator.as_ref().map(|all| all.events());
        let (events, drafts) = (here.map(|bus| bus.subscribe()), here.map(|bus| bus.drafts()));
        // It reads the store, so it is made last: no event of this process is missed.
        let reader = Operator { role: OperatorRole::Viewer, ..Operator::command_line() };
        let live = self.live.follow(&reader, after).await?;
        Ok(ChatFollower {
            chat: Arc::clone(self),
            rooms,
            live,
            events,
            drafts,
            turns: BTreeMap::new(),
            reading: None,
            last: None,
        })
    }
}

impl ChatFollower {
    /// Follows this Room too.
    pub fn add(&mut self, room: RoomId) {
        if let Some(rooms) = &mut self.rooms
            && !rooms.contains(&room)
        {
            rooms.push(room);
        }
    }

    /// Follows this Room no longer.
    pub fn remove(&mut self, room: RoomId) {
        if let Some(rooms) = &mut self.rooms {
            rooms.retain(|other| *other != room);
        }
    }

    /// The next event; none when the process ends. A call that is dropped loses nothing but drafts.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn next(&mut self) -> Result<Option<ChatEvent>> {
        loop {
            if let Some(event) = self.reading.clone() {
                let committed = self.committed(&event).await?;
                self.reading = None;
                if committed.is_some() {
                    return Ok(committed);
                }
            }
            tokio::select! {
                biased;
                followed = self.live.next() => match followed? {
                    None => return Ok(None),
                    Some(Followed::Missed(seq)) => return Ok(Some(ChatEvent::Missed(seq))),
                    Some(Followed::Event(event)) => self.reading = Some(event),
                },
                event = heard(&mut self.events) => {
                    if let Some(event) = event.and_then(|event| self.step(event)) {
                        return Ok(Some(event));
                    }
                }
                draft = drafted(&mut self.drafts) => {
                    if let Some(draft) = draft.filter(|draft| self.is_followed(draft.room)) {
                        return Ok(Some(ChatEvent::Draft(draft)));
                    }
                }
            }
        }
    }

    fn is_followed(&self, room: RoomId) -> bool {
        self.rooms.as_ref().is_none_or(|rooms| rooms.contains(&room))
    }

    async fn committed(&mut self, event: &LiveEvent) -> Result<Option<ChatEvent>> {
        if !matches!(event.kind.as_str(), MESSAGE_SENT | MESSAGE_DECIDED) {
            return Ok(None);
        }
        let Some(room) = id::<RoomId>(event, "room").filter(|room| self.is_followed(*room)) else {
            return Ok(None);
        };
        let seq = event.seq;
        if event.kind == MESSAGE_SENT {
            let Some(delivery) = id::<DeliveryId>(event, "delivery") else { return Ok(None) };
            // A commit whose answer was lost is repeated.
            if self.last == Some(delivery) {
                return Ok(None);
            }
            let item = self.chat.store.delivery(delivery).await?;
            self.last = Some(delivery);
            let message = item.and_then(ChatMessage::of).map(Box::new);
            return Ok(message.map(|message| ChatEvent::Message { seq, message }));
        }
        let (Some(agent), Some(memory), Some(turn), Some(decision)) =
            (event.agent, id(event, "memory"), id(event, "turn"), id(event, "decision"))
        else {
            return Ok(None);
        };
        self.turns.remove(&turn);
        let silent = !matches!(decision, Decision::Answer | Decision::Command);
        let item = if silent { self.chat.store.inbox_item(memory).await? } else { None };
        let reason = item.and_then(|item| reason(&item.verdict?));
        Ok(Some(ChatEvent::Decided { seq, agent, room, memory, turn, decision, reason }))
    }

    fn step(&mut self, event: Event) -> Option<ChatEvent> {
        match event {
            Event::TurnStarted { agent, room, turn } if self.is_followed(room) => {
                if self.turns.len() >= TURNS {
                    self.turns.clear();
                }
                self.turns.insert(turn, (agent, room));
                Some(ChatEvent::Thinking { agent, room, turn })
            }
            Event::ActionStarted { turn, action, .. } => {
                let (agent, room) = *self.turns.get(&turn)?;
                Some(ChatEvent::Tool { agent, room, turn, action })
            }
            Event::ModelUsed { turn: Some(turn), usage, .. } => {
                let (agent, room) = *self.turns.get(&turn)?;
                Some(ChatEvent::Model { agent, room, turn, usage })
            }
            Event::TurnFinished { turn, .. } | Event::TurnFailed { turn, .. } => {
                self.turns.remove(&turn);
                None
            }
            _ => None,
        }
    }
}

/// The next event of this process. Missed ones only said that something began.
async fn heard(events: &mut Option<EventReceiver>) -> Option<Event> {
    let Some(receiver) = events else { return pending().await };
    match receiver.recv().await {
        Ok(event) => Some(event),
        Err(RecvError::Lagged(_)) => None,
        Err(RecvError::Closed) => {
            *events = None;
            None
        }
    }
}

async fn drafted(drafts: &mut Option<Receiver<Draft>>) -> Option<Draft> {
    let Some(receiver) = drafts else { return pending().await };
    match receiver.recv().await {
        Ok(draft) => Some(draft),
        Err(RecvError::Lagged(_)) => None,
        Err(RecvError::Closed) => {
            *drafts = None;
            None
        }
    }
}
