//! One look for the work of all agents: rows that this process did not put into its lanes itself.
//! Another process or an operator stored them, or a commit succeeded although its caller got an error.
//! A look is one statement, however many agents there are; an agent is woken only for rows of its own.

use galatea_core::{AgentId, Hint, store::OpenAccount};
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

use super::{
    agent::Agent,
    state::{Entry, Lifecycle, Orchestrator},
};
use crate::{ownership::Poller, retention};

/// The inbox is hardly ever ahead of its lanes, so a process that is alone looks at it so many times
/// less often than at the outbox.
const SELDOM: u32 = 10;

impl Orchestrator {
    /// Begins to look for work. An agent has started.
    pub(super) fn look_for_work(&self) {
        let started = self.looks.get_or_init(|| {
            let started = Arc::new(Notify::new());
            self.spawn(outbox(Weak::clone(&self.itself)));
            self.spawn(inbox(Weak::clone(&self.itself)));
            if self.options.cluster.is_none() || self.role().answers() {
                let weak = Weak::clone(&self.itself);
                self.spawn(retention::run(
                    Arc::clone(&self.options.store),
                    Arc::clone(&self.options.clock),
                    move || {
                        let of = |(id, agent): (AgentId, Arc<Agent>)| {
                            (id, agent.profile.get().limits.traces)
                        };
                        Some(weak.upgrade()?.at_work().map(of).collect())
                    },
                    self.options.reconcile_every,
                    Arc::clone(&started),
                ));
            }
            started
        });
        started.notify_one();
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(self.closing.clone().run_until_cancelled_owned(work));
    }

    /// The agents that run.
    fn at_work(&self) -> impl Iterator<Item = (AgentId, Arc<Agent>)> + use<> {
        let running = |(id, entry): (&AgentId, &Entry)| {
            (entry.state == Lifecycle::Running).then(|| (*id, Arc::clone(&entry.agent)))
        };
        let agents: Vec<_> = self.lock().iter().filter_map(running).collect();
        agents.into_iter()
    }

    /// An agent that runs.
    fn agent_at_work(&self, id: AgentId) -> Option<Arc<Agent>> {
        let agents = self.lock();
        let entry = agents.get(&id).filter(|entry| entry.state == Lifecycle::Running)?;
        Some(Arc::clone(&entry.agent))
    }

    /// What the pauses depend on: whether an agent runs, and whether other processes share one.
    fn company(&self) -> (bool, bool) {
        let agents = self.lock();
        let mut running = agents.values().filter(|entry| entry.state == Lifecycle::Running);
        let shared = |entry: &Entry| entry.agent.ownership.is_shared();
        match running.next() {
            None => (false, false),
            Some(first) => (true, shared(first) || running.any(shared)),
        }
    }

    async fn look_at_outbox(&self, shared: bool) {
        // The store reports its own failures; the next look tries again.
        let Ok(open) = self.options.store.open_accounts().await else { return };
        let mut late: Vec<Arc<Agent>> = Vec::new();
        for OpenAccount { agent, source, account, ends } in open {
            let Some(agent) = self.agent_at_work(agent) else { continue };
            if let Some(route) = agent.outbox.routes.any(&source, &account) {
                route.backlog.sends_due.notify_one();
            }
            let is_late = ends.is_some_and(|ends| ends < agent.outbox.too_old())
                && !agent.outbox.serves(&source, &account);
            if is_late && !late.iter().any(|other| Arc::ptr_eq(other, &agent)) {
                late.push(agent);
            }
        }
        for agent in late {
            agent.outbox.expire_unserved().await;
        }
        if shared {
            for (_, agent) in self.at_work().filter(|(_, agent)| agent.inbox.is_awaiting()) {
                for route in agent.outbox.routes.all() {
                    route.backlog.sends_due.notify_one();
                }
            }
        }
    }

    async fn look_at_inbox(&self) {
        let Ok(waiting) = self.options.store.waiting_accounts().await else { return };
        for (agent, source, account) in waiting {
            let Some(agent) = self.agent_at_work(agent) else { continue };
            if agent.ownership.shares_rooms(&source) {
                agent.inbox.due.notify_one();
            } else if let Some(route) = agent.outbox.routes.any(&source, &account) {
                route.backlog.turns_due.notify_one();
            }
        }
    }
}

/// Looks for deliveries at the pace of the options, or after a hint.
async fn outbox(of: Weak<Orchestrator>) {
    look(of, Hint::Outbox, 1, async |all, shared| all.look_at_outbox(shared).await).await;
}

/// Looks for messages, seldom while this process is alone.
async fn inbox(of: Weak<Orchestrator>) {
    look(of, Hint::Inbox, SELDOM, async |all, _| all.look_at_inbox().await).await;
}

/// Looks each time where processes share an agent, otherwise once in `alone` times.
async fn look(
    of: Weak<Orchestrator>,
    hint: Hint,
    alone: u32,
    work: impl AsyncFn(&Orchestrator, bool),
) {
    let Some(all) = of.upgrade() else { return };
    let every = all.options.reconcile_every;
    let no_hints: Arc<dyn galatea_core::Hints> = Arc::new(galatea_core::NoHints::default());
    let hints = all.options.cluster.as_ref().map_or(no_hints, |cluster| Arc::clone(&cluster.hints));
    let mut company = all.company.subscribe();
    drop(all);
    let mut poller = Poller::new(&hints, hint);
    for turn in 1_u32.. {
        let shared = *company.borrow_and_update();
        tokio::select! {
            () = poller.next(every, shared) => {}
            // Another process came: its rows wait for no look of before.
            Ok(_) = company.wait_for(|now| *now != shared) => {}
        }
        let Some(all) = of.upgrade() else { return };
        let (running, shared) = all.company();
        if running && (shared || turn.is_multiple_of(alone)) {
            work(&all, shared).await;
        }
    }
}
