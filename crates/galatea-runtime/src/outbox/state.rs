//! The outbox of one agent: its parts.

use galatea_core::{
    Account, AgentIdentity, Clock, DeliveryId, EventBus, Hint, RoomId, Source, Store, Timestamp,
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    job::Job,
    route::{Route, Routes},
    settle::{Settler, settler},
    stack::Worlds,
};
use crate::{
    directory::Directory, in_flight::InFlight, lanes::Lanes, ownership::Ownership,
    profile::CurrentProfile, trace::Tracer,
};

/// The outbox of one agent.
pub(crate) struct Outbox {
    /// Route to each account.
    pub(crate) routes: Routes,
    pub(super) identity: AgentIdentity,
    /// The agent's character and limits.
    pub(super) profile: CurrentProfile,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) events: EventBus,
    pub(super) directory: Arc<Directory>,
    pub(super) ownership: Arc<Ownership>,
    pub(super) in_flight: InFlight<DeliveryId>,
    pub(super) settler: Settler,
    /// Keeps attempts that failed.
    pub(super) tracer: Tracer,
    pub(super) lanes: Lanes<RoomId, Job>,
}

/// The parts that an outbox is given.
pub(crate) struct OutboxParts {
    pub(crate) identity: AgentIdentity,
    pub(crate) profile: CurrentProfile,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: EventBus,
    pub(crate) directory: Arc<Directory>,
    /// Accounts that this process sends through.
    pub(crate) ownership: Arc<Ownership>,
    pub(crate) tracer: Tracer,
    /// Lanes are among these tasks; the agent's end waits for them.
    pub(crate) tasks: TaskTracker,
    /// Ends sends where they are, when stopping took too long. The store knows how to go on.
    pub(crate) halt: CancellationToken,
}

impl Outbox {
    /// Deliveries in lanes and sends right now.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Lanes hold the outbox weakly, or neither would ever end. `work` is what a lane does.
    pub(super) fn assemble<F: Future<Output = ()> + Send + 'static>(
        parts: OutboxParts,
        work: impl Fn(Arc<Self>, crate::lanes::Lane<RoomId, Job>) -> F + Send + Sync + 'static,
    ) -> Arc<Self> {
        let OutboxParts { tasks, halt, .. } = &parts;
        let (tasks, halt) = (tasks.clone(), halt.clone());
        let (settler, writing) = settler(Arc::clone(&parts.store), Arc::clone(&parts.clock));
        // Not among the agent's tasks: it ends after the last of them.
        tokio::spawn(writing);
        let worlds =
            Worlds { directory: Arc::clone(&parts.directory), store: Arc::clone(&parts.store) };
        Arc::new_cyclic(|weak: &Weak<Self>| {
            let weak = Weak::clone(weak);
            let lanes = Lanes::new(usize::MAX, tasks, move |lane| {
                let (outbox, halt) = (weak.upgrade(), halt.clone());
                let work = outbox.map(|outbox| work(outbox, lane));
                async move {
                    if let Some(work) = work {
                        halt.run_until_cancelled(work).await;
                    }
                }
            });
            Self {
                routes: Routes::new(Arc::clone(&parts.clock), parts.events.clone(), worlds),
                identity: parts.identity,
                profile: parts.profile,
                store: parts.store,
                clock: parts.clock,
                events: parts.events,
                directory: parts.directory,
                ownership: parts.ownership,
                in_flight: InFlight::default(),
                settler,
                tracer: parts.tracer,
                lanes,
            }
        })
    }

    /// Lanes with work right now.
    pub(crate) fn active(&self) -> usize {
        self.lanes.active()
    }

    /// Waits until every outcome handed over so far is stored.
    pub(crate) async fn flush(&self) {
        self.settler.flush().await;
    }

    /// A job goes to its Room's lane.
    pub(super) fn push(&self, job: Job) {
        self.lanes.push(job.delivery.address.room, job);
    }

    /// Wakes the process that sends.
    pub(super) fn wake_sender(&self) {
        self.ownership.hints().notify(Hint::Outbox);
    }
}

/// An account on which answers have to wait longer than they may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongWait {
    /// The platform.
    pub source: Source,
    /// The account there.
    pub account: Account,
    /// End of the wait.
    pub until: Timestamp,
}

impl Outbox {
    /// Time that an answer may wait.
    pub(crate) fn answer_ttl(&self) -> Duration {
        self.profile.get().limits.answer_ttl
    }

    /// Accounts on which the platform asks to wait longer than an answer may.
    pub(crate) fn long_waits(&self) -> Vec<LongWait> {
        let (now, longest) = (self.clock.now(), self.answer_ttl());
        let of = |route: Arc<Route>| {
            let left = route.stack.gate().longest_wait(now)?;
            (left > longest).then(|| LongWait {
                source: route.info.source.clone(),
                account: route.info.account.clone(),
                until: now.plus(left),
            })
        };
        self.routes.all().into_iter().filter_map(of).collect()
    }
}
