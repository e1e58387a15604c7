//! Sends heartbeats, claims unowned work, and releases more than a fair share.

use galatea_core::{
    Hint, Result, Store,
    store::{Group, Lease, Membership, Partition, Pulse},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    time::{MissedTickBehavior, interval, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    ClusterOptions, LeaseGuard, Poller, SharedAgent,
    clocks::Compared,
    known::{self, Alive, KnownAccounts},
    lease::{LeaseTerm, LeaseWatch},
    peers::Peers,
    steady::steady,
};

/// Time that a heartbeat waits for what accounts are: a sixth of a lease.
const EXCHANGE: Duration = Duration::from_secs(1);

/// A process among those that share a store.
pub(crate) struct Keeper {
    pub(super) store: Arc<dyn Store>,
    pub(super) options: ClusterOptions,
    pub(super) term: Arc<LeaseTerm>,
    begun: Vec<Begun>,
    /// Notified when this process has something to release or to announce.
    nudge: Arc<Notify>,
    /// Observed state of the others.
    seen: String,
    /// Until the first lease of a process ends that sends no more heartbeats.
    next_end: Option<Duration>,
    /// Time at which this machine's clock was compared with the store's.
    compared: Compared,
    peers: Peers,
    known: KnownAccounts,
    /// Last publication about the work of this process.
    said: Vec<Group>,
    /// Number of processes alive in each group at the last heartbeat; none before the first.
    alive: Option<Alive>,
    /// Another process listens to what happens here.
    heard: Arc<std::sync::atomic::AtomicBool>,
    /// True while other processes share an agent: those that look for work then look more often.
    company: watch::Sender<bool>,
}

/// Why the keeper does something now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// A heartbeat is due, or this process has changed.
    Due,
    /// Others may have changed something.
    Looking,
}

/// A lease with work under it, or one that is to be released.
struct Begun {
    part: Partition,
    watch: LeaseWatch,
}

impl Keeper {
    /// A keeper without any lease.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: ClusterOptions,
        nudge: Arc<Notify>,
        company: watch::Sender<bool>,
    ) -> Self {
        Self {
            store,
            options,
            term: LeaseTerm::over(),
            begun: Vec::new(),
            nudge,
            seen: String::new(),
            next_end: None,
            said: Vec::new(),
            alive: None,
            compared: Compared::default(),
            peers: Peers::default(),
            known: KnownAccounts::default(),
            heard: Arc::default(),
            company,
        }
    }

    /// Keeps until stopped, then releases everything.
    pub(crate) async fn run(
        mut self,
        agents: impl Fn() -> Vec<Arc<dyn SharedAgent>>,
        events: galatea_core::EventBus,
        stop: CancellationToken,
    ) {
        let beside = super::events::run(
            Arc::clone(&self.store),
            self.options.clone(),
            events,
            Arc::clone(&self.heard),
        );
        let beside = tokio::spawn(stop.clone().run_until_cancelled_owned(beside));
        let mut ticks = interval(self.options.tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut poller = Poller::new(&self.options.hints, Hint::Members);
        let (mut away, nudge) = (false, Arc::clone(&self.nudge));
        loop {
            let shared = agents().iter().any(|agent| agent.ownership().is_shared());
            self.company.send_if_modified(|before| std::mem::replace(before, shared) != shared);
            let why = tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => Why::Due,
                () = nudge.notified() => Why::Due,
                () = poller.next(until_look(self.options.tick, self.next_end), shared), if shared => Why::Looking,
            };
            let agents = agents();
            match self.watched(&agents, why).await {
                Ok(()) => away = false,
                Err(error) if away => {
                    tracing::debug!(process = %self.options.member, error = %error.report(), "failed to send a heartbeat; retrying at the next tick")
                }
                Err(error) => {
                    away = true;
                    tracing::warn!(process = %self.options.member, code = error.code(), error = %error.report(), fix = error.fix(), "failed to send a heartbeat; retrying at each tick, and other processes may take over the work of this one meanwhile");
                }
            }
        }
        beside.abort();
        if let Err(error) = self.store.leave(self.options.member).await {
            tracing::warn!(process = %self.options.member, error = %error.report(), "failed to release the leases of this process; other processes wait until they expire");
        }
        self.options.hints.notify(Hint::Members);
    }

    /// Runs one tick. Whatever the database does meanwhile: when the term is over, everything
    /// stops.
    async fn watched(&mut self, agents: &[Arc<dyn SharedAgent>], why: Why) -> Result<()> {
        let term = Arc::clone(&self.term);
        let tick = self.reconcile(agents, why);
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

    /// A tick, when it is due or when others have come, gone, or left something.
    async fn reconcile(&mut self, agents: &[Arc<dyn SharedAgent>], why: Why) -> Result<()> {
        if why == Why::Looking {
            let Pulse { state, next_end } = self.store.pulse().await?;
            self.next_end = next_end;
            if std::mem::replace(&mut self.seen, state.clone()) == state {
                return Ok(());
            }
            self.known.expire();
        }
        self.tick(agents).await?;
        self.compared.when_due(&*self.store, &self.options.skew).await?;
        if why == Why::Looking {
            self.peers.compare(&*self.store, self.options.member, &self.options.about).await?;
        }
        Ok(())
    }

    async fn tick(&mut self, agents: &[Arc<dyn SharedAgent>]) -> Result<()> {
        let ClusterOptions { member, ttl, .. } = self.options;
        // Before it joins: others read what it says as soon as they see it.
        self.exchange(agents).await;
        let asked = steady();
        let alive = self.join(agents).await?;
        let held = self.store.renew(member, ttl).await?;
        // Before the term is extended: nothing that was taken over may seem to be held, not even
        // for a moment.
        for agent in agents {
            Self::lose(&**agent, &held);
        }
        self.term.extend(asked, ttl);
        self.give_back(&held).await?;
        let listeners = alive.get(&Group::listeners()).copied().unwrap_or(0);
        self.heard.store(listeners > 0, std::sync::atomic::Ordering::Relaxed);
        for agent in agents {
            let id = agent.id();
            let shared = [Group::rooms(id), Group::some_rooms(id), Group::accounts(id)]
                .iter()
                .any(|group| alive.get(group).is_some_and(|count| *count > 1));
            // Another process does a part of the work, even if none does the same part.
            let split = self.options.role != galatea_core::store::ProcessRole::All;
            agent.ownership().set_shared(shared || split);
            agent.answered_by(known::answering_with(id, &agent.unserved(), &alive).max(1));
            if agent.is_stopping() {
                Self::drop_closed(&**agent);
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

    /// Joins, or stays a member. Returns how many processes are alive in each group.
    async fn join(&mut self, agents: &[Arc<dyn SharedAgent>]) -> Result<Alive> {
        let ClusterOptions { member, ttl, .. } = self.options;
        let mut membership = self.membership(agents);
        let mut alive = self.store.beat(member, &membership, ttl).await?;
        self.alive = Some(alive.clone());
        // The accounts that others can connect decide in which group this process answers.
        let now = self.membership(agents);
        if now.groups != membership.groups {
            membership = now;
            alive = self.store.beat(member, &membership, ttl).await?;
            self.alive = Some(alive.clone());
        }
        self.options.beats.note();
        if self.said != membership.groups {
            self.options.hints.notify(Hint::Members);
            self.said = membership.groups;
        }
        Ok(alive)
    }

    /// Says and reads what accounts are. It has no connection of its own, and a heartbeat must not
    /// wait for a read or a write: what takes too long is tried again with the next one.
    async fn exchange(&mut self, agents: &[Arc<dyn SharedAgent>]) {
        let exchange = self.known.exchange(&*self.store, agents);
        match tokio::time::timeout(EXCHANGE, exchange).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(process = %self.options.member, error = %error.report(), "failed to exchange what accounts are; retrying with the next heartbeat");
            }
            Err(_) => {
                tracing::debug!(process = %self.options.member, "the database takes long to say what accounts are; retrying with the next heartbeat");
            }
        }
    }

    fn membership(&self, agents: &[Arc<dyn SharedAgent>]) -> Membership {
        let role = self.options.role;
        let mut groups = Vec::new();
        for agent in agents.iter().filter(|agent| !agent.is_stopping()) {
            let id = agent.id();
            let answering = || known::answering(id, &agent.unserved(), self.alive.as_ref());
            groups.extend(role.answers().then(answering));
            if role.connects() {
                groups.push(Group::accounts(id));
                groups.extend(known::connecting(&parts(&**agent)));
            }
        }
        groups.extend((role == galatea_core::store::ProcessRole::Api).then(Group::listeners));
        let mut membership = Membership { groups, ..self.options.membership() };
        for agent in agents {
            let about = membership.about.agents.entry(agent.id()).or_default();
            about.name = agent.name();
            about.accounts = parts(&**agent);
            about.unserved = agent.unserved();
            about.logins_needed = agent.logins_needed();
        }
        membership
    }

    /// Ends what the database says is not held any more.
    fn lose(agent: &dyn SharedAgent, held: &[Lease]) {
        let kept =
            |guard: &LeaseGuard| guard.is_live() && held.iter().any(|lease| guard.is_of(lease));
        for partition in agent.ownership().drop_partitions(|partition| !kept(&partition.lease)) {
            tracing::debug!(
                partition = partition.number,
                "another process holds this partition of the rooms now"
            );
            partition.lease.lose();
        }
        for ((source, account), lease) in agent.ownership().accounts() {
            if !kept(&lease) {
                tracing::warn!(source = %source, account = %account, "another process may have this account now");
                lease.lose();
                agent.ownership().drop_account(&source, &account, &lease);
            }
        }
    }

    /// Of an agent that stops: what is finished goes to others at once.
    fn drop_closed(agent: &dyn SharedAgent) {
        agent.ownership().drop_partitions(|partition| !partition.lease.is_open());
        for ((source, account), lease) in agent.ownership().accounts() {
            if !lease.is_open() {
                agent.ownership().drop_account(&source, &account, &lease);
            }
        }
    }

    /// The right to work on a part, just claimed.
    pub(super) fn begin(&mut self, lease: &Lease) -> LeaseGuard {
        let guard = LeaseGuard::of(
            self.options.member,
            lease.clone(),
            Arc::clone(&self.term),
            Arc::clone(&self.nudge),
        );
        self.begun.push(Begun { part: lease.part.clone(), watch: guard.watch() });
        guard
    }

    /// True if something of an earlier lease still goes on.
    pub(super) fn is_going_on(&self, part: &Partition) -> bool {
        self.begun.iter().any(|begun| begun.part == *part)
    }

    /// Releases each lease without work under it. A lost lease is released too: if the process
    /// claimed it again unreleased, statements that wait in the database under the old lease would
    /// pass beside those under the new one. So is a lease whose claim got no answer; it would be
    /// renewed for ever.
    async fn give_back(&mut self, held: &[Lease]) -> Result<()> {
        let ended =
            self.begun.iter().filter(|begun| begun.watch.is_over()).map(|begun| &begun.part);
        let never_begun =
            held.iter().map(|lease| &lease.part).filter(|part| !self.is_going_on(part));
        let over: Vec<Partition> = ended.chain(never_begun).cloned().collect();
        if over.is_empty() {
            return Ok(());
        }
        self.store.release(self.options.member, &over).await?;
        self.options.hints.notify(Hint::Members);
        self.begun.retain(|begun| !over.contains(&begun.part));
        Ok(())
    }
}

/// The names of an agent's accounts.
pub(super) fn parts(agent: &dyn SharedAgent) -> Vec<Partition> {
    let accounts = agent.accounts();
    let part = |(source, account): &(_, _)| Partition::account(source, agent.id(), account);
    accounts.iter().map(part).collect()
}

/// The pause before the next look at what others do: no longer than until a lease may be claimed.
fn until_look(tick: Duration, next_end: Option<Duration>) -> Duration {
    /// A lease is over once the database's clock has passed its end.
    const PAST: Duration = Duration::from_millis(5);
    next_end.map_or(tick, |end| tick.min(end.saturating_add(PAST)))
}

fn lose_all(agents: &[Arc<dyn SharedAgent>]) {
    for agent in agents {
        agent.ownership().partitions().iter().for_each(|partition| partition.lease.lose());
        agent.ownership().accounts().iter().for_each(|(_, lease)| lease.lose());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_ends_is_looked_for_at_once() {
        let millis = Duration::from_millis;
        let tick = millis(500);
        assert_eq!(until_look(tick, None), tick);
        assert_eq!(until_look(tick, Some(millis(5_700))), tick, "its process is alive");
        assert_eq!(until_look(tick, Some(millis(120))), millis(125));
        assert_eq!(until_look(tick, Some(Duration::ZERO)), millis(5));
    }
}
