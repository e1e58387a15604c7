//! Agents under the names that clients call their models by.

use galatea_core::{AgentId, Error};

use crate::app::App;

/// Agents of this process, by name.
pub(super) fn personas(app: &App) -> Vec<(AgentId, String)> {
    let mut all = app.chat.personas();
    all.sort_by(|left, right| left.1.cmp(&right.1));
    all
}

/// The agent that a client calls its model: by name in any case, or by id.
pub(super) fn agent_of(app: &App, model: &str) -> Result<(AgentId, String), Error> {
    let wanted = model.trim().to_lowercase();
    let found = personas(app)
        .into_iter()
        .find(|(id, name)| name.to_lowercase() == wanted || id.to_string() == wanted);
    found.ok_or_else(|| {
        Error::not_found(format!("there is no persona named `{model}`"))
            .with_fix("GET /v1/models lists the personas of this server")
    })
}
