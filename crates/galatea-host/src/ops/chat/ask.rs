//! Waits for what becomes of a message: its answer, or why there is none.

use galatea_core::{
    Decision, DeliveryId, MemoryId, Result, TurnId,
    store::{InboxItem, InboxState},
};
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};

use super::{
    follow::{ChatEvent, ChatFollower},
    message::{ChatMessage, reason},
    say::Heard,
    state::Chat,
};

/// Between two looks at a message of which no event came.
const LOOK: Duration = Duration::from_secs(1);

/// What became of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The message, as the agent heard it.
    pub heard: Heard,
    /// The turn that finished it.
    pub turn: Option<TurnId>,
    /// The decision.
    pub decision: Decision,
    /// Why there is no answer, in a sentence.
    pub reason: Option<String>,
    /// The parts of the answer, in order. A failed turn may have one too: it says so.
    pub messages: Vec<ChatMessage>,
}

impl Chat {
    /// What became of a message; none while it waits.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn outcome(&self, heard: Heard) -> Result<Option<Outcome>> {
        let Some(item) = self.store.inbox_item(heard.memory).await? else { return Ok(None) };
        if item.state == InboxState::New {
            return Ok(None);
        }
        let InboxItem { turn, verdict, .. } = item;
        let decision = verdict.as_ref().map_or(Decision::Skip, |verdict| verdict.decision);
        let messages = match turn {
            Some(turn) => self.messages_of(turn, heard.room).await?,
            None => Vec::new(),
        };
        let reason = verdict.as_ref().and_then(reason);
        Ok(Some(Outcome { heard, turn, decision, reason, messages }))
    }

    /// The message of this id, in a Room of the web; none if there is none.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn heard(&self, memory: MemoryId) -> Result<Option<Heard>> {
        let item = self.store.inbox_item(memory).await?;
        let item = item.filter(|item| {
            item.entry.source == galatea_web::SOURCE || item.entry.source == galatea_web::VISITORS
        });
        Ok(item.map(|item| {
            let of = &item.entry.memory;
            Heard { agent: of.agent_id, room: of.room_id, memory: of.id, new: false }
        }))
    }

    /// Waits until each of these messages is finished, at most `patience`. The follower has to be made before
    /// the messages are said.
    pub fn wait(
        self: &Arc<Self>,
        heard: &[Heard],
        mut follower: ChatFollower,
        patience: Duration,
    ) -> Waiting {
        heard.iter().for_each(|one| follower.add(one.room));
        Waiting {
            chat: Arc::clone(self),
            follower,
            heard: heard.to_vec(),
            open: heard.to_vec(),
            outcomes: Vec::new(),
            until: Instant::now() + patience,
            // Some may have been answered before.
            look: Look::Known,
            shown: Vec::new(),
            ready: VecDeque::new(),
            seq: 0,
        }
    }
}

/// Messages that are being answered.
pub struct Waiting {
    chat: Arc<Chat>,
    follower: ChatFollower,
    heard: Vec<Heard>,
    open: Vec<Heard>,
    outcomes: Vec<Outcome>,
    until: Instant,
    look: Look,
    /// Parts that were returned.
    shown: Vec<DeliveryId>,
    /// Parts that the store has, and of which no event came yet.
    ready: VecDeque<ChatEvent>,
    /// Number of the last event.
    seq: i64,
}

/// Messages to look at in the store, before the next event.
#[derive(Clone, Copy)]
enum Look {
    Nothing,
    /// Those that were stored before.
    Known,
    /// One whose decision was committed.
    One(MemoryId),
    /// All: events may have been missed.
    All,
}

impl Waiting {
    /// The next thing that happens in the conversations; none once each message is finished, or the time is
    /// over.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn next(&mut self) -> Result<Option<ChatEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            self.look_at().await?;
            if !self.ready.is_empty() {
                continue;
            }
            if self.open.is_empty() || Instant::now() >= self.until {
                return Ok(None);
            }
            let until = self.until.min(Instant::now() + LOOK);
            let Ok(event) = timeout_at(until, self.follower.next()).await else {
                self.look = Look::All;
                continue;
            };
            let event = event?;
            match &event {
                Some(ChatEvent::Decided { memory, seq, .. }) => {
                    (self.look, self.seq) = (Look::One(*memory), *seq);
                }
                Some(ChatEvent::Message { message, seq }) => {
                    self.seq = *seq;
                    if self.shown.contains(&message.id) {
                        continue;
                    }
                    self.shown.push(message.id);
                }
                _ => {}
            }
            return Ok(event);
        }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn end(mut self) -> Result<Vec<Outcome>> {
        while self.next().await?.is_some() {}
        Ok(self.outcomes())
    }

    /// What became of the messages that are finished, in their order.
    pub fn outcomes(self) -> Vec<Outcome> {
        let Self { heard, mut outcomes, .. } = self;
        let place = |outcome: &Outcome| {
            heard.iter().position(|one| one.memory == outcome.heard.memory).unwrap_or(usize::MAX)
        };
        outcomes.sort_by_key(place);
        outcomes
    }

    /// Moves what is finished.
    async fn look_at(&mut self) -> Result<()> {
        let look = self.look;
        let selects = |one: &&Heard| match look {
            Look::Nothing => false,
            Look::Known => !one.new,
            Look::One(memory) => one.memory == memory,
            Look::All => true,
        };
        let selected: Vec<Heard> = self.open.iter().filter(selects).copied().collect();
        for one in selected {
            if let Some(outcome) = self.chat.outcome(one).await? {
                self.open.retain(|other| other.memory != one.memory);
                // The events of another process come later than its rows.
                let all = if matches!(look, Look::All) { &*outcome.messages } else { &[] };
                for message in all {
                    if !self.shown.contains(&message.id) {
                        self.shown.push(message.id);
                        let message = Box::new(message.clone());
                        self.ready.push_back(ChatEvent::Message { seq: self.seq, message });
                    }
                }
                self.outcomes.push(outcome);
            }
        }
        self.look = Look::Nothing;
        Ok(())
    }
}
