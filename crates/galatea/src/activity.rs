//! Logs one line for each handled message and each change of a connector. Lines contain ids and
//! numbers, never message text.

use galatea_core::{
    Account, AgentId, Decision, Event, Health, MemoryId, RoomId, Source, Store, TurnId,
    model::Usage,
};
use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::sleep,
};

use crate::{models::ModelHealth, output::Output, trouble::Trouble};

/// Most turns tracked at the same time. The oldest is dropped beyond that and gets no log line.
const MOST: usize = 1024;
/// How long events are gathered. A turn publishes some six, and each would wake this task between the
/// steps of the turn. The bus keeps 1,024: six times what a flood publishes meanwhile.
const GATHER: Duration = Duration::from_millis(10);

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

/// Logs events until the bus closes. Each room is looked up once, outside of turns. Errors are
/// shown to people as reports on `people`. If `people` is `None`, programs read the log, and errors
/// are log lines.
pub(crate) async fn watch(
    mut events: Receiver<Event>,
    store: Arc<dyn Store>,
    models: Vec<(AgentId, ModelHealth)>,
    people: Option<Output>,
) {
    let mut turns = Turns::default();
    let mut reported: HashMap<AgentId, Trouble> = HashMap::new();
    let mut down: HashMap<(AgentId, Source, Account), Trouble> = HashMap::new();
    let mut sources: HashMap<RoomId, String> = HashMap::new();
    loop {
        if events.is_empty() {
            sleep(GATHER).await;
        }
        let event = match events.recv().await {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => {
                tracing::debug!(
                    missed,
                    "the activity log lagged behind; some messages get no log line"
                );
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        match turns.take(event) {
            Some(Note::Handled(handled)) => {
                if sources.len() > MOST {
                    sources.clear();
                }
                let source = match sources.get(&handled.room) {
                    Some(source) => source.clone(),
                    None => match store.room(handled.room).await {
                        Ok(Some(room)) => {
                            sources.entry(handled.room).or_insert(room.source.to_string()).clone()
                        }
                        _ => "?".to_owned(),
                    },
                };
                log(&source, &handled);
                let trouble = models
                    .iter()
                    .find(|(agent, _)| *agent == handled.agent)
                    .and_then(|(_, health)| health.trouble());
                // Logged once per distinct error, because every message fails with the same one.
                if let Some(trouble) = &trouble
                    && reported.get(&handled.agent) != Some(trouble)
                {
                    log_model(trouble, people.as_ref());
                }
                match trouble {
                    Some(trouble) => reported.insert(handled.agent, trouble),
                    None => reported.remove(&handled.agent),
                };
            }
            Some(Note::Connector { agent, source, account, health }) => {
                let trouble = Trouble::of_connector(&health);
                let known = match (&trouble, &health) {
                    // These states do not tell how the attempt will end.
                    (None, Health::Starting | Health::Elsewhere) => continue,
                    (None, _) => down.remove(&(agent, source.clone(), account)),
                    (Some(trouble), _) => down.insert(
                        (agent, source.clone(), account),
                        Trouble { next: None, ..trouble.clone() },
                    ),
                };
                match trouble {
                    // Logged once per distinct error, because every attempt fails with the same
                    // one.
                    Some(trouble) if known == Some(Trouble { next: None, ..trouble.clone() }) => {
                        tracing::debug!(
                            next = trouble.next,
                            "{source}  still not connected: {}",
                            trouble.message
                        );
                    }
                    Some(trouble) => log_trouble(&source, &health, &trouble, people.as_ref()),
                    None => log_health(&source, &health),
                }
            }
            None => {}
        }
    }
}

fn log(source: &str, handled: &Handled) {
    let took = handled.millis.map(|millis| format!("  {}", duration(millis))).unwrap_or_default();
    let Usage { input, output, .. } = handled.usage;
    let tokens =
        if input + output == 0 { String::new() } else { format!("  {input}+{output} tok") };
    tracing::info!(room = %handled.room, memory = %handled.memory, "{source}  {}{took}{tokens}", handled.outcome);
}

fn duration(millis: u64) -> String {
    if millis < 1000 {
        format!("{millis} ms")
    } else {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    }
}

fn log_health(source: &Source, health: &Health) {
    match health {
        Health::Up { detail } => tracing::info!("{source}  {detail}"),
        Health::Degraded { reason } => tracing::warn!("{source}  works in part: {reason}"),
        Health::Starting | Health::Elsewhere | Health::Retrying { .. } | Health::Down { .. } => {}
    }
}

fn log_model(trouble: &Trouble, people: Option<&Output>) {
    let Trouble { message, code, cause, origin, fix, .. } = trouble;
    match people {
        Some(people) => people.report(&trouble.report("model")),
        None => {
            tracing::error!(code, cause, "where" = origin, fix, "model  does not answer: {message}")
        }
    }
}

fn log_trouble(source: &Source, health: &Health, trouble: &Trouble, people: Option<&Output>) {
    if let Some(people) = people {
        return people.report(&trouble.report(source.as_str()));
    }
    let Trouble { message, code, cause, origin, fix, next } = trouble;
    if matches!(health, Health::Down { .. }) {
        tracing::error!(code, cause, "where" = origin, fix, "{source}  stopped: {message}");
    } else {
        tracing::warn!(
            code,
            cause,
            "where" = origin,
            fix,
            next,
            "{source}  not connected: {message}"
        );
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
    fn durations_read_well() {
        assert_eq!([0, 999, 1000, 1949].map(duration), ["0 ms", "999 ms", "1.0 s", "1.9 s"]);
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
