//! Presence: where several processes can share a database, one of them at a time answers for an agent.

use galatea_core::{
    AgentId, Error, ErrorKind, MemberId, Result, Store,
    store::{Lease, Part},
};
use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::data_dir::DataDir;

/// How long an agent stays ours after the last sign of life. Three signs may be missed.
const HELD: Duration = Duration::from_secs(6);
/// Between two signs of life.
const SIGN: Duration = Duration::from_secs(2);
/// Between two attempts to take an agent over.
const AGAIN: Duration = Duration::from_millis(250);
/// Who this data folder is among the processes that share a database: a restart goes on at once, without waiting for its own lease to end.
const FILE: &str = "member";

/// The agents of this process, held as long as it lives.
pub(crate) struct Presence {
    store: Arc<dyn Store>,
    member: MemberId,
    lost: CancellationToken,
    _stop: DropGuard,
}

impl Presence {
    /// Takes the agents; nothing to do where a database has one process anyway. Waits for the lease of a process that died.
    ///
    /// # Errors
    /// `Conflict` (`GAL-DB-SHARED`) when another process answers for one of them.
    pub(crate) async fn take(store: &Arc<dyn Store>, data_dir: &DataDir, agents: &[(AgentId, String)]) -> Result<Option<Self>> {
        if !store.is_shared() {
            return Ok(None);
        }
        let (member, begun) = (member(data_dir)?, Instant::now());
        let name = format!("process {} on {}", std::process::id(), host());
        store.beat(member, &name, HELD).await?;
        // Whoever runs with a copy of this data folder loses what it holds: taken anew, the leases have another epoch.
        store.release(member, &agents.iter().map(|(agent, _)| Part::agent(*agent)).collect::<Vec<_>>()).await?;
        let mut leases = Vec::new();
        for (agent, called) in agents {
            let part = [Part::agent(*agent)];
            loop {
                if let Some(lease) = store.claim(member, &part, HELD).await?.held.pop() {
                    leases.push(lease);
                    break;
                }
                if begun.elapsed() > HELD + SIGN {
                    return Err(taken(&**store, &part[0], called).await?);
                }
                sleep(AGAIN).await;
            }
        }
        let (lost, stop) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(keep(Arc::clone(store), member, name, leases, lost.clone(), stop.clone()));
        Ok(Some(Self { store: Arc::clone(store), member, lost, _stop: stop.drop_guard() }))
    }

    /// Waits until another process has taken an agent over, which happens only when this one could not reach the database for too long.
    pub(crate) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// Gives the agents to whoever wants them.
    pub(crate) async fn leave(&self) {
        if let Err(error) = self.store.leave(self.member).await {
            tracing::warn!("the agents could not be given back, so another process waits some seconds for them: {error}");
        }
    }
}

async fn keep(store: Arc<dyn Store>, member: MemberId, name: String, leases: Vec<Lease>, lost: CancellationToken, stop: CancellationToken) {
    let mut ticks = interval(SIGN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let held = async {
            store.beat(member, &name, HELD).await?;
            store.renew(member, HELD).await
        };
        match held.await {
            Ok(held) if leases.iter().all(|lease| held.contains(lease)) => {}
            Ok(_) => return lost.cancel(),
            // Whoever cannot reach the database commits nothing either; it is asked again.
            Err(error) => tracing::debug!("no sign of life could be given: {error}"),
        }
    }
}

async fn taken(store: &dyn Store, part: &Part, agent: &str) -> Result<Error> {
    let holder = store.leases().await?.into_iter().find(|status| status.lease.part == *part).and_then(|status| status.member);
    let by = store.members().await?.into_iter().find(|member| Some(member.id) == holder).map_or_else(|| "another process".to_owned(), |m| m.name);
    Ok(Error::new(ErrorKind::Conflict, format!("another galatea answers for {agent} with this database"))
        .with_code("GAL-DB-SHARED")
        .with("cause", by)
        .with_fix("stop the other one, or give this one another agent or another database"))
}

/// Told at the end of a process whose agent another one runs now.
pub(crate) fn taken_over() -> Error {
    Error::new(ErrorKind::Conflict, "another galatea has taken an agent of this one over")
        .with_code("GAL-DB-SHARED")
        .with("cause", "this process could not reach the database for some seconds")
        .with_fix("leave one of them running; this one may be started again once the other has ended")
}

fn member(data_dir: &DataDir) -> Result<MemberId> {
    let file = data_dir.path().join(FILE);
    if let Some(known) = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()) {
        return Ok(known);
    }
    let fresh = MemberId::fresh();
    fs::write(&file, fresh.to_string()).map_err(|e| data_dir.cannot(e, "the data folder cannot be written"))?;
    Ok(fresh)
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "an unnamed machine".to_owned())
}
