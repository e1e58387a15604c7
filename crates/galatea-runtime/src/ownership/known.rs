//! Exchanges with the store what is known of an agent's accounts. A process that has a login says
//! what the account is; a process without it reads that, and answers for the account all the same.

use galatea_core::{
    AgentId, Error, ErrorKind, KnownAccount, Result, Store, Timestamp,
    store::{Group, Partition},
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

use super::SharedAgent;

/// Number of processes alive in each group.
pub(super) type Alive = BTreeMap<Group, usize>;

/// Key of the accounts among an agent's small values.
const KEY: &str = "known-accounts";
/// Heartbeats between two reads; what a new process says is read as it joins.
const EVERY: u32 = 10;
/// Processes that change the value at the same moment try again so many times.
const TRIES: u32 = 20;

/// Accounts as this process said and read them.
#[derive(Debug, Default)]
pub(super) struct KnownAccounts {
    said: BTreeMap<AgentId, Vec<KnownAccount>>,
    read: BTreeMap<AgentId, Value>,
    /// Heartbeats until the next read.
    left: u32,
}

impl KnownAccounts {
    /// Reads with the next heartbeat.
    pub(super) fn expire(&mut self) {
        self.left = 0;
    }

    /// Stores what this process knows, if that is new, and reads what others know, if it is time.
    pub(super) async fn exchange(
        &mut self,
        store: &dyn Store,
        agents: &[Arc<dyn SharedAgent>],
    ) -> Result<()> {
        for agent in agents {
            let own = agent.known_accounts();
            if !own.is_empty() && self.said.get(&agent.id()) != Some(&own) {
                say(store, agent.id(), &own).await?;
                self.said.insert(agent.id(), own);
                self.left = 0;
            }
        }
        // An agent may have started later.
        let unread = agents.iter().any(|agent| !self.read.contains_key(&agent.id()));
        if self.left > 0 && !unread {
            self.left -= 1;
            return Ok(());
        }
        // One statement for all agents. The value has no end, so the time does not matter.
        let ids: Vec<AgentId> = agents.iter().map(|agent| agent.id()).collect();
        let mut stored: BTreeMap<AgentId, Value> =
            store.cached_of(&ids, KEY, Timestamp(0)).await?.into_iter().collect();
        for agent in agents {
            self.read(agent, stored.remove(&agent.id()).unwrap_or_default());
        }
        self.left = EVERY;
        Ok(())
    }

    fn read(&mut self, agent: &Arc<dyn SharedAgent>, stored: Value) {
        if self.read.get(&agent.id()) != Some(&stored) {
            let accounts = stored.as_object().into_iter().flat_map(Map::values);
            // An entry that this version cannot read belongs to a later one.
            let known = accounts.filter_map(|entry| serde_json::from_value(entry.clone()).ok());
            agent.learn(known.collect());
            self.read.insert(agent.id(), stored);
        }
    }
}

async fn stored(store: &dyn Store, agent: AgentId) -> Result<Option<Value>> {
    // The value has no end, so the time does not matter.
    store.cached(agent, KEY, Timestamp(0)).await
}

async fn say(store: &dyn Store, agent: AgentId, own: &[KnownAccount]) -> Result<()> {
    for _ in 0..TRIES {
        let seen = stored(store, agent).await?;
        let all = merged(seen.as_ref(), own);
        if seen.as_ref() == Some(&all) || store.swap(agent, KEY, seen.as_ref(), &all).await? {
            return Ok(());
        }
    }
    Err(Error::new(
        ErrorKind::Unavailable,
        "other processes change the known accounts all the time",
    ))
}

/// The stored accounts with those of this process. A user name that is not known here yet stays.
fn merged(stored: Option<&Value>, own: &[KnownAccount]) -> Value {
    let mut all = stored.and_then(Value::as_object).cloned().unwrap_or_default();
    for account in own {
        let key = format!("{}:{}", account.info.source, account.info.account);
        let handle = || Some(all.get(&key)?.get("handle")?.as_str()?.to_owned());
        let handle = account.handle.clone().or_else(handle);
        let account = KnownAccount { handle, ..account.clone() };
        if let Ok(value) = serde_json::to_value(&account) {
            all.insert(key, value);
        }
    }
    Value::Object(all)
}

/// True if a process can answer for every account of an agent that a live process can connect. An
/// account that no live process can connect brings no messages: it keeps no Rooms from a process
/// that could answer in them. Before anything is known of others, every account counts.
fn is_able(unserved: &[Partition], alive: Option<&Alive>) -> bool {
    unserved
        .iter()
        .all(|part| alive.is_some_and(|alive| !alive.contains_key(&Group::account(part))))
}

/// The group in which a process answers for an agent: that of those who can answer for all of its
/// accounts, or that of the others.
pub(super) fn answering(agent: AgentId, unserved: &[Partition], alive: Option<&Alive>) -> Group {
    if is_able(unserved, alive) { Group::rooms(agent) } else { Group::some_rooms(agent) }
}

/// Number of processes that share an agent's Rooms with this one; none if this one leaves them to
/// those that can answer for every account.
pub(super) fn answering_with(agent: AgentId, unserved: &[Partition], alive: &Alive) -> usize {
    let count = |group: &Group| alive.get(group).copied().unwrap_or(0);
    let (able, some) = (count(&Group::rooms(agent)), count(&Group::some_rooms(agent)));
    if is_able(unserved, Some(alive)) {
        able.max(1)
    } else if able > 0 {
        0
    } else {
        some.max(1)
    }
}

/// The groups of the processes that can connect these accounts.
pub(super) fn connecting(parts: &[Partition]) -> impl Iterator<Item = Group> {
    parts.iter().map(Group::account)
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Account, Capabilities, ConnectorInfo, ReadBack, Source, TextUnit};

    fn account(name: &str, handle: Option<&str>) -> KnownAccount {
        let capabilities = Capabilities {
            max_text: 10,
            text_unit: TextUnit::Utf16,
            edit: false,
            delete: false,
            react: false,
            typing: false,
            buttons: false,
            files: false,
            threads: false,
            read_back: ReadBack::None,
            public: true,
        };
        let (source, account) = (Source::new("stage"), Account(name.into()));
        KnownAccount {
            info: ConnectorInfo { source, account, capabilities },
            handle: handle.map(str::to_owned),
            suffix: String::new(),
        }
    }

    #[test]
    fn accounts_of_others_stay_and_a_name_is_not_forgotten() {
        let first = merged(None, &[account("1", Some("ada"))]);
        let both = merged(Some(&first), &[account("2", None)]);
        assert_eq!(both.as_object().unwrap().len(), 2);
        let again = merged(Some(&both), &[account("1", None), account("2", Some("bob"))]);
        let read = |key: &str| serde_json::from_value::<KnownAccount>(again[key].clone()).unwrap();
        assert_eq!(read("stage:1"), account("1", Some("ada")));
        assert_eq!(read("stage:2"), account("2", Some("bob")));
        assert_eq!(merged(Some(&again), &[account("1", None)]), again, "nothing to store");
    }

    #[test]
    fn only_accounts_that_a_live_process_can_connect_keep_rooms_from_a_process() {
        let agent = AgentId(galatea_core::ids::uuid_of("ada"));
        let part = |name: &'static str| {
            Partition::account(&Source::new(name), agent, &Account("1".into()))
        };
        let (here, gone) = (part("here"), part("gone"));
        let (rooms, some) = (Group::rooms(agent), Group::some_rooms(agent));
        let alive =
            Alive::from([(Group::account(&here), 1), (rooms.clone(), 2), (some.clone(), 3)]);
        let group = |unserved: &[Partition], alive| answering(agent, unserved, alive);
        assert_eq!(group(&[], None), rooms);
        assert_eq!(group(std::slice::from_ref(&gone), None), some, "nothing is known of others");
        assert_eq!(group(std::slice::from_ref(&gone), Some(&alive)), rooms);
        assert_eq!(group(std::slice::from_ref(&here), Some(&alive)), some);
        assert_eq!(group(&[gone.clone(), here.clone()], Some(&alive)), some);

        let with = |unserved: &[Partition]| answering_with(agent, unserved, &alive);
        assert_eq!([with(&[]), with(std::slice::from_ref(&gone))], [2, 2]);
        assert_eq!(with(std::slice::from_ref(&here)), 0, "others can answer everywhere");
        let nobody = Alive::from([(Group::account(&here), 1), (some, 3)]);
        assert_eq!(answering_with(agent, &[here], &nobody), 3);
        assert_eq!(answering_with(agent, &[gone], &nobody), 1);
    }
}
