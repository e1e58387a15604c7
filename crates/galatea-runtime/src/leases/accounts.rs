//! Accounts: connecting those of an agent that no other process connects.

use galatea_core::{
    Connector, Result,
    store::{Group, Part, fair_share},
};
use std::sync::Arc;

use super::keeper::{Alive, Keeper};
use crate::{agent::Agent, supervise};

fn part(agent: &Agent, connector: &dyn Connector) -> Part {
    let info = connector.info();
    Part::account(&info.source, agent.view.identity.id(), &info.account)
}

impl Keeper {
    pub(super) async fn share_accounts(&mut self, agent: &Arc<Agent>, alive: &Alive) -> Result<()> {
        let id = agent.view.identity.id();
        let connectors: Vec<_> = agent.connectors.iter().filter(|c| agent.shares.is_leased(&c.info().source)).collect();
        let mine = agent.shares.accounts();
        let share = fair_share(connectors.len(), alive.get(&Group::accounts(id)).copied().unwrap_or(1));
        if mine.len() > share {
            for ((source, account), tenure) in mine.into_iter().skip(share) {
                tracing::info!(source = %source, account = %account, "handed over to a process that has fewer accounts");
                tenure.close();
                agent.shares.drop_account(&source, &account, &tenure);
            }
            return Ok(());
        }
        let is_mine = |connector: &dyn Connector| {
            let info = connector.info();
            mine.iter().any(|((source, account), _)| *source == info.source && *account == info.account)
        };
        if mine.len() == share {
            connectors.iter().filter(|c| !is_mine(c.as_ref())).for_each(|c| supervise::elsewhere(agent, c.as_ref()));
            return Ok(());
        }
        let parts: Vec<Part> = connectors.iter().map(|c| part(agent, c.as_ref())).collect();
        // One after another where there are others, so that several agents spread.
        let most = if agent.shares.has_company() { mine.len() + 1 } else { share };
        let held = self.store.claim(self.options.member, &parts, most, self.options.ttl).await?;
        for (connector, part) in connectors.into_iter().zip(&parts) {
            let info = connector.info();
            let Some(lease) = held.iter().find(|lease| lease.part == *part) else {
                supervise::elsewhere(agent, connector.as_ref());
                continue;
            };
            if is_mine(connector.as_ref()) || self.is_going_on(part) {
                continue;
            }
            let tenure = self.begin(lease);
            // Another process may have changed what is stored of its people and places.
            agent.known.clear();
            agent.shares.take_account(info.source.clone(), info.account.clone(), tenure.clone());
            agent.connections.spawn(supervise::connector(Arc::clone(agent), Arc::clone(connector), tenure));
        }
        Ok(())
    }
}
