//! Use and reservations of one holder (a person, Room, World, platform or agent) on a day.

use galatea_core::{Timestamp, store::Day};

use crate::{budget::bucket::Bucket, config::Flow};

/// Money, and tokens whose price is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spend {
    /// Millionths of a US dollar.
    pub(crate) micros: u64,
    /// Tokens of all model calls, as providers counted them.
    pub(crate) tokens: u64,
}

impl Spend {
    pub(super) fn add(&mut self, more: Self) {
        self.micros = self.micros.saturating_add(more.micros);
        self.tokens = self.tokens.saturating_add(more.tokens);
    }

    pub(super) fn sub(&mut self, less: Self) {
        self.micros = self.micros.saturating_sub(less.micros);
        self.tokens = self.tokens.saturating_sub(less.tokens);
    }
}

/// Answers, and what calls cost, as processes tell each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Told {
    pub(super) answers: u64,
    pub(super) spend: Spend,
}

/// Use of one holder (person, Room, platform, agent) on one day.
#[derive(Debug, Clone)]
pub(super) struct LedgerAccount {
    pub(super) day: Day,
    /// Stored use, without what this process has used since.
    pub(super) base: Spend,
    pub(super) base_answers: u64,
    pub(super) notices: u64,
    /// The holder was notified of the rate limit.
    pub(super) hurried: bool,
    pub(super) earlier: bool,
    /// Used by this process, stored or not yet stored.
    pub(super) mine: Spend,
    pub(super) mine_answers: u64,
    /// Use by all processes when it was last read.
    pub(super) seen: Spend,
    /// Use and reservations that this process told the others.
    pub(super) told: Told,
    /// Use that the others told, with their reservations; nothing until they were asked.
    pub(super) others: Told,
    /// Other processes are asked before each use.
    pub(super) agreed: bool,
    /// Reserved for calls in progress.
    pub(super) held: Spend,
    pub(super) calls: u32,
    pub(super) bucket: Option<Bucket>,
    /// The share that commands have of a rate of many people.
    pub(super) commands: Option<Bucket>,
    /// Commands answered by this process today; others' and those before a restart are answers only.
    pub(super) mine_commands: u64,
    pub(super) loaded: Option<Timestamp>,
    pub(super) touched: Timestamp,
}

impl LedgerAccount {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            day: Day::of(now),
            base: Spend::default(),
            base_answers: 0,
            notices: 0,
            hurried: false,
            earlier: false,
            mine: Spend::default(),
            mine_answers: 0,
            seen: Spend::default(),
            told: Told::default(),
            others: Told::default(),
            agreed: false,
            held: Spend::default(),
            calls: 0,
            bucket: None,
            commands: None,
            mine_commands: 0,
            loaded: None,
            touched: now,
        }
    }

    /// Begins a new day if one has come: the stored use is to be read again; reservations stay.
    pub(super) fn turn_over(&mut self, now: Timestamp) {
        self.touched = now;
        if self.day != Day::of(now) {
            *self = Self {
                held: self.held,
                calls: self.calls,
                bucket: self.bucket,
                commands: self.commands,
                ..Self::new(now)
            };
        }
    }

    pub(super) fn used(&self) -> Spend {
        let Spend { micros, tokens } = self.base;
        let others = self.others.spend;
        let mut used =
            Spend { micros: micros.max(others.micros), tokens: tokens.max(others.tokens) };
        used.add(self.mine);
        used
    }

    /// The bucket of answers, filled up to now.
    pub(super) fn answers_bucket(&mut self, flow: Flow, now: Timestamp) -> &mut Bucket {
        filled(&mut self.bucket, flow, now)
    }

    /// The bucket of commands, filled up to now.
    pub(super) fn commands_bucket(&mut self, flow: Flow, now: Timestamp) -> &mut Bucket {
        filled(&mut self.commands, flow, now)
    }

    pub(super) fn answers(&self) -> u64 {
        self.base_answers.max(self.others.answers) + self.mine_answers
    }
}

fn filled(bucket: &mut Option<Bucket>, flow: Flow, now: Timestamp) -> &mut Bucket {
    let bucket = bucket.get_or_insert_with(|| Bucket::full(flow, now));
    bucket.fill(flow, now);
    bucket
}
