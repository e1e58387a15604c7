//! The policy of each account, read once: changed settings make new policies.

use dashmap::DashMap;
use galatea_core::{Account, Result, Settings, Source};
use std::{collections::HashMap, sync::Arc};

use super::Policy;

/// Settings of a further account on a platform.
#[derive(Debug, Clone)]
pub struct AccountSettings {
    /// The settings that this account reads.
    pub settings: Settings,
    /// The suffix of its settings' names, such as `_2`.
    pub suffix: String,
}

/// Policies of one agent's accounts.
pub(crate) struct Policies {
    settings: Settings,
    /// Accounts with settings of their own.
    own: DashMap<(Source, Account), AccountSettings>,
    read: DashMap<(Source, Account), Arc<Policy>>,
}

impl Policies {
    /// Accounts that are not in `own` read the agent's settings.
    pub(crate) fn new(
        settings: Settings,
        own: HashMap<(Source, Account), AccountSettings>,
    ) -> Self {
        Self { settings, own: own.into_iter().collect(), read: DashMap::new() }
    }

    /// Takes over the accounts of `before` that are not among the own ones, such as those that became
    /// known while the agent ran.
    pub(crate) fn adopt(&self, before: &Self) {
        for own in &before.own {
            self.own.entry(own.key().clone()).or_insert_with(|| own.value().clone());
        }
    }

    /// Adds the settings of an account that became known while the agent runs.
    pub(crate) fn learn(&self, source: &Source, account: &Account, own: AccountSettings) {
        let key = (source.clone(), account.clone());
        self.own.insert(key.clone(), own);
        self.read.remove(&key);
    }

    /// The suffix of the settings that are an account's own; empty where it has none.
    pub(crate) fn suffix(&self, source: &Source, account: &Account) -> String {
        let own = self.own.get(&(source.clone(), account.clone()));
        own.map(|own| own.suffix.clone()).unwrap_or_default()
    }

    /// The policy of one account.
    ///
    /// # Errors
    /// A setting that cannot be read.
    pub(crate) fn of(&self, source: &Source, account: &Account) -> Result<Arc<Policy>> {
        let key = (source.clone(), account.clone());
        if let Some(known) = self.read.get(&key) {
            return Ok(Arc::clone(&known));
        }
        let policy = Arc::new(match self.own.get(&key) {
            Some(own) => Policy::of_account(&own.settings, source, &own.suffix)?,
            None => Policy::from_settings(&self.settings, source)?,
        });
        self.read.insert(key, Arc::clone(&policy));
        Ok(policy)
    }
}
