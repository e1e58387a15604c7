//! Claims those accounts of an agent that no other process holds, and releases more than a fair
//! share.
//!
//! Processes may have the logins of different accounts. Each counts for an account as one of those
//! that can connect it, so no account waits for a process that cannot. Accounts that few processes
//! can connect are claimed first and released last.

use galatea_core::{
    Account, Result, Source,
    store::{Group, Partition},
};
use std::sync::Arc;

use super::{SharedAgent, keeper::Keeper, known::Alive};

impl Keeper {
    pub(super) async fn share_accounts(
        &mut self,
        agent: &Arc<dyn SharedAgent>,
        alive: &Alive,
    ) -> Result<()> {
        let (id, ownership) = (agent.id(), agent.ownership());
        let mut all = by_rarity(agent.accounts().into_iter().map(|(source, account)| {
            let part = Partition::account(&source, id, &account);
            let able = alive.get(&Group::account(&part)).copied().unwrap_or(1).max(1);
            AccountLogin { source, account, part, able }
        }));
        let mut mine = ownership.accounts();
        let place = |login: &(Source, Account)| all.iter().position(|one| one.is(login));
        mine.sort_by_key(|(login, _)| place(login));
        let share = share(all.iter().map(|login| login.able));
        if mine.len() > share {
            for ((source, account), lease) in mine.into_iter().skip(share) {
                tracing::info!(source = %source, account = %account, "handed over to a process that has fewer accounts");
                lease.close();
                ownership.drop_account(&source, &account, &lease);
            }
            return Ok(());
        }
        let is_mine = |login: &AccountLogin| mine.iter().any(|(held, _)| login.is(held));
        let mut most = share;
        if mine.len() == share {
            for login in all.iter().filter(|login| !is_mine(login)) {
                agent.connected_elsewhere(&login.source, &login.account);
            }
            // An account that no process holds is taken in place of one that more processes can
            // connect.
            let commonest = mine.iter().filter_map(|(held, _)| place(held)).max();
            all.retain({
                let able = commonest.and_then(|at| all.get(at)).map_or(0, |login| login.able);
                let held: Vec<Partition> =
                    all.iter().filter(|login| is_mine(login)).map(|l| l.part.clone()).collect();
                move |login| login.able < able || held.contains(&login.part)
            });
            if all.len() == mine.len() {
                return Ok(());
            }
            most = share + 1;
        } else if ownership.is_shared() {
            // Takes them one after another where there are others, so that several agents spread.
            most = mine.len() + 1;
        }
        let parts: Vec<Partition> = all.iter().map(|login| login.part.clone()).collect();
        let held = self.store.claim(self.options.member, &parts, most, self.options.ttl).await?;
        for login in &all {
            let Some(lease) = held.iter().find(|lease| lease.part == login.part) else {
                agent.connected_elsewhere(&login.source, &login.account);
                continue;
            };
            if mine.iter().any(|(held, _)| login.is(held)) || self.is_going_on(&login.part) {
                continue;
            }
            let lease = self.begin(lease);
            let AccountLogin { source, account, .. } = login;
            ownership.take_account(source.clone(), account.clone(), lease.clone());
            Arc::clone(agent).connect(source, account, lease);
        }
        Ok(())
    }
}

/// An account whose login this process has.
struct AccountLogin {
    source: Source,
    account: Account,
    part: Partition,
    /// Number of live processes that can connect it.
    able: usize,
}

impl AccountLogin {
    fn is(&self, (source, account): &(Source, Account)) -> bool {
        self.source == *source && self.account == *account
    }
}

/// The accounts that the fewest processes can connect go first, the others in their order.
fn by_rarity(logins: impl Iterator<Item = AccountLogin>) -> Vec<AccountLogin> {
    let mut all: Vec<AccountLogin> = logins.collect();
    all.sort_by_key(|login| login.able);
    all
}

/// The fair share of a process that can connect accounts of which so many processes can connect
/// each: the sum of its parts, rounded up.
fn share(able: impl Iterator<Item = usize>) -> usize {
    /// Fine enough that no rounding adds up to a part.
    const WHOLE: usize = 1_000_000_000;
    able.map(|able| WHOLE / able.max(1)).sum::<usize>().div_ceil(WHOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_counts_only_those_who_can_connect() {
        let of = |able: &[usize]| share(able.iter().copied());
        assert_eq!([of(&[]), of(&[1]), of(&[1, 1]), of(&[2, 2]), of(&[3])], [0, 1, 2, 1, 1]);
        assert_eq!([of(&[1, 2]), of(&[2, 2, 2]), of(&[7; 7]), of(&[3; 8])], [2, 2, 1, 3]);
        assert_eq!(of(&[1; 64]), 64);
    }
}
