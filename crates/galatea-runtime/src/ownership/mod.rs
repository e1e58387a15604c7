//! Several processes share a database and an agent's work. Leases say which process connects an
//! account and which answers in a Room; when one process is gone, another claims its leases.

mod accounts;
mod assignment;
mod clocks;
mod events;
mod keeper;
mod known;
mod lease;
mod peers;
mod poller;
mod rooms;
mod shared_agent;
mod steady;

use galatea_core::{
    Error, Hints, MemberId, NoHints, Result, Skew, Store,
    store::{About, Membership, ProcessRole},
};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use assignment::{Assignment, Ownership, RoomPartition};
pub use clocks::compare_clocks;
pub(crate) use keeper::Keeper;
pub(crate) use lease::{LeaseGuard, WeakLease};
pub(crate) use poller::Poller;
pub(crate) use shared_agent::SharedAgent;

/// Options of a process that shares a database with others.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Identity, for as long as it runs.
    pub member: MemberId,
    /// For people: host and process.
    pub name: String,
    /// Work that this process takes on.
    pub role: ProcessRole,
    /// Time that its leases last after the last heartbeat.
    pub ttl: Duration,
    /// Between two heartbeats, and between two polls for unclaimed work.
    pub tick: Duration,
    /// Way in which processes wake each other for new work.
    pub hints: Arc<dyn Hints>,
    /// Description of this process for the others.
    pub about: About,
    /// Distance of the store's clock from this machine's: kept current.
    pub skew: Skew,
    /// Time at which the store answered a heartbeat: kept current.
    pub beats: Beats,
}

/// Time at which the store last answered a heartbeat of this process.
#[derive(Debug, Clone, Default)]
pub struct Beats(Arc<Mutex<Option<Instant>>>);

impl Beats {
    fn note(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// The time since then; none before the first.
    pub fn silence(&self) -> Option<Duration> {
        self.0.lock().map(|at| at.elapsed())
    }
}

impl ClusterOptions {
    /// With the times of production: six seconds, and a heartbeat every half second, so that many
    /// may be missed.
    pub fn new(member: MemberId, name: String, role: ProcessRole) -> Self {
        Self {
            member,
            name,
            role,
            ttl: Duration::from_secs(6),
            tick: Duration::from_millis(500),
            hints: Arc::new(NoHints::default()),
            about: About::default(),
            skew: Skew::default(),
            beats: Beats::default(),
        }
    }

    /// With a bus, if there is one.
    #[must_use]
    pub fn with_hints(mut self, hints: Option<Arc<dyn Hints>>) -> Self {
        self.hints = hints.unwrap_or(self.hints);
        self
    }

    fn membership(&self) -> Membership {
        let about = About { skew_millis: self.skew.millis(), ..self.about.clone() };
        Membership { name: self.name.clone(), role: self.role, groups: Vec::new(), about }
    }
}

/// The options, where the store can be shared.
///
/// # Errors
/// `Invalid` (`GAL-ROLE`) for a role that leaves work to others, where there can be none.
pub(crate) fn shared(
    store: &Arc<dyn Store>,
    options: Option<ClusterOptions>,
) -> Result<Option<ClusterOptions>> {
    match options {
        Some(options) if store.is_shared() => Ok(Some(options)),
        Some(ClusterOptions { role: ProcessRole::All, .. }) | None => Ok(None),
        Some(ClusterOptions { role, .. }) => {
            Err(Error::invalid(format!("a process of the role {role} leaves work to others, and with this database there can be none"))
                .with_code("GAL-ROLE")
                .with("cause", "a SQLite file has one process; several machines share a PostgreSQL")
                .with_fix("set DATABASE_URL to a PostgreSQL, or start without --role"))
        }
    }
}
