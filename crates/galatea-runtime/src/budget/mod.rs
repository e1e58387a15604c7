//! Limits of answers and money, per person, Room, World, platform and agent.
//!
//! [`ledger`] is the pure machine; this module connects it to store, clock and owners. In a single
//! process the ledger is exact. Several processes that share a store have a ledger each, and tell
//! each other through the store ([`share`]) what they use and reserve: before an answer and before
//! each call of a model. So the limits of a person, a World, a platform, strangers and the agent
//! hold for all processes together; only calls that were under way when a process died, or work
//! in the background, may exceed them. One process answers a Room, so its limits need no other.
//! Besides, each reads every [`FRESH`] what all have committed.

mod attempts;
mod background;
mod bucket;
mod ledger;
mod media;
mod meter;
mod price;
mod prune;
mod refusal;
mod round;
mod share;
mod step_down;
mod warn;

use futures::future::try_join_all;
use galatea_core::{
    AgentId, AgentIdentity, Clock, EntityId, Outbound, Result, RoomId, Source, Store, Timestamp,
    WorldId,
    store::{Amount, Block, Day, Holder, UsageRow},
};
use parking_lot::Mutex;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

pub(crate) use meter::Meter;
pub(crate) use refusal::Refusal;

use self::{
    bucket::Bucket,
    ledger::{Ask, Case, Holders, Ledger, Spend, Warning},
    round::Round,
};
use crate::{
    config::{Flow, Policy, Spending},
    directory::RoomInfo,
    profile::CurrentProfile,
    trace::Recorder,
};

/// Greatest age of the other processes' use.
const FRESH: Duration = Duration::from_secs(5);
/// Time after which a change of the block list takes effect.
const BLOCKS: Duration = Duration::from_secs(2);
/// Notices of limits of all people together, so that they do not become a flood themselves.
const NOTICE_FLOW: Flow = Flow { per_minute: 20, burst: 20 };

/// The limits of one agent.
pub(crate) struct Budget {
    agent: AgentId,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    outbound: Arc<dyn Outbound>,
    identity: AgentIdentity,
    /// Names the agent's owners.
    profile: CurrentProfile,
    ledger: Mutex<Ledger>,
    notices: Mutex<Option<Bucket>>,
    /// Of turns that were given up.
    left: Mutex<Vec<UsageRow>>,
    blocks: Mutex<Option<(Timestamp, Arc<[Block]>)>>,
    /// The day on which old rows of the ledger were deleted last.
    pruned: Mutex<Option<Day>>,
    round: Mutex<Round>,
    me: Weak<Self>,
}

/// Speaker and place, as the limits see them.
#[derive(Clone)]
pub(crate) struct Visit {
    policy: Arc<Policy>,
    source: Source,
    world: WorldId,
    room: RoomId,
    person: EntityId,
    holders: Holders,
    stranger: bool,
    /// Work of the agent beside its answers ([`Budget::background`]).
    background: bool,
    /// Limits hold in this place.
    limited: bool,
    /// No limit holds: an owner, or a place without limits. It is counted all the same.
    exempt: bool,
}

impl Visit {
    fn case(&self, now: Timestamp) -> Case<'_> {
        Case {
            spending: &self.policy.spending,
            holders: &self.holders,
            stranger: self.stranger,
            background: self.background,
            now,
        }
    }

    /// Number of messages of one person that may wait in a group, and its setting.
    pub(crate) fn queue_share(&self) -> Option<(usize, &str)> {
        let spending = self.spending();
        spending
            .waiting
            .filter(|_| !self.exempt)
            .map(|most| (most, spending.waiting_setting.as_str()))
    }

    fn spending(&self) -> &Spending {
        &self.policy.spending
    }
}

impl Budget {
    /// Nothing is used yet.
    pub(crate) fn new(
        identity: AgentIdentity,
        profile: CurrentProfile,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        outbound: Arc<dyn Outbound>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            agent: identity.id(),
            store,
            clock,
            outbound,
            identity,
            profile,
            ledger: Mutex::default(),
            notices: Mutex::default(),
            left: Mutex::default(),
            blocks: Mutex::default(),
            pruned: Mutex::default(),
            round: Mutex::default(),
            me: Weak::clone(me),
        })
    }

    /// The blocked people; a change by `galatea block` is seen within [`BLOCKS`].
    pub(crate) async fn blocks(&self) -> Result<Arc<[Block]>> {
        let now = self.clock.now();
        if let Some((read, blocks)) = &*self.blocks.lock()
            && *read <= now
            && now.since(*read) < BLOCKS
        {
            return Ok(Arc::clone(blocks));
        }
        let blocks: Arc<[Block]> = self.store.blocks(self.agent).await?.into();
        *self.blocks.lock() = Some((now, Arc::clone(&blocks)));
        Ok(blocks)
    }

    /// Looks at who speaks where, and reads what is stored of their day unless that is known. A
    /// `friend` is on an allowlist or approved.
    ///
    /// # Errors
    /// Whatever the store says.
    pub(crate) async fn visit(
        &self,
        policy: &Arc<Policy>,
        info: &RoomInfo,
        public: bool,
        person: EntityId,
        friend: bool,
    ) -> Result<Visit> {
        let limited = policy.spending.holds(public);
        let mut visit = Visit {
            limited,
            exempt: !limited || self.owns(policy, person),
            ..Self::bystander(policy, info, person)
        };
        if visit.exempt {
            return Ok(visit);
        }
        let holders = &visit.holders;
        let mut keys = vec![
            &holders.person,
            &holders.room,
            &holders.world,
            &Holder::Strangers,
            &Holder::Agent,
        ];
        let platform = policy.spending.platform.is_some() || policy.spending.platform_cap.is_some();
        keys.extend(platform.then_some(&holders.platform));
        self.read(keys.into_iter()).await?;
        visit.stranger = !friend && !self.ledger.lock().is_known(&visit.holders.person);
        Ok(visit)
    }

    /// Reads what is stored of the day of these holders, unless that is known.
    async fn read(&self, keys: impl Iterator<Item = &Holder>) -> Result<()> {
        let now = self.clock.now();
        let day = Day::of(now);
        let unread = self.ledger.lock().unread(keys, FRESH, now);
        let read = unread.iter().map(async |key| self.store.standing(self.agent, day, key).await);
        for (key, stored) in unread.iter().zip(try_join_all(read).await?) {
            self.ledger.lock().read(key, day, stored, now);
        }
        Ok(())
    }

    /// Visit of another person in the same Room, without a store read; none when the store must
    /// be read first.
    pub(crate) fn visit_known(
        &self,
        like: &Visit,
        person: EntityId,
        friend: bool,
    ) -> Option<Visit> {
        let mut visit = like.clone();
        if person == like.person {
            return Some(visit);
        }
        visit.person = person;
        visit.holders.person = Holder::Person(person);
        visit.exempt = !visit.limited || self.owns(&visit.policy, person);
        if visit.exempt {
            return Some(visit);
        }
        let mut ledger = self.ledger.lock();
        if !ledger.has_read(&visit.holders, self.clock.now()) {
            return None;
        }
        visit.stranger = !friend && !ledger.is_known(&visit.holders.person);
        Some(visit)
    }

    fn owns(&self, policy: &Policy, person: EntityId) -> bool {
        policy.spending.owners.iter().any(|id| EntityId(self.identity.swizzle(id)) == person)
    }

    /// A visit that nothing is asked of: a notice of ours, a turn that failed.
    pub(crate) fn bystander(policy: &Arc<Policy>, info: &RoomInfo, person: EntityId) -> Visit {
        let room = &info.room;
        Visit {
            policy: Arc::clone(policy),
            source: room.source.clone(),
            world: room.world_id,
            room: room.id,
            person,
            holders: Holders {
                person: Holder::Person(person),
                room: Holder::Room(room.id),
                world: Holder::World(room.world_id),
                platform: Holder::Source(room.source.clone()),
            },
            stranger: false,
            background: false,
            limited: false,
            exempt: true,
        }
    }

    /// Lets an answer through and counts it, or says which limit is reached.
    ///
    /// # Errors
    /// Those of the store, where other processes use the same limits.
    pub(crate) async fn admit(&self, visit: &Visit) -> Result<std::result::Result<(), Refusal>> {
        self.ask(visit, Ask::Answer).await
    }

    /// Admits a command, which costs no model call. `ruling` is one of a person who may rule the
    /// Room, which the share of commands does not hold up.
    ///
    /// # Errors
    /// As [`Self::admit`].
    pub(crate) async fn admit_command(
        &self,
        visit: &Visit,
        ruling: bool,
    ) -> Result<std::result::Result<(), Refusal>> {
        self.ask(visit, if ruling { Ask::Ruling } else { Ask::Command }).await
    }

    /// Admits the question to a model whether to answer; the answer is counted by
    /// [`Self::answered`].
    ///
    /// # Errors
    /// As [`Self::admit`].
    pub(crate) async fn admit_opinion(
        &self,
        visit: &Visit,
    ) -> Result<std::result::Result<(), Refusal>> {
        self.ask(visit, Ask::Opinion).await
    }

    /// Like [`Self::admit`], without a store; none where the store must be asked.
    pub(crate) fn admit_known(&self, visit: &Visit) -> Option<std::result::Result<(), Refusal>> {
        if !visit.exempt && self.ledger.lock().is_shared() {
            return None;
        }
        Some(self.admit_here(visit, Ask::Answer))
    }

    async fn ask(&self, visit: &Visit, ask: Ask) -> Result<std::result::Result<(), Refusal>> {
        match self.admit_here(visit, ask) {
            Ok(()) if !visit.exempt => self.agree(visit, ask).await,
            here => Ok(here),
        }
    }

    fn admit_here(&self, visit: &Visit, ask: Ask) -> std::result::Result<(), Refusal> {
        if visit.exempt {
            return Ok(());
        }
        self.ledger.lock().admit(&visit.case(self.clock.now()), ask)
    }

    /// A model decided to join in.
    pub(crate) fn answered(&self, visit: &Visit) {
        if !visit.exempt {
            self.ledger.lock().answered(&visit.case(self.clock.now()));
            self.tell_answered(visit);
        }
    }

    /// Reason for the small model to answer: a cap is nearly used up.
    pub(crate) fn thrift(&self, visit: &Visit) -> Option<String> {
        if visit.exempt {
            return None;
        }
        let (who, setting, percent) = self.ledger.lock().nearly(&visit.case(self.clock.now()))?;
        Some(format!(
            "{percent} % of what {} may cost today is used ({setting}): the small model answers",
            who.text()
        ))
    }

    /// Caps of the agent that are nearly used up today: whose, which setting, and how many per
    /// cent.
    pub(crate) fn near(&self) -> Vec<(&'static str, String, u64)> {
        self.ledger
            .lock()
            .near(self.clock.now())
            .into_iter()
            .map(|warning| (warning.who.text(), warning.setting, warning.percent))
            .collect()
    }

    /// Sets the number of processes that answer for this agent: each takes its part of what is left
    /// of the agent's caps.
    pub(crate) fn share_with(&self, processes: usize) {
        self.ledger.lock().share_with(u64::try_from(processes).unwrap_or(u64::MAX));
    }

    /// Meter of one turn's calls.
    pub(crate) fn meter(self: &Arc<Self>, visit: Visit, trace: Arc<Recorder>) -> Arc<Meter> {
        self.prune_daily();
        Meter::new(Arc::clone(self), visit, trace)
    }

    fn reserve(&self, visit: &Visit, estimate: Spend) -> std::result::Result<(), Refusal> {
        self.ledger.lock().reserve(&visit.case(self.clock.now()), estimate, visit.exempt)
    }

    fn settle(&self, visit: &Visit, estimate: Spend, actual: Spend) -> Vec<Warning> {
        let warnings = self.ledger.lock().settle(&visit.case(self.clock.now()), estimate, actual);
        self.tell(visit);
        warnings
    }

    /// The notice for a refused person; none when they have had it, when the platform shows no
    /// notices, or when too many were sent lately.
    pub(crate) fn notice(&self, visit: &Visit, refusal: &Refusal) -> Option<String> {
        let text = match &visit.spending().notice {
            Some(own) if own.is_empty() => return None,
            Some(own) => own.clone(),
            None if refusal.passes_soon() => {
                "I cannot keep up with so many messages. Please write again in a minute.".to_owned()
            }
            None => "That is all I can answer today. Please write again tomorrow.".to_owned(),
        };
        let now = self.clock.now();
        let mut notices = self.notices.lock();
        let bucket = notices.get_or_insert_with(|| Bucket::full(NOTICE_FLOW, now));
        bucket.fill(NOTICE_FLOW, now);
        if !bucket.has_one()
            || !self.ledger.lock().notice(&visit.holders.person, refusal.passes_soon(), now)
        {
            return None;
        }
        bucket.take();
        Some(text)
    }

    /// Keeps what a turn that was given up used, for the next commit.
    pub(crate) fn keep(&self, rows: Vec<UsageRow>) {
        if !rows.is_empty() {
            self.left.lock().extend(rows);
        }
    }

    /// Rows that are kept, to be committed.
    pub(crate) fn left(&self) -> Vec<UsageRow> {
        std::mem::take(&mut *self.left.lock())
    }

    /// Writes down what is kept.
    pub(crate) async fn flush(&self) {
        let rows = self.left();
        if !rows.is_empty()
            && let Err(error) = self.store.add_usage(&rows).await
        {
            tracing::warn!(agent = %self.agent, error = %error.report(), "failed to store what turns used; retrying with the next turn");
            self.keep(rows);
        }
    }

    /// A row that says how many messages of a visit were refused, and whether their author was
    /// notified.
    pub(crate) fn refused(&self, visit: &Visit, refused: u64, notices: u64) -> UsageRow {
        UsageRow {
            agent: self.agent,
            day: Day::of(self.clock.now()),
            source: visit.source.clone(),
            world: visit.world,
            room: visit.room,
            person: visit.person,
            model: String::new(),
            amount: Amount { refused, notices, ..Amount::default() },
        }
    }
}
