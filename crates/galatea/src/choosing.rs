//! Choosing: providers' lists of models, read in the background, and agents that go on with what
//! was chosen.

use galatea_core::{Clock, Finding, Settings};
use galatea_http::HttpClient;
use galatea_models::{Configured, Dependencies, When, families};
use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    data_dir::DataDir,
    models::{ModelHealth, Renewal},
};

/// A list is read again after so long, to notice what has gone.
const AGAIN: Duration = Duration::from_secs(24 * 3600);
/// After a refusal, the shortest time between two reads of a list.
const LEAST: Duration = Duration::from_secs(60);

/// The file with what was chosen.
pub(crate) fn file(data_dir: &DataDir) -> PathBuf {
    data_dir.path().join("models.json")
}

/// How a model is called in the banner and in `status`, and why it is this one.
pub(crate) fn describe(configured: &Configured) -> String {
    match configured.reason() {
        reason if reason.is_empty() => configured.description.clone(),
        reason => format!("{} ({reason})", configured.description),
    }
}

/// The models of an agent as a start would choose them now: for whoever only looks, so nothing is
/// remembered.
///
/// # Errors
/// As [`galatea_models::build`].
pub(crate) async fn preview(
    settings: &Settings,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
    dependencies: &Dependencies,
) -> galatea_core::Result<Configured> {
    let built = galatea_models::build(settings, http, Arc::clone(clock), dependencies)?;
    if !built.asks() {
        return Ok(built);
    }
    built.look(dependencies.choices(), families::day(clock.now()), When::Needed).await;
    galatea_models::build(settings, http, Arc::clone(clock), dependencies)
}

/// An agent whose models may change.
pub(crate) struct Choosing {
    /// Its settings.
    pub(crate) settings: Settings,
    /// What it was built with.
    pub(crate) configured: Configured,
    /// Its places.
    pub(crate) renewal: Renewal,
    /// Where its model is described.
    pub(crate) health: ModelHealth,
}

/// What choosing needs besides.
pub(crate) struct Means {
    /// For the lists.
    pub(crate) http: HttpClient,
    /// For days.
    pub(crate) clock: Arc<dyn Clock>,
    /// Of the process.
    pub(crate) dependencies: Dependencies,
}

/// Reads lists now, after a refusal and once a day, and lets agents go on with what was chosen.
/// Ends with the process.
pub(crate) async fn watch(means: Means, mut agents: Vec<Choosing>) {
    agents.retain(|agent| !agent.configured.is_offline());
    let mut refused = false;
    while !agents.is_empty() {
        for agent in &mut agents {
            // Where every model is named and has its window from the table, a list is read only to
            // say what could be named instead.
            if agent.configured.asks() || refused {
                look(&means, agent).await;
            }
        }
        if refused {
            tokio::time::sleep(LEAST).await;
        }
        refused = tokio::time::timeout(AGAIN, means.dependencies.refused()).await.is_ok();
    }
}

async fn look(means: &Means, agent: &mut Choosing) {
    let today = families::day(means.clock.now());
    let looked = agent.configured.look(means.dependencies.choices(), today, When::Needed).await;
    for Finding { message, fix, id, .. } in &looked.unread {
        tracing::info!(code = id, fix, "a list of models could not be read: {message}");
    }
    for finding in looked.findings {
        let Finding { message, fix, id, .. } = &finding;
        tracing::warn!(code = id, fix, "model  {message}");
        means.dependencies.note(finding);
    }
    match galatea_models::build(
        &agent.settings,
        &means.http,
        Arc::clone(&means.clock),
        &means.dependencies,
    ) {
        Ok(built) if !built.is_as(&agent.configured) => {
            agent.renewal.replace(&built.models);
            agent.health.describe(describe(&built));
            agent.configured = built;
        }
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(error = %error.report(), "models could not be set up anew; those of the start go on")
        }
    }
    for change in &looked.changes {
        tracing::info!(
            service = change.service,
            role = change.role.as_str(),
            from = change.from,
            to = change.to,
            "a model was chosen from the provider's list"
        );
    }
}
