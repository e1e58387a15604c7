//! The inbox of one agent: its parts.

use dashmap::DashMap;
use galatea_core::{AgentId, Clock, MemoryId, RoomId, Store, store::InboxEntry};
use parking_lot::Mutex;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::instances::Instances;
use crate::{
    directory::Directory,
    in_flight::InFlight,
    lanes::{Lane, Lanes},
    outbox::Outbox,
    ownership::Ownership,
    turn::{Claimed, Engine},
};

/// Messages kept in memory per Room; more are read back from the store when their turn comes.
pub(super) const IN_MEMORY: usize = 256;

/// The inbox of one agent.
pub(crate) struct Inbox {
    pub(super) agent: AgentId,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) directory: Arc<Directory>,
    pub(super) ownership: Arc<Ownership>,
    pub(super) engine: Arc<Engine>,
    pub(super) outbox: Arc<Outbox>,
    /// Pause between polls of the store.
    pub(super) poll: Duration,
    /// Ends polling; turns go on.
    pub(super) stop: CancellationToken,
    pub(super) in_flight: InFlight<MemoryId>,
    /// Held while a message is claimed and put into its lane: a snapshot of the messages in flight
    /// that was taken in between would name one that is not in its lane yet, and one that follows
    /// it could be put there before it.
    pub(super) claiming: Mutex<()>,
    /// Held while the inbox is polled: of two polls at once the one that read earlier could hand
    /// over its messages later, out of order.
    pub(super) polling: tokio::sync::Mutex<()>,
    /// Notified when messages of an account that processes share wait in the store.
    pub(crate) due: Notify,
    /// Instances that make turns, where their number is limited.
    pub(crate) instances: Arc<Instances>,
    /// Messages of other processes for which the platform shows that an answer is coming.
    pub(super) awaited: DashMap<MemoryId, InboxEntry>,
    pub(super) lanes: Lanes<RoomId, Claimed>,
}

/// The parts that an inbox is given.
pub(crate) struct InboxParts {
    pub(crate) agent: AgentId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) directory: Arc<Directory>,
    /// Rooms in which this process answers.
    pub(crate) ownership: Arc<Ownership>,
    pub(crate) engine: Arc<Engine>,
    /// Routes to accounts, and the deliveries that go out before the next turn.
    pub(crate) outbox: Arc<Outbox>,
    /// Messages in lanes and turns, as the engine sees them.
    pub(crate) in_flight: InFlight<MemoryId>,
    /// Pause between polls of the store.
    pub(crate) poll: Duration,
    /// Lanes are among these tasks; the agent's end waits for them.
    pub(crate) tasks: TaskTracker,
    /// Ends polling; turns go on.
    pub(crate) stop: CancellationToken,
    /// Ends turns where they are, when stopping took too long. The store knows how to go on.
    pub(crate) halt: CancellationToken,
}

impl Inbox {
    /// Lanes hold the inbox weakly, or neither would ever end. `work` is the task of a lane.
    pub(super) fn assemble<F: Future<Output = ()> + Send + 'static>(
        parts: InboxParts,
        work: impl Fn(Arc<Self>, Lane<RoomId, Claimed>) -> F + Send + Sync + 'static,
    ) -> Arc<Self> {
        let InboxParts { tasks, halt, .. } = &parts;
        let (tasks, halt) = (tasks.clone(), halt.clone());
        Arc::new_cyclic(|weak: &Weak<Self>| {
            let weak = Weak::clone(weak);
            let lanes = Lanes::new(IN_MEMORY, tasks, move |lane| {
                let (inbox, halt) = (weak.upgrade(), halt.clone());
                let work = inbox.map(|inbox| work(inbox, lane));
                async move {
                    if let Some(work) = work {
                        halt.run_until_cancelled(work).await;
                    }
                }
            });
            Self {
                agent: parts.agent,
                store: parts.store,
                clock: parts.clock,
                directory: parts.directory,
                ownership: parts.ownership,
                engine: parts.engine,
                outbox: parts.outbox,
                poll: parts.poll,
                stop: parts.stop,
                in_flight: parts.in_flight,
                claiming: Mutex::default(),
                polling: tokio::sync::Mutex::default(),
                due: Notify::new(),
                instances: Arc::default(),
                awaited: DashMap::new(),
                lanes,
            }
        })
    }

    /// Messages in lanes and turns right now.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// True if a platform shows that an answer comes which another process makes.
    pub(crate) fn is_awaiting(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Lanes with work right now.
    pub(crate) fn active(&self) -> usize {
        self.lanes.active()
    }
}
