//! The world of one turn: two processes, a store, a platform, a network.

mod sending;

use std::collections::{BTreeMap, VecDeque};

use galatea_core::{
    DeliveryId, MemoryId, Timestamp, TurnId,
    protocol::{Part, Tables},
    store::{InboxState, OutboxState},
};
use uuid::Uuid;

/// What the platform allows, and what the operator chose where it allows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Policy {
    /// The same key gives the first message again (Discord).
    Key,
    /// What was sent can be looked for (Telegram's edit probe, X's timeline).
    ReadBack,
    /// Nothing, and it is sent again.
    Resend,
    /// Nothing, and it is held back.
    Hold,
}

/// What may go wrong in one schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Crashes of either process.
    pub(crate) crashes: u8,
    /// Attempts that the network or the platform spoils.
    pub(crate) faults: u8,
    /// Times the platform hands over the message again.
    pub(crate) redeliveries: u8,
    /// A request may arrive after the settle time.
    pub(crate) slow_network: bool,
}

const MESSAGE: MemoryId = MemoryId(Uuid::from_u128(1));
const PARTS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Worker {
    Idle,
    /// Its turn is begun, and the model thinks.
    Thinking(TurnId),
}

/// What a process that sends has in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Sender {
    /// Parts in order; the first is on its way.
    lane: VecDeque<(DeliveryId, Part)>,
    /// What the protocol wants done for the first.
    effect: Option<Doing>,
}

/// [`Effect`](galatea_core::protocol::Effect), with the platform's answer once an attempt was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Doing {
    Wait(Timestamp),
    Look,
    StoreIntent,
    Send,
    Hear(Answer),
    Again(OutboxState, Timestamp),
    End(OutboxState),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    Taken,
    Lost,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    policy: Policy,
    budget: Budget,
    now: Timestamp,
    // Durable.
    tables: Tables,
    /// Attempts, not before, whether an outcome is unknown.
    rows: BTreeMap<DeliveryId, (u32, Timestamp, bool)>,
    acknowledged: bool,
    // Of the first process, which listens, sends and works, and of the second, which works.
    sender: Option<Sender>,
    workers: [Worker; 2],
    turns: u8,
    // The platform.
    shown: Vec<u32>,
    flights: Vec<u32>,
}

/// How a schedule ended.
pub(crate) struct End {
    pub(crate) doubled: bool,
    pub(crate) outcome_unknown: bool,
    pub(crate) lost: bool,
    pub(crate) unsure: bool,
    pub(crate) out_of_order: bool,
    pub(crate) unanswered: bool,
}

impl World {
    pub(crate) fn new(policy: Policy, budget: Budget) -> Self {
        Self {
            policy,
            budget,
            now: Timestamp(0),
            tables: Tables::default(),
            rows: BTreeMap::new(),
            acknowledged: false,
            sender: None,
            workers: [Worker::Idle; 2],
            turns: 0,
            shown: Vec::new(),
            flights: Vec::new(),
        }
    }

    /// Every world that can follow.
    pub(crate) fn next(&self) -> Vec<Self> {
        let mut worlds = Vec::new();
        self.receiving(&mut worlds);
        self.working(0, &mut worlds);
        self.working(1, &mut worlds);
        self.sending(&mut worlds);
        for n in 0..self.flights.len() {
            worlds.push(self.but(|w| w.land(n)));
        }
        // A crash changes something only while there is something to lose.
        if self.budget.crashes > 0 && !worlds.is_empty() {
            worlds.push(self.but(|w| {
                w.budget.crashes -= 1;
                w.sender = None;
                w.workers[0] = Worker::Idle;
            }));
            if self.workers[1] != Worker::Idle {
                worlds.push(self.but(|w| {
                    w.budget.crashes -= 1;
                    w.workers[1] = Worker::Idle;
                }));
            }
        }
        worlds
    }

    pub(crate) fn end(&self) -> End {
        let times = |part: u32| self.shown.iter().filter(|p| **p == part).count();
        let open =
            self.tables.inbox.get(&MESSAGE).is_none_or(|(state, _)| *state == InboxState::New);
        assert!(
            self.tables.outbox.values().all(|state| !state.is_open()),
            "a schedule ended with work left: {self:?}"
        );
        let first = |part: u32| self.shown.iter().position(|p| *p == part);
        End {
            doubled: (0..PARTS).any(|part| times(part) > 1),
            outcome_unknown: self.rows.values().any(|(.., outcome_unknown)| *outcome_unknown),
            lost: (0..PARTS).any(|part| times(part) == 0),
            unsure: self.tables.outbox.values().any(|state| *state == OutboxState::Ambiguous),
            out_of_order: first(1)
                .is_some_and(|later| first(0).is_some_and(|earlier| earlier > later)),
            unanswered: self.acknowledged && open,
        }
    }

    fn but(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut world = self.clone();
        change(&mut world);
        world
    }

    /// T1, then the acknowledgement; a crash between them brings the message again.
    fn receiving(&self, worlds: &mut Vec<Self>) {
        if !self.acknowledged {
            if self.tables.inbox.contains_key(&MESSAGE) {
                worlds.push(self.but(|w| w.acknowledged = true));
            } else {
                worlds.push(self.but(|w| assert!(w.tables.ingest(MESSAGE))));
            }
        }
        if self.budget.redeliveries > 0 && self.tables.inbox.contains_key(&MESSAGE) {
            worlds.push(self.but(|w| {
                w.budget.redeliveries -= 1;
                assert!(!w.tables.ingest(MESSAGE), "a message is new once");
            }));
        }
    }

    /// Begin, think, T2. Both workers may hold the same turn: a lease only saves the model's money.
    fn working(&self, n: usize, worlds: &mut Vec<Self>) {
        match self.workers[n] {
            Worker::Idle
                if self
                    .tables
                    .inbox
                    .get(&MESSAGE)
                    .is_some_and(|(state, _)| *state == InboxState::New) =>
            {
                worlds.push(self.but(|w| {
                    w.tables.begin_turn(&[MESSAGE]);
                    w.turns += 1;
                    w.workers[n] = Worker::Thinking(TurnId(Uuid::from_u128(u128::from(w.turns))));
                }))
            }
            Worker::Idle => {}
            Worker::Thinking(turn) => worlds.push(self.but(|w| w.commit(n, turn))),
        }
    }

    fn commit(&mut self, n: usize, turn: TurnId) {
        self.workers[n] = Worker::Idle;
        // The first process hands over at once when its lane is free, and saves the commit of T3.
        let at_once = n == 0 && self.sender.as_ref().is_some_and(|s| s.lane.is_empty());
        let id = |part: u32| DeliveryId(Uuid::from_u128(turn.0.as_u128() * 10 + u128::from(part)));
        let state = |part: u32| {
            if at_once && part == 0 { OutboxState::Sending } else { OutboxState::Pending }
        };
        let parts: Vec<_> = (0..PARTS).map(|part| (id(part), part, state(part))).collect();
        if self.tables.finish_turn(turn, &[(MESSAGE, InboxState::Done)], &parts).is_err() {
            return;
        }
        for (id, part, _) in parts {
            self.rows.insert(id, (0, self.now, false));
            if n == 0
                && let Some(sender) = &mut self.sender
            {
                sender.lane.push_back((
                    id,
                    Part { marked: at_once && part == 0, ..Part::new(self.now, None) },
                ));
            }
        }
    }

    fn show(&mut self, part: u32) {
        if self.policy != Policy::Key || !self.shown.contains(&part) {
            self.shown.push(part);
        }
    }

    fn land(&mut self, n: usize) {
        let part = self.flights.remove(n);
        self.show(part);
    }
}
