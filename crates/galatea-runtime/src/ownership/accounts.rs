//! Claims those accounts of an agent that no other process holds, and releases more than a fair
//! share.

use galatea_core::{
    Account, Result, Source,
    store::{Group, Partition, fair_share},
};
use std::sync::Arc;

use super::{
    SharedAgent,
    keeper::{Alive, Keeper},
};

impl Keeper {
    pub(super) async fn share_accounts(
        &mut self,
        agent: &Arc<dyn SharedAgent>,
        alive: &Alive,
    ) -> Result<()> {
        let (id, ownership, all) = (agent.id(), agent.ownership(), agent.accounts());
        let mine = ownership.accounts();
        let share = fair_share(all.len(), alive.get(&Group::accounts(id)).copied().unwrap_or(1));
        if mine.len() > share {
            for ((source, account), lease) in mine.into_iter().skip(share) {
                tracing::info!(source = %source, account = %account, "handed over to a process that has fewer accounts");
                lease.close();
                ownership.drop_account(&source, &account, &lease);
            }
            return Ok(());
        }
        let is_mine = |login: &(Source, Account)| mine.iter().any(|(held, _)| held == login);
        if mine.len() == share {
            for (source, account) in all.iter().filter(|login| !is_mine(login)) {
                agent.connected_elsewhere(source, account);
            }
            return Ok(());
        }
        let parts: Vec<Partition> =
            all.iter().map(|(source, account)| Partition::account(source, id, account)).collect();
        // One after another where there are others, so that several agents spread.
        let most = if ownership.is_shared() { mine.len() + 1 } else { share };
        let held = self.store.claim(self.options.member, &parts, most, self.options.ttl).await?;
        for (login, part) in all.iter().zip(&parts) {
            let (source, account) = login;
            let Some(lease) = held.iter().find(|lease| lease.part == *part) else {
                agent.connected_elsewhere(source, account);
                continue;
            };
            if is_mine(login) || self.is_going_on(part) {
                continue;
            }
            let lease = self.begin(lease);
            ownership.take_account(source.clone(), account.clone(), lease.clone());
            Arc::clone(agent).connect(source, account, lease);
        }
        Ok(())
    }
}
