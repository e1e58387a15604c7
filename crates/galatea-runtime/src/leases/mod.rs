//! Leases: several processes share a database and an agent's work. One connects an account, one answers in a Room, and when one is gone
//! another goes on.

mod accounts;
mod events;
mod keeper;
mod look;
mod rooms;
mod shares;
mod steady;
mod tenure;

use galatea_core::{
    Error, Hints, MemberId, NoHints, Result, Store,
    store::{Membership, Role},
};
use std::{sync::Arc, time::Duration};

pub(crate) use keeper::Keeper;
pub(crate) use look::Looks;
pub(crate) use shares::{Hands, RoomShare, Shares};
pub(crate) use tenure::Tenure;

/// How a process shares a database with others.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Who it is, for as long as it runs.
    pub member: MemberId,
    /// For people: host and process.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// How long its work stays its own after the last sign of life.
    pub ttl: Duration,
    /// Between two signs of life, and between two looks for work that nobody does.
    pub tick: Duration,
    /// How processes tell each other that a look is worth it.
    pub hints: Arc<dyn Hints>,
}

impl ClusterOptions {
    /// With the times of production: six seconds, and a sign of life every half second, so that many may be missed.
    pub fn new(member: MemberId, name: String, role: Role) -> Self {
        Self { member, name, role, ttl: Duration::from_secs(6), tick: Duration::from_millis(500), hints: Arc::new(NoHints::default()) }
    }

    /// With a bus, if there is one.
    #[must_use]
    pub fn with_hints(mut self, hints: Option<Arc<dyn Hints>>) -> Self {
        self.hints = hints.unwrap_or(self.hints);
        self
    }

    fn membership(&self) -> Membership {
        Membership { name: self.name.clone(), role: self.role, groups: Vec::new() }
    }
}

/// The options, where the store can be shared.
///
/// # Errors
/// `Invalid` (`GAL-ROLE`) for a role that leaves work to others, where there can be none.
pub(crate) fn shared(store: &Arc<dyn Store>, options: Option<ClusterOptions>) -> Result<Option<ClusterOptions>> {
    match options {
        Some(options) if store.is_shared() => Ok(Some(options)),
        Some(ClusterOptions { role: Role::All, .. }) | None => Ok(None),
        Some(ClusterOptions { role, .. }) => {
            Err(Error::invalid(format!("a process of the role {role} leaves work to others, and with this database there can be none"))
                .with_code("GAL-ROLE")
                .with("cause", "a SQLite file has one process; several machines share a PostgreSQL")
                .with_fix("set DATABASE_URL to a PostgreSQL, or start without --role"))
        }
    }
}
