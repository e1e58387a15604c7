//! Combines the events of a turn into one note for the log.

use galatea_core::{
    Account, AgentId, Decision, Event, Health, MemoryId, RoomId, Source, TurnId, model::Usage,
};
use std::collections::{HashMap, VecDeque, hash_map::Entry};

/// Most turns tracked at the same time. The oldest is dropped beyond that and gets no log line.
const MOST: usize = 1024;

/// An event that gets a log line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Note {
    /// A message was handled.
    Handled(Handled),
    /// A connector changed its state.
    Connector {
        agent: AgentId,
        source: Source,
        /// Account on the platform.
        account: Account,
        health: Health,
    },
}

/// Outcome of one message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Handled {
    pub(crate) agent: AgentId,
    pub(crate) room: RoomId,
    /// The message.
    pub(crate) memory: MemoryId,
    /// One word or two, such as `answered`.
    pub(crate) outcome: &'static str,
    /// Duration in milliseconds; `None` if no turn ran.
    pub(crate) millis: Option<u64>,
    /// Tokens used by the turn.
    pub(crate) usage: Usage,
}

/// Combines the events of a turn into one [`Note`]. Pure.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    open: HashMap<TurnId, Open>,
    order: VecDeque<TurnId>,
}

/// A turn in progress.
#[derive(Debug, Default)]
struct Open {
    usage: Usage,
    decided: Option<(MemoryId, Decision)>,
}

impl Turns {
    /// Processes an event. Returns a note if the event completes one.
    pub(crate) fn take(&mut self, event: Event) -> Option<Note> {
        match event {
            Event::TurnStarted { turn, .. } => {
                self.follow(turn);
                None
            }
            Event::ModelUsed { turn: Some(turn), usage, .. } => {
                if let Some(open) = self.open.get_mut(&turn) {
                    open.usage.input += usage.input;
                    open.usage.output += usage.output;
                }
                None
            }
            Event::TurnDecided { agent, room, turn, memory, decision } => {
                match self.open.get_mut(&turn) {
                    Some(open) => {
                        open.decided = Some((memory, decision));
                        None
                    }
                    // No turn started, because the gate rejected the message.
                    None => Some(Note::Handled(Handled {
                        agent,
                        room,
                        memory,
                        outcome: word(decision),
                        millis: None,
                        usage: Usage::default(),
                    })),
                }
            }
            Event::TurnFinished { agent, room, turn, millis, .. } => {
                let open = self.close(turn)?;
                let (memory, decision) = open.decided?;
                Some(Note::Handled(Handled {
                    agent,
                    room,
                    memory,
                    outcome: word(decision),
                    millis: Some(millis),
                    usage: open.usage,
                }))
            }
            Event::ConnectorHealth { agent, source, account, health } => {
                Some(Note::Connector { agent, source, account, health })
            }
            _ => None,
        }
    }

    fn follow(&mut self, turn: TurnId) {
        // A turn restarts if another message arrives. It remains the same turn, and keeps the
        // tokens it has used.
        if let Entry::Vacant(entry) = self.open.entry(turn) {
            entry.insert(Open::default());
            self.order.push_back(turn);
        }
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.open.remove(&oldest);
            }
        }
    }

    fn close(&mut self, turn: TurnId) -> Option<Open> {
        self.order.retain(|open| *open != turn);
        self.open.remove(&turn)
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Answer => "answered",
        Decision::Skip => "skipped",
        Decision::Merged => "answered together",
        Decision::Command => "command",
        Decision::Expired => "expired",
        Decision::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(turn: TurnId, decision: Decision) -> Event {
        Event::TurnDecided {
            agent: AgentId(turn.0),
            room: RoomId(turn.0),
            turn,
            memory: MemoryId(turn.0),
            decision,
        }
    }

    fn used(turn: TurnId) -> Event {
        let usage = Usage { input: 100, cached: 0, output: 7, ..Usage::default() };
        Event::ModelUsed {
            agent: AgentId(turn.0),
            turn: Some(turn),
            provider: String::new(),
            model: String::new(),
            usage,
            millis: 5,
        }
    }

    fn started(turn: TurnId) -> Event {
        Event::TurnStarted { agent: AgentId(turn.0), room: RoomId(turn.0), turn }
    }

    #[test]
    fn a_turn_becomes_one_note_with_all_its_tokens() {
        let (mut turns, turn) = (Turns::default(), TurnId::fresh());
        for event in [
            started(turn),
            used(turn),
            started(turn),
            used(turn),
            used(TurnId::fresh()),
            decided(turn, Decision::Answer),
        ] {
            assert_eq!(turns.take(event), None);
        }
        let finished = Event::TurnFinished {
            agent: AgentId(turn.0),
            room: RoomId(turn.0),
            turn,
            millis: 1900,
            parts: 1,
        };
        let Some(Note::Handled(handled)) = turns.take(finished.clone()) else { panic!() };
        assert_eq!(
            (handled.outcome, handled.millis, handled.usage),
            (
                "answered",
                Some(1900),
                Usage { input: 200, cached: 0, output: 14, ..Usage::default() }
            )
        );
        assert_eq!(turns.take(finished), None, "said once");
        assert!(turns.open.is_empty() && turns.order.is_empty());
    }

    #[test]
    fn what_the_gate_stops_is_said_at_once() {
        let mut turns = Turns::default();
        for (decision, outcome) in [
            (Decision::Skip, "skipped"),
            (Decision::Expired, "expired"),
            (Decision::Failed, "failed"),
        ] {
            let Some(Note::Handled(handled)) = turns.take(decided(TurnId::fresh(), decision))
            else {
                panic!()
            };
            assert_eq!((handled.outcome, handled.millis), (outcome, None));
        }
        assert!(turns.open.is_empty());
    }

    #[test]
    fn turns_that_never_end_are_forgotten() {
        let mut turns = Turns::default();
        for _ in 0..MOST + 10 {
            turns.take(started(TurnId::fresh()));
        }
        assert_eq!((turns.open.len(), turns.order.len()), (MOST, MOST));
    }
}
