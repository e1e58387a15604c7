//! An agent as the keeper sees it: work that is shared out among processes.

use galatea_core::{Account, AgentId, KnownAccount, Source, store::Partition};
use std::sync::Arc;

use super::{LeaseGuard, Ownership, RoomPartition};

/// A running agent, as the keeper of leases sees it.
pub(crate) trait SharedAgent: Send + Sync {
    fn id(&self) -> AgentId;
    /// Its name, for other processes and the log.
    fn name(&self) -> String;
    /// The part of its work that this process does.
    fn ownership(&self) -> &Ownership;
    /// The logins of this process that processes take turns with.
    fn accounts(&self) -> Vec<(Source, Account)>;
    /// Facts about itself in the form that every process should know.
    fn known_accounts(&self) -> Vec<KnownAccount>;
    /// The accounts that some process has the login of.
    fn learn(&self, accounts: Vec<KnownAccount>);
    /// Accounts of others that this process cannot write for.
    fn unserved(&self) -> Vec<Partition>;
    /// Platforms on which this process has still to log in.
    fn logins_needed(&self) -> Vec<Source>;
    /// It begins nothing new.
    fn is_stopping(&self) -> bool;
    /// Number of processes that answer for it.
    fn answered_by(&self, processes: usize);
    /// Connects an account that this process holds now, until the lease ends.
    fn connect(self: Arc<Self>, source: &Source, account: &Account, lease: LeaseGuard);
    /// Another process holds an account.
    fn connected_elsewhere(&self, source: &Source, account: &Account);
    /// Answers in Rooms that this process holds now, after what other processes left there.
    fn answer(self: Arc<Self>, partitions: Vec<Arc<RoomPartition>>);
}
