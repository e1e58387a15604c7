//! Reads the providers' lists of models in the background, and switches agents to the models chosen
//! from them.

use galatea_core::{AgentId, Clock, Finding, Settings, model::RegisteredModel};
use galatea_http::HttpClient;
use galatea_models::{Configured, Dependencies, When, families};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::Notify;

use super::watch::{ModelHealth, Renewal};
use crate::storage::data_dir::DataDir;

/// Interval at which a list is read again, to notice removed models.
const AGAIN: Duration = Duration::from_secs(24 * 3600);
/// Shortest time between two reads of a list after a provider refused a model.
const LEAST: Duration = Duration::from_secs(60);

/// The file that stores the choices.
pub fn file(data_dir: &DataDir) -> PathBuf {
    data_dir.path().join("models.json")
}

/// Name of a model in the banner and in `status`, and why it was chosen.
pub fn describe(configured: &Configured) -> String {
    match configured.reason() {
        reason if reason.is_empty() => configured.description.clone(),
        reason => format!("{} ({reason})", configured.description),
    }
}

/// The models of an agent as a start would choose them now. For commands that only show them; the
/// choice is not stored.
///
/// # Errors
/// As [`galatea_models::build`].
pub async fn preview(
    settings: &Settings,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
    dependencies: &Dependencies,
) -> galatea_core::Result<Configured> {
    let built = galatea_models::build(settings, http, Arc::clone(clock), dependencies)?;
    if !built.asks() {
        return Ok(built);
    }
    built.read_lists(dependencies.choices(), families::day(clock.now()), When::Needed).await;
    galatea_models::build(settings, http, Arc::clone(clock), dependencies)
}

/// An agent whose models may be replaced.
pub struct Choosing {
    /// The settings that its models are built from.
    pub settings: Settings,
    /// The models it currently uses.
    pub configured: Configured,
    /// Those that its plugins bring.
    pub registered: Vec<RegisteredModel>,
    /// Replaces its models.
    pub renewal: Renewal,
    /// Holds the description of its model.
    pub health: ModelHealth,
}

/// What [`watch`] needs besides the agents.
pub struct Means {
    /// For reading the lists.
    pub http: HttpClient,
    /// For the current day.
    pub clock: Arc<dyn Clock>,
    /// Shared by the models of the process.
    pub dependencies: Dependencies,
}

/// The agents whose models may be replaced. They come and go while the process runs.
#[derive(Default)]
pub struct Choosers {
    /// Agents that came since the last look, and those that went: without models.
    news: Mutex<BTreeMap<AgentId, Option<Choosing>>>,
    changed: Notify,
}

impl Choosers {
    /// Adds an agent, or takes its models of now in place of earlier ones.
    pub fn put(&self, agent: AgentId, choosing: Choosing) {
        self.tell(agent, Some(choosing));
    }

    /// Forgets an agent.
    pub fn remove(&self, agent: AgentId) {
        self.tell(agent, None);
    }

    fn tell(&self, agent: AgentId, choosing: Option<Choosing>) {
        self.lock().insert(agent, choosing);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Option<Choosing>>> {
        self.news.lock()
    }

    /// Brings `agents` up to date. Returns those that are new.
    fn apply(&self, agents: &mut BTreeMap<AgentId, Choosing>) -> Vec<AgentId> {
        let mut fresh = Vec::new();
        let news = std::mem::take(&mut *self.lock());
        for (id, choosing) in news {
            agents.remove(&id);
            if let Some(choosing) = choosing.filter(|agent| !agent.configured.is_offline()) {
                choosing.renewal.chooses(choosing.configured.chooses());
                agents.insert(id, choosing);
                fresh.push(id);
            }
        }
        fresh
    }
}

/// Reads the lists now, after a refusal and once a day, and switches agents to the models chosen
/// from them. Never ends.
pub async fn watch(means: Means, choosers: Arc<Choosers>) {
    let mut agents = BTreeMap::new();
    loop {
        let fresh = choosers.apply(&mut agents);
        let new = agents.iter_mut().filter(|(id, _)| fresh.contains(id));
        let new: Vec<&mut Choosing> = new.map(|(_, agent)| agent).collect();
        look(&means, new, false).await;
        let refused = tokio::select! {
            () = choosers.changed.notified() => continue,
            refused = tokio::time::timeout(AGAIN, means.dependencies.refused()) => refused.is_ok(),
        };
        let changed = look(&means, agents.values_mut().collect(), refused).await;
        // A model that was just chosen may be refused as well.
        if refused && !changed {
            tokio::time::sleep(LEAST).await;
        }
    }
}

/// Reads the lists for these agents; true if models were replaced.
async fn look(means: &Means, agents: Vec<&mut Choosing>, refused: bool) -> bool {
    let mut changed = false;
    for agent in agents {
        // If every model is configured and its context window is known from the table, the list is
        // needed only after a refusal, to suggest models that exist.
        if agent.configured.asks() || refused {
            agent.renewal.looks();
            changed |= read_lists(means, agent).await;
            agent.renewal.has_looked();
        }
        // At the start, so that the first question need not wait for it.
        if let Some(skill) = agent.configured.try_tools().await {
            let model = &agent.configured.description;
            if skill.works {
                tracing::info!(model, "the model calls tools as it should");
            } else {
                tracing::warn!(
                    model,
                    code = "GAL-MODEL-TOOLS-OFF",
                    why = skill.why,
                    "the model cannot call tools and is offered none (MODEL_TOOLS)"
                );
            }
        }
    }
    changed
}

/// Reads the lists for an agent; true if its models were replaced.
async fn read_lists(means: &Means, agent: &mut Choosing) -> bool {
    let today = families::day(means.clock.now());
    let report =
        agent.configured.read_lists(means.dependencies.choices(), today, When::Needed).await;
    for Finding { message, fix, id, .. } in &report.unread {
        tracing::info!(code = id, fix, "a list of models could not be read: {message}");
    }
    for finding in report.findings {
        let Finding { message, fix, id, .. } = &finding;
        tracing::warn!(code = id, fix, "model  {message}");
        means.dependencies.note(finding);
    }
    let rebuilt = galatea_models::build(
        &agent.settings,
        &means.http,
        Arc::clone(&means.clock),
        &means.dependencies,
    )
    .and_then(|built| {
        let models = galatea_models::with_registered(
            built.models.clone(),
            &agent.registered,
            &agent.settings,
            &means.clock,
            &means.dependencies,
        )?;
        Ok((built, models))
    });
    let changed = match rebuilt {
        Ok((built, models)) if !built.is_as(&agent.configured) => {
            agent.renewal.replace(&models);
            agent.health.describe(describe(&built));
            agent.configured = built;
            true
        }
        Ok(_) => false,
        Err(error) => {
            tracing::warn!(error = %error.report(), "failed to rebuild the models; keeping the current ones");
            false
        }
    };
    for change in &report.changes {
        tracing::info!(
            service = change.service,
            role = change.role.as_str(),
            from = change.from,
            to = change.to,
            "a model was chosen from the provider's list"
        );
    }
    changed
}
