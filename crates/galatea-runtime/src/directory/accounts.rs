//! Ids of a platform that an agent's accounts there share, and ids that each account has to itself.
//!
//! People and Worlds are shared by all accounts. A Room and its messages are an account's own: two
//! bots sit in one channel and each hears everything there, and Telegram counts messages per bot.
//! The account that came first has the ids elizaOS derives; those of every other are derived from
//! `account/id`.

use dashmap::DashSet;
use galatea_core::{
    Account, AgentId, AgentIdentity, Connector, ConnectorInfo, EntityId, MemoryId, RemoteId,
    Result, RoomId, Source, Store, Timestamp,
};
use std::{collections::BTreeMap, sync::Arc};
use uuid::Uuid;

/// The accounts of one agent.
pub(crate) struct Accounts {
    identity: AgentIdentity,
    /// Of each platform, the account with elizaOS's ids.
    first: BTreeMap<Source, Account>,
    /// Every login of this agent: what one of them says is said by the agent itself.
    own: DashSet<(Source, String)>,
}

fn first_account_key(source: &Source) -> String {
    format!("first-account:{source}")
}

/// The account that came first on a platform, as it was kept.
pub(crate) async fn first(
    store: &dyn Store,
    agent: AgentId,
    source: &Source,
    now: Timestamp,
) -> Result<Option<Account>> {
    let kept = store.cached(agent, &first_account_key(source), now).await?;
    Ok(kept.and_then(|kept| kept.as_str().map(|text| Account(text.to_owned()))))
}

impl Accounts {
    /// The first account is kept, so that ids stay what they are when the order of settings
    /// changes.
    pub(crate) async fn load(
        store: &dyn Store,
        identity: AgentIdentity,
        connectors: &[Arc<dyn Connector>],
        now: Timestamp,
    ) -> Result<Self> {
        let mut first = BTreeMap::new();
        for info in connectors.iter().map(|c| c.info()) {
            if first.contains_key(&info.source) {
                continue;
            }
            let kept = self::first(store, identity.id(), &info.source, now).await?;
            first.insert(info.source.clone(), kept.unwrap_or_else(|| info.account.clone()));
        }
        let own = connectors
            .iter()
            .map(|c| (c.info().source.clone(), c.info().account.0.clone()))
            .collect();
        Ok(Self { identity, first, own })
    }

    /// The accounts as they were when messages of the past were sent: the one that came first, if
    /// any was ever connected, and these further ids of the agent itself. Also returns that account.
    pub(crate) async fn of_past(
        store: &dyn Store,
        identity: AgentIdentity,
        source: &Source,
        own: &[RemoteId],
        now: Timestamp,
    ) -> Result<(Self, Option<Account>)> {
        let first = first(store, identity.id(), source, now).await?;
        let own = own
            .iter()
            .map(|id| id.as_str().to_owned())
            .chain(first.iter().map(|account| account.0.clone()))
            .map(|id| (source.clone(), id))
            .collect();
        let accounts = first
            .iter()
            .map(|account| (source.clone(), account.clone()))
            .collect::<BTreeMap<_, _>>();
        Ok((Self { identity, first: accounts, own }, first))
    }

    /// Keeps which account came first, once it is connected: an account may still be unknown before
    /// it logs in.
    pub(crate) async fn keep(
        &self,
        store: &dyn Store,
        info: &ConnectorInfo,
        now: Timestamp,
    ) -> Result<()> {
        let key = first_account_key(&info.source);
        if !self.is_first(&info.source, &info.account)
            || store.cached(self.identity.id(), &key, now).await?.is_some()
        {
            return Ok(());
        }
        store.cache(self.identity.id(), &key, &info.account.0.clone().into(), None).await
    }

    /// Another login of this agent, which a process of the cluster has.
    pub(crate) fn learn(&self, info: &ConnectorInfo) {
        self.own.insert((info.source.clone(), info.account.0.clone()));
    }

    fn is_first(&self, source: &Source, account: &Account) -> bool {
        self.first.get(source).is_none_or(|first| first == account)
    }

    fn id(&self, source: &Source, account: &Account, base: &str) -> Uuid {
        if self.is_first(source, account) {
            self.identity.swizzle(base)
        } else {
            self.identity.swizzle_for(account, base)
        }
    }

    /// The agent's other accounts on a platform, each with whether it goes before this one where both
    /// hear a question that is for neither in particular.
    pub(crate) fn others(&self, source: &Source, account: &Account) -> Vec<(Account, bool)> {
        let rank = |account: &Account| (!self.is_first(source, account), account.0.clone());
        let mine = rank(account);
        self.own
            .iter()
            .filter(|one| one.0 == *source && one.1 != account.0)
            .map(|one| Account(one.1.clone()))
            .map(|other| (other.clone(), rank(&other) < mine))
            .collect()
    }

    /// The Room an account sees under this id.
    pub(crate) fn room(&self, source: &Source, account: &Account, remote: &RemoteId) -> RoomId {
        RoomId(self.id(source, account, remote.as_str()))
    }

    /// The message an account sees under this id.
    pub(crate) fn memory(&self, info: &ConnectorInfo, base: &str) -> MemoryId {
        MemoryId(self.id(&info.source, &info.account, base))
    }

    /// The entity with this id on a platform; each of the agent's accounts is the agent.
    pub(crate) fn entity(&self, source: &Source, remote: &RemoteId) -> EntityId {
        let own = self.own.contains(&(source.clone(), remote.as_str().to_owned()));
        if own { self.identity.entity() } else { EntityId(self.identity.swizzle(remote.as_str())) }
    }
}
