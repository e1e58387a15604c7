//! Accounts of an agent whose login other processes have: this process writes for them, and they
//! send.

use galatea_core::{Account, AgentId, ConnectorInfo, KnownAccount, Source, store::Partition};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    agent::Agent,
    spec::{Encoder, Encoders},
    supervise,
};

/// The accounts that this process has read of.
pub(super) struct Company {
    encoders: Encoders,
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
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Agent {
    /// The accounts whose login this process has, as others should know them.
    pub(super) fn known_accounts(&self) -> Vec<KnownAccount> {
        let connectors = self.shared_connectors();
        let logged_in = connectors.filter(|connector| connector.login_needed().is_none());
        let known = |info: &ConnectorInfo| KnownAccount {
            handle: self
                .outbox
                .routes
                .any(&info.source, &info.account)
                .and_then(|route| route.handler.handle()),
            suffix: self.inbox.policies().suffix(&info.source, &info.account),
            info: info.clone(),
        };
        logged_in.map(|connector| known(connector.info())).collect()
    }

    /// Prepares to write for the accounts whose login other processes have.
    pub(super) fn learn(&self, accounts: Vec<KnownAccount>) {
        for account in accounts {
            let info = account.info.clone();
            let key = (info.source.clone(), info.account.clone());
            if self.company.lock().get(&key).is_some_and(|known| known.account == account) {
                continue;
            }
            self.directory.accounts.learn(&info);
            let served =
                self.connector(&info.source, &info.account).is_some() || self.write_for(&account);
            self.company.lock().insert(key, Known { account, served });
        }
        // Another process has the login that this one waits for.
        for connector in self.shared_connectors().filter(|c| c.login_needed().is_some()) {
            if self.account_of(connector.info()).is_some() {
                supervise::elsewhere(self, connector.as_ref());
            }
        }
    }

    /// The account that a connector without a login stands for, where another process has the
    /// login.
    pub(super) fn account_of(&self, info: &ConnectorInfo) -> Option<ConnectorInfo> {
        let suffix = self.inbox.policies().suffix(&info.source, &info.account);
        self.company.logged_in(&info.source, &suffix)
    }

    fn write_for(&self, account: &KnownAccount) -> bool {
        let ConnectorInfo { source, account: name, .. } = &account.info;
        let Encoder { handler, settings } = match self.company.encoders.build(account) {
            Ok(Some(encoder)) => encoder,
            Ok(None) => {
                tracing::warn!(source = %source, account = %name, "this process has no connector for the platform of an account that another process has; it leaves the agent's rooms to processes that have one");
                return false;
            }
            Err(error) => {
                tracing::error!(source = %source, account = %name, code = error.code(), error = %error.report(), fix = error.fix(), "this process cannot answer for an account that another process has");
                return false;
            }
        };
        if let Some(settings) = settings {
            self.inbox.policies().learn(source, name, settings);
        }
        self.outbox.routes.encode_without_login(&account.info, handler);
        self.ownership.lease_also(source);
        tracing::info!(source = %source, account = %name, "another process has the login of this account; this one can answer for it");
        true
    }
}
