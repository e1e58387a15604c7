//! The list of models, in a form that the clients of both interfaces read.

use axum::{
    Router,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse as _, Response},
    routing::get,
};
use galatea_core::{AgentId, Error};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    anthropic, openai,
    persona::{agent_of, personas},
};
use crate::{app::App, auth::Caller};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/models", get(list)).route("/v1/models/{id}", get(one))
}

fn model(id: AgentId, name: &str) -> Value {
    json!({
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "galatea",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
        "agent": id,
    })
}

async fn list(State(app): State<Arc<App>>, caller: Caller, headers: HeaderMap) -> Response {
    if let Err(error) = caller.reader() {
        return refused(&headers, &error);
    }
    let models: Vec<Value> = personas(&app).iter().map(|(id, name)| model(*id, name)).collect();
    let id = |model: Option<&Value>| model.and_then(|model| model.get("id")).cloned();
    axum::Json(json!({
        "object": "list",
        "has_more": false,
        "first_id": id(models.first()),
        "last_id": id(models.last()),
        "data": models,
    }))
    .into_response()
}

async fn one(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Response {
    let found = caller.reader().and_then(|_| agent_of(&app, &id));
    match found {
        Ok((id, name)) => axum::Json(model(id, &name)).into_response(),
        Err(error) => refused(&headers, &error),
    }
}

/// An error in the form of the client that asked: Anthropic's names a version of its interface.
fn refused(headers: &HeaderMap, error: &Error) -> Response {
    if headers.contains_key("anthropic-version") {
        anthropic::problem(error)
    } else {
        openai::problem(error)
    }
}
