//! Interfaces that clients of OpenAI and of Anthropic know: a persona is a model. The client sends the whole
//! conversation each time; the persona has it already, and hears the newest message only.

mod anthropic;
mod conversation;
mod models;
mod openai;
mod persona;
mod talk;

use axum::{Router, extract::DefaultBodyLimit};
use std::sync::Arc;

use crate::{app::App, body_limit::UPLOAD};

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .merge(models::routes())
        .merge(openai::routes())
        .merge(anthropic::routes())
        .layer(DefaultBodyLimit::max(UPLOAD))
}
