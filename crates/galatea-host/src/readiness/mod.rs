//! Determines whether the process can work, for `/readyz`.

mod state;

use futures::future::BoxFuture;
use galatea_core::{AgentId, Clock, Finding, Health, Store, SystemClock, store::Missing};
use galatea_models::Dependencies;
use galatea_runtime::{ConnectorStatus, Failing, LongWait, Orchestrator, SharedWork, Shortened};
use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    agents::{boot::Booted, mcp::Hub},
    look::when,
    models::watch::ModelHealth,
    process::{
        idle_work::{self, AllWanted, Idle, Wanted},
        member,
    },
    report::Trouble,
    storage::database::Database,
};

pub use state::{AgentState, ClusterState, ConnectorState, Note, Readiness, Reason};

/// Computes the readiness of a process. Called for every request.
pub type Probe = Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;

/// Longest wait for the database. Clients that poll readiness usually give up after a second or
/// two.
const STORAGE_PATIENCE: Duration = Duration::from_secs(1);
/// Longest wait while the heartbeats of this process get no answer either.
const AWAY_PATIENCE: Duration = Duration::from_millis(200);
/// A heartbeat is sent every half second. Without an answer for so long, the database is away.
const SILENT: Duration = Duration::from_millis(750);
/// How often it is looked whether the database is away, while its answer is waited for.
const GLANCE: Duration = Duration::from_millis(25);
/// Answers of the database are reused for this long, so many requests cause one query.
const FRESH: Duration = Duration::from_millis(250);
/// How long a gap is shown next to its connector. `audit` lists gaps without a limit.
const DAY: Duration = Duration::from_secs(24 * 3600);

struct Watched {
    orchestrator: Arc<Orchestrator>,
    database: Database,
    agents: Vec<(AgentId, String, ModelHealth)>,
    /// Agents that do not answer on a platform, because they have no model.
    no_answer: Vec<(String, Trouble)>,
    since: Instant,
    stopping: Arc<AtomicBool>,
    dependencies: Dependencies,
    servers: Arc<Hub>,
    version: String,
    learnt: tokio::sync::Mutex<Option<(Instant, Learnt)>>,
}

/// Results of the database queries.
#[derive(Clone, Default)]
struct Learnt {
    storage: Option<Reason>,
    missing: Vec<Missing>,
    idle: Vec<Idle>,
    cluster: Option<ClusterState>,
    /// Agents that learn no facts.
    facts: Vec<Reason>,
}

/// Returns the probe of a process. `stopping` is set once the process drains.
pub fn probe(booted: &Booted, since: Instant, stopping: Arc<AtomicBool>) -> Probe {
    let agents = booted.agents.iter().map(|a| (a.id, a.name.clone(), a.health.clone())).collect();
    let no_answer =
        booted.agents.iter().filter_map(|a| Some((a.name.clone(), a.no_answer.clone()?))).collect();
    let watched = Arc::new(Watched {
        orchestrator: Arc::clone(&booted.orchestrator),
        database: booted.database.clone(),
        agents,
        no_answer,
        since,
        stopping,
        dependencies: booted.dependencies.clone(),
        servers: booted.mcp(),
        version: booted.version.clone(),
        learnt: tokio::sync::Mutex::default(),
    });
    Arc::new(move || {
        let watched = Arc::clone(&watched);
        Box::pin(async move { watched.evaluate().await })
    })
}

impl Watched {
    async fn evaluate(&self) -> Readiness {
        let mut reasons = Vec::new();
        if self.stopping.load(Ordering::Relaxed) {
            reasons.push(Reason {
                subject: "process".into(),
                message: "it is stopping".into(),
                ..Reason::default()
            });
        }
        // A process that stops gives its work to others and closes the database itself.
        let Learnt { storage, missing, idle, cluster, facts } =
            if reasons.is_empty() { self.learn().await } else { Learnt::default() };
        reasons.extend(storage);
        reasons.extend(idle.into_iter().filter(|idle| idle.lasting).map(|idle| Reason {
            subject: "cluster".to_owned(),
            message: idle.message,
            code: Some(idle_work::IDLE.to_owned()),
            fix: Some(idle.fix.to_owned()),
            ..Reason::default()
        }));
        let statuses = self.orchestrator.statuses();
        let mut agents = Vec::new();
        for (id, name, health) in &self.agents {
            let mut connectors = Vec::new();
            for status in statuses.iter().filter(|s| s.agent == *id) {
                let (mut state, reason) = connector_entry(status);
                let gaps = missing
                    .iter()
                    .filter(|m| m.source == status.info.source && m.account == status.info.account)
                    .count();
                if gaps > 0 {
                    let _ = write!(
                        state.detail,
                        "; messages are missing ({gaps} in the last day, GAL-GAP): `galatea audit` lists them"
                    );
                }
                reasons.extend(reason);
                connectors.push(state);
            }
            reasons.extend(
                self.no_answer
                    .iter()
                    .filter(|(agent, _)| agent == name)
                    .map(|(_, trouble)| reason("model", name, trouble.clone())),
            );
            let failing = self.orchestrator.failing(*id).map(failing);
            reasons.extend(
                health
                    .trouble()
                    .map(unanswered)
                    .or(failing)
                    .map(|trouble| reason("model", name, trouble)),
            );
            agents.push(AgentState {
                name: name.clone(),
                model: health.description(),
                connectors,
                services: self.orchestrator.services(*id),
            });
        }
        Readiness {
            ready: reasons.is_empty(),
            reasons,
            agents,
            cluster,
            remarks: self
                .dependencies
                .remarks()
                .into_iter()
                .map(remark)
                .chain(self.orchestrator.long_waits().into_iter().map(long_wait))
                .chain(self.orchestrator.shortened().into_iter().map(shortened))
                .chain(facts)
                .collect(),
            budgets: self.orchestrator.budgets(),
            breakers: self
                .orchestrator
                .breakers()
                .into_iter()
                .chain(self.dependencies.breakers())
                .collect(),
            servers: self.servers.views(),
            version: self.version.clone(),
            pid: std::process::id(),
            uptime: self.since.elapsed().as_secs(),
            statements: self.database.statements(),
            rows: self.database.written_rows(),
        }
    }

    /// Queries the database at most once per [`FRESH`], and for at most [`STORAGE_PATIENCE`], or
    /// [`AWAY_PATIENCE`] if it is away.
    async fn learn(&self) -> Learnt {
        let mut known = self.learnt.lock().await;
        if let Some((_, learnt)) = known.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return learnt.clone();
        }
        let is_away = || self.orchestrator.store_silence().is_some_and(|silence| silence > SILENT);
        let learnt = patiently(self.ask(), is_away, || self.timed_out()).await;
        *known = Some((Instant::now(), learnt.clone()));
        learnt
    }

    async fn ask(&self) -> Learnt {
        if let Some(storage) = self.storage().await {
            return Learnt { storage: Some(storage), ..Learnt::default() };
        }
        let store = self.database.store();
        let (missing, whole, facts) =
            tokio::join!(self.missing(&*store), self.whole(&*store), self.facts());
        let (idle, cluster) = whole.unwrap_or_default();
        Learnt { storage: None, missing, idle, cluster, facts }
    }

    /// Agents whose small model derives no facts.
    async fn facts(&self) -> Vec<Reason> {
        let mut found = Vec::new();
        for (agent, name, _) in &self.agents {
            let store = self.database.store();
            let finding = galatea_bootstrap::learns_nothing(store, *agent, SystemClock.now()).await;
            let remarks = finding.ok().flatten().map(remark);
            found.extend(remarks.map(|remark| Reason { agent: Some(name.clone()), ..remark }));
        }
        found
    }

    /// Gaps noticed in the last day.
    async fn missing(&self, store: &dyn Store) -> Vec<Missing> {
        let now = SystemClock.now();
        let missing = store.missing().await.unwrap_or_default();
        missing.into_iter().filter(|m| now.since(m.gap.noticed) < DAY).collect()
    }

    /// Work of this process's agents that no process does, and the processes that share the
    /// database.
    async fn whole(
        &self,
        store: &dyn Store,
    ) -> galatea_core::Result<(Vec<Idle>, Option<ClusterState>)> {
        let Some(skew_millis) = self.orchestrator.skew_millis() else {
            return Ok(Default::default());
        };
        let (members, leases) = tokio::try_join!(store.members(), store.leases())?;
        let mut wanted = AllWanted::new();
        for SharedWork { agent, name, accounts, known } in self.orchestrator.shared_work() {
            wanted.insert(agent, Wanted { name, accounts, ..Wanted::default() });
            idle_work::add_former(&mut wanted, agent, &known, &members);
        }
        let own: Vec<AgentId> = wanted.keys().copied().collect();
        for member in members.iter().filter(|member| !member.left.is_zero()) {
            idle_work::add(&mut wanted, &member.membership.about);
        }
        // Agents that only other processes run are theirs.
        wanted.retain(|agent, _| own.contains(agent));
        let alive: Vec<_> = members.iter().filter(|member| !member.left.is_zero()).collect();
        let me = alive.iter().find(|member| Some(member.id) == self.orchestrator.member());
        let skew = member::describe_skew(skew_millis)
            .map(|message| Note { code: member::SKEW.to_owned(), message });
        let unlike = me
            .into_iter()
            .flat_map(|me| idle_work::unlike(me, &alive))
            .map(|message| Note { code: idle_work::UNLIKE.to_owned(), message });
        let notes = skew.into_iter().chain(unlike).collect();
        Ok((
            idle_work::idle(&wanted, &members, &leases),
            Some(ClusterState { alive: alive.len(), skew_millis, notes }),
        ))
    }

    async fn storage(&self) -> Option<Reason> {
        if self.database.trouble().is_some()
            && let Some((agent, ..)) = self.agents.first()
        {
            // After a failed write, test a write here. Otherwise the database would stay marked as
            // failed while no message arrives to write.
            let probe = self.database.store();
            if let Err(error) =
                probe.cache(*agent, "readiness", &serde_json::Value::Null, None).await
            {
                return Some(storage(&error));
            }
        }
        self.database.store().agents().await.err().map(|error| storage(&error))
    }

    /// For a database that did not answer in time: the last known error, or what to check.
    fn timed_out(&self) -> Reason {
        if let Some(error) = self.database.trouble() {
            return storage(&error);
        }
        let message = "the database does not answer".to_owned();
        let (code, fix) = match self.database.place() {
            None => (None, "look at free space and rights of the data folder"),
            Some(_) => {
                (Some("GAL-DB-HOST".to_owned()), "look at the PostgreSQL server and the way to it")
            }
        };
        Reason {
            subject: STORAGE.to_owned(),
            message,
            code,
            fix: Some(fix.to_owned()),
            ..Reason::default()
        }
    }
}

/// Waits for the database's answer for at most [`STORAGE_PATIENCE`], and no longer than
/// [`AWAY_PATIENCE`] while it is away; after that, `timed_out` is why there is none.
async fn patiently(
    asked: impl Future<Output = Learnt>,
    is_away: impl Fn() -> bool,
    timed_out: impl FnOnce() -> Reason,
) -> Learnt {
    let begun = Instant::now();
    let patience = async {
        while waits_on(begun.elapsed(), is_away()) {
            tokio::time::sleep(GLANCE).await;
        }
    };
    tokio::select! {
        biased;
        learnt = asked => learnt,
        () = patience => Learnt { storage: Some(timed_out()), ..Learnt::default() },
    }
}

/// Whether an answer is worth waiting for after this long.
fn waits_on(waited: Duration, is_away: bool) -> bool {
    waited < if is_away { AWAY_PATIENCE } else { STORAGE_PATIENCE }
}

/// Subject of reasons about the database.
const STORAGE: &str = "storage";

fn storage(error: &galatea_core::Error) -> Reason {
    let (code, fix) = (error.code().map(str::to_owned), error.fix().map(str::to_owned));
    Reason {
        subject: STORAGE.to_owned(),
        message: error.to_string(),
        code,
        fix,
        ..Reason::default()
    }
}

/// The entry of a connector, and the reason why it is not ready.
fn connector_entry(status: &ConnectorStatus) -> (ConnectorState, Option<Reason>) {
    let source = status.info.source.to_string();
    let trouble = Trouble::of_connector(&status.health);
    let (state, detail) = match &status.health {
        Health::Starting => ("starting", "not connected yet".to_owned()),
        Health::Elsewhere => ("elsewhere", "another process connects it".to_owned()),
        Health::Up { detail } => ("up", detail.clone()),
        Health::Degraded { reason } => ("degraded", reason.clone()),
        Health::Retrying { .. } => ("retrying", trouble.as_ref().map_or_else(String::new, short)),
        Health::Down { .. } => ("down", trouble.as_ref().map_or_else(String::new, short)),
    };
    // A degraded connector still works.
    let in_the_way = match state {
        "up" | "degraded" | "elsewhere" => None,
        _ => Some(
            trouble.unwrap_or_else(|| Trouble { message: detail.clone(), ..Trouble::default() }),
        ),
    };
    let reason = in_the_way
        .map(|trouble| reason(&format!("connector {source}"), &status.agent_name, trouble));
    (
        ConnectorState {
            source,
            account: status.info.account.to_string(),
            state: state.to_owned(),
            detail,
        },
        reason,
    )
}

/// The problem in one line, with the time of the next attempt.
fn short(trouble: &Trouble) -> String {
    trouble
        .next
        .as_ref()
        .map_or_else(|| trouble.message.clone(), |next| format!("{}; {next}", trouble.message))
}

/// A flood wait that outlasts answers. It does not make the process unready: other chats are
/// answered, and nobody has to do anything.
fn long_wait((agent, wait): (String, LongWait)) -> Reason {
    let message = format!(
        "{} asks account {} to wait until {}: what would be answered until then is not answered",
        wait.source,
        wait.account.0,
        when(wait.until.0)
    );
    Reason {
        subject: "connector".to_owned(),
        agent: Some(agent),
        message,
        code: Some("GAL-SEND-WAIT".to_owned()),
        fix: Some("nothing to do: it answers again after that; see LIMIT_ROOM and COMMANDS_SHARE if it happens often".to_owned()),
        ..Reason::default()
    }
}

/// A finding about a model in use. It does not make the process unready, because other models may
/// answer.
fn remark(finding: Finding) -> Reason {
    let Finding { id, subject, message, cause, origin, fix, .. } = finding;
    Reason { subject, agent: None, message, code: Some(id), cause, origin, fix }
}

/// A model that fails.
fn unanswered(trouble: Trouble) -> Trouble {
    Trouble { message: format!("no model answers: {}", trouble.message), ..trouble }
}

/// Turns that end without an answer, one after the other.
fn failing(failing: Failing) -> Trouble {
    let trouble = Trouble::of_text(&failing.reason);
    let message =
        format!("the last {} questions got no answer: {}", failing.count, trouble.message);
    Trouble { message, ..trouble }
}

/// A model whose prompts are shortened because it refused longer ones.
fn shortened((agent, shortened): (String, Shortened)) -> Reason {
    let Shortened { model, tokens, until } = shortened;
    let message = format!(
        "{model} refused a prompt as too long: prompts are cut to about {tokens} tokens for {} more hours",
        until.since(SystemClock.now()).as_secs().div_ceil(3600)
    );
    Reason {
        subject: "model".to_owned(),
        agent: Some(agent),
        message,
        code: Some("GAL-MODEL-413".to_owned()),
        fix: Some(
            "set MODEL_CONTEXT_WINDOW to what the model takes, or take another model".to_owned(),
        ),
        ..Reason::default()
    }
}

fn reason(subject: &str, agent: &str, trouble: Trouble) -> Reason {
    Reason {
        subject: subject.to_owned(),
        agent: Some(agent.to_owned()),
        message: short(&trouble),
        code: trouble.code,
        cause: trouble.cause,
        origin: trouble.origin,
        fix: trouble.fix,
    }
}

#[cfg(test)]
mod tests;
