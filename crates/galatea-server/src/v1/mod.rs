//! Interfaces that clients of OpenAI and of Anthropic know: a persona is a model. The client sends the whole
//! conversation each time; the persona has it already, and hears the newest message only.

mod anthropic;
mod conversation;
mod models;
mod openai;
mod talk;

use axum::{Router, extract::DefaultBodyLimit};
use galatea_core::{AgentId, Error};
use std::sync::Arc;

use crate::app::App;

/// Longest body in bytes: a conversation with pictures.
pub(crate) const BODY: usize = 7 << 20;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .merge(models::routes())
        .merge(openai::routes())
        .merge(anthropic::routes())
        .layer(DefaultBodyLimit::max(BODY))
}

/// The agent that a client calls its model: by name in any case, or by id.
fn agent_of(app: &App, model: &str) -> Result<(AgentId, String), Error> {
    let wanted = model.trim().to_lowercase();
    let found = models::personas(app)
        .into_iter()
        .find(|(id, name)| name.to_lowercase() == wanted || id.to_string() == wanted);
    found.ok_or_else(|| {
        Error::not_found(format!("there is no persona named `{model}`"))
            .with_fix("GET /v1/models lists the personas of this server")
    })
}
