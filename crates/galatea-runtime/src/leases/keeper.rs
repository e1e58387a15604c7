//! Keeper: gives signs of life, takes over what nobody does, and gives back what is more than a fair share.

use galatea_core::{
    Result, Store,
    store::{Group, Lease, Membership, Part},
};
use std::{collections::BTreeMap, sync::Arc};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    ClusterOptions, Tenure,
    steady::steady,
    tenure::{Term, Watch},
};
use crate::agent::Agent;

/// How many are alive in each group.
pub(super) type Alive = BTreeMap<Group, usize>;

/// One process among those that share a store.
pub(crate) struct Keeper {
    pub(super) store: Arc<dyn Store>,
    pub(super) options: ClusterOptions,
    pub(super) term: Arc<Term>,
    begun: Vec<Begun>,
    /// Another process listens to what happens here.
    heard: Arc<std::sync::atomic::AtomicBool>,
}

/// A tenure that something goes on under, or that is to be given back.
struct Begun {
    part: Part,
    watch: Watch,
}

impl Keeper {
    /// Has nothing yet.
    pub(crate) fn new(store: Arc<dyn Store>, options: ClusterOptions) -> Self {
        Self { store, options, term: Term::over(), begun: Vec::new(), heard: Arc::default() }
    }

    /// Keeps until stopped, then gives everything back.
    pub(crate) async fn run(mut self, agents: impl Fn() -> Vec<Arc<Agent>>, events: galatea_core::EventBus, stop: CancellationToken) {
        let beside = super::events::run(Arc::clone(&self.store), self.options.clone(), events, Arc::clone(&self.heard));
        let beside = tokio::spawn(stop.clone().run_until_cancelled_owned(beside));
        let mut ticks = interval(self.options.tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut away = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
            }
            let agents = agents();
            match self.watched(&agents).await {
                Ok(()) => away = false,
                Err(error) if away => tracing::debug!(error = %error.report(), "no sign of life could be given"),
                Err(error) => {
                    away = true;
                    tracing::warn!(code = error.code(), error = %error.report(), fix = error.fix(), "the database cannot be reached: other processes may take over what this one does");
                }
            }
        }
        beside.abort();
        if let Err(error) = self.store.leave(self.options.member).await {
            tracing::warn!(error = %error.report(), "what this process did could not be given back, so others wait some seconds for it");
        }
    }

    /// One tick. Whatever the database does meanwhile: when the term is over, everything stops.
    async fn watched(&mut self, agents: &[Arc<Agent>]) -> Result<()> {
        let term = Arc::clone(&self.term);
        let tick = self.tick(agents);
        tokio::pin!(tick);
        loop {
            let left = term.left();
            if left.is_none() {
                lose_all(agents);
            }
            tokio::select! {
                outcome = &mut tick => return outcome,
                () = sleep(left.unwrap_or_default()), if left.is_some() => {}
            }
        }
    }

    async fn tick(&mut self, agents: &[Arc<Agent>]) -> Result<()> {
        let asked = steady();
        let ClusterOptions { member, ttl, .. } = self.options;
        let alive = self.store.beat(member, &self.membership(agents), ttl).await?;
        let held = self.store.renew(member, ttl).await?;
        // Before the term is extended: nothing that was taken over may seem to be held, not even for a moment.
        for agent in agents {
            Self::lose(agent, &held);
        }
        self.term.extend(asked, ttl);
        self.give_back(&held).await?;
        let listeners = alive.get(&Group::listeners()).copied().unwrap_or(0);
        self.heard.store(listeners > 0, std::sync::atomic::Ordering::Relaxed);
        for agent in agents {
            let id = agent.view.identity.id();
            let company = [Group::rooms(id), Group::accounts(id)].iter().any(|group| alive.get(group).is_some_and(|count| *count > 1));
            // Somebody else does a part of the work, even if nobody does the same.
            let split = self.options.role != galatea_core::store::Role::All;
            agent.shares.set_company(company || split);
            if agent.stop.is_cancelled() {
                Self::drop_closed(agent);
                continue;
            }
            if self.options.role.answers() {
                self.share_rooms(agent, &alive).await?;
            }
            if self.options.role.connects() {
                self.share_accounts(agent, &alive).await?;
            }
        }
        Ok(())
    }

    fn membership(&self, agents: &[Arc<Agent>]) -> Membership {
        let role = self.options.role;
        let mut groups = Vec::new();
        for agent in agents.iter().filter(|agent| !agent.stop.is_cancelled()) {
            let id = agent.view.identity.id();
            groups.extend(role.answers().then(|| Group::rooms(id)));
            groups.extend(role.connects().then(|| Group::accounts(id)));
        }
        groups.extend((role == galatea_core::store::Role::Api).then(Group::listeners));
        Membership { groups, ..self.options.membership() }
    }

    /// Ends what the database says is not held any more.
    fn lose(agent: &Agent, held: &[Lease]) {
        let kept = |tenure: &Tenure| tenure.is_live() && held.iter().any(|lease| tenure.is_of(lease));
        for share in agent.shares.drop_rooms(|share| !kept(&share.tenure)) {
            tracing::debug!(part = share.part, "a part of the rooms is another process's now");
            share.tenure.lose();
        }
        for ((source, account), tenure) in agent.shares.accounts() {
            if !kept(&tenure) {
                tracing::warn!(source = %source, account = %account, "another process may have this account now");
                tenure.lose();
                agent.shares.drop_account(&source, &account, &tenure);
            }
        }
    }

    /// Of an agent that stops: what is finished goes to others at once.
    fn drop_closed(agent: &Agent) {
        agent.shares.drop_rooms(|share| !share.tenure.is_open());
        for ((source, account), tenure) in agent.shares.accounts() {
            if !tenure.is_open() {
                agent.shares.drop_account(&source, &account, &tenure);
            }
        }
    }

    /// The right to work on a part, just claimed.
    pub(super) fn begin(&mut self, lease: &Lease) -> Tenure {
        let tenure = Tenure::of(self.options.member, lease.clone(), Arc::clone(&self.term));
        self.begun.push(Begun { part: lease.part.clone(), watch: tenure.watch() });
        tenure
    }

    /// Whether something of an earlier tenure still goes on.
    pub(super) fn is_going_on(&self, part: &Part) -> bool {
        self.begun.iter().any(|begun| begun.part == *part)
    }

    /// Gives back what nothing goes on under any more, also what was lost. Were that claimed again as it is, what waits in the database's queue
    /// under the old lease would be let through beside what is done under the new one. And what nothing was ever begun under: a claim whose
    /// answer was lost, which would be kept for ever.
    async fn give_back(&mut self, held: &[Lease]) -> Result<()> {
        let ended = self.begun.iter().filter(|begun| begun.watch.is_over()).map(|begun| &begun.part);
        let never_begun = held.iter().map(|lease| &lease.part).filter(|part| !self.is_going_on(part));
        let over: Vec<Part> = ended.chain(never_begun).cloned().collect();
        if over.is_empty() {
            return Ok(());
        }
        self.store.release(self.options.member, &over).await?;
        self.begun.retain(|begun| !over.contains(&begun.part));
        Ok(())
    }
}

fn lose_all(agents: &[Arc<Agent>]) {
    for agent in agents {
        agent.shares.rooms().iter().for_each(|share| share.tenure.lose());
        agent.shares.accounts().iter().for_each(|(_, tenure)| tenure.lose());
    }
}
