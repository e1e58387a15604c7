//! The ids of people and places, and the rows about them that are known without asking the store.

pub(crate) mod accounts;
mod fingerprint;
mod known;
mod rooms;

use galatea_core::{
    Account, AgentIdentity, Connector, RemoteId, Result, RoomId, Source, Store, Timestamp,
};
use std::sync::Arc;

pub(crate) use accounts::Accounts;
pub(crate) use fingerprint::{Fingerprint, fingerprints};
pub(crate) use known::KnownConnections;
pub(crate) use rooms::{RoomCache, RoomInfo};

use fingerprint::Owner;

/// People and places of one agent.
pub(crate) struct Directory {
    /// Derives our ids from the platforms' ids.
    pub(crate) identity: AgentIdentity,
    /// Its logins, and which of the platform's ids they share.
    pub(crate) accounts: Accounts,
    /// Rooms in use, with their World and the agent's state there.
    pub(crate) rooms: RoomCache,
    /// Rows known to be stored.
    pub(crate) known: KnownConnections,
}

impl Directory {
    /// Reads which account of each platform came first; everything else is read when needed.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn load(
        store: &dyn Store,
        identity: AgentIdentity,
        connectors: &[Arc<dyn Connector>],
        now: Timestamp,
    ) -> Result<Self> {
        Ok(Self {
            accounts: Accounts::load(store, identity.clone(), connectors, now).await?,
            rooms: RoomCache::new(identity.id()),
            known: KnownConnections::new(),
            identity,
        })
    }

    /// For messages of the past of one platform ([`Accounts::of_past`]).
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn of_past(
        store: &dyn Store,
        identity: AgentIdentity,
        source: &Source,
        own: &[RemoteId],
        now: Timestamp,
    ) -> Result<(Self, Option<Account>)> {
        let (accounts, first) =
            Accounts::of_past(store, identity.clone(), source, own, now).await?;
        let directory = Self {
            accounts,
            rooms: RoomCache::new(identity.id()),
            known: KnownConnections::new(),
            identity,
        };
        Ok((directory, first))
    }

    /// Call after these rows are committed, and not before: a commit that failed must be tried
    /// again.
    pub(crate) fn committed(&self, rows: Vec<Fingerprint>) {
        for row in rows {
            match row.owner {
                Owner::Room => self.rooms.forget(RoomId(row.id)),
                Owner::World => self.rooms.forget_all(),
                Owner::Entity | Owner::Participant => {}
            }
            self.known.insert(row);
        }
    }

    /// Call after the store has moved a Room.
    pub(crate) fn moved(&self, from: RoomId, to: RoomId, remote: &RemoteId) {
        self.rooms.moved(from, to, remote);
        self.known.clear();
    }
}
