//! Accounts of an agent whose login other processes have: this process writes for them, and they
//! send.

use galatea_core::{Account, AgentId, ConnectorInfo, KnownAccount, Source, store::Partition};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;

use super::spec::Encoders;

/// The accounts that this process has read of.
pub(super) struct Company {
    pub(super) encoders: Encoders,
    known: Mutex<BTreeMap<(Source, Account), Known>>,
}

struct Known {
    account: KnownAccount,
    /// This process can write for it.
    served: bool,
}

impl Company {
    /// Knows no account yet.
    pub(super) fn new(encoders: Encoders) -> Self {
        Self { encoders, known: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Source, Account), Known>> {
        self.known.lock()
    }

    /// Whether this was read of an account before.
    pub(super) fn knows(&self, account: &KnownAccount) -> bool {
        let key = (account.info.source.clone(), account.info.account.clone());
        self.lock().get(&key).is_some_and(|known| known.account == *account)
    }

    /// Keeps what was read of an account, and whether this process can write for it.
    pub(super) fn keep(&self, account: KnownAccount, served: bool) {
        let key = (account.info.source.clone(), account.info.account.clone());
        self.lock().insert(key, Known { account, served });
    }

    /// Those that this process cannot write for.
    pub(super) fn unserved(&self, agent: AgentId) -> Vec<Partition> {
        let known = self.lock();
        let unserved = known.iter().filter(|(_, known)| !known.served);
        unserved.map(|((source, account), _)| Partition::account(source, agent, account)).collect()
    }

    /// Every account, also those whose login this process has.
    pub(super) fn all(&self, agent: AgentId) -> Vec<Partition> {
        let known = self.lock();
        known.keys().map(|(source, account)| Partition::account(source, agent, account)).collect()
    }

    /// The account that a login of this platform with this suffix of its settings was made for, on
    /// another machine.
    pub(super) fn logged_in(&self, source: &Source, suffix: &str) -> Option<ConnectorInfo> {
        let known = self.lock();
        let found = known
            .values()
            .find(|known| known.account.info.source == *source && known.account.suffix == suffix);
        found.map(|known| known.account.info.clone())
    }
}
