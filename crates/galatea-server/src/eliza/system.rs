//! `/api/server`, `/api/system` and `/health`.

use axum::{Router, extract::State, http::StatusCode, routing::get};
use galatea_host::ops::AgentState;
use serde_json::json;
use std::{sync::Arc, time::Instant};

use super::{
    envelope::{Answer, bare, coded, failed, iso, success},
    who::Who,
};
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/server/ping", get(ping))
        .route("/api/server/hello", get(hello))
        .route("/api/server/status", get(status))
        .route("/api/server/health", get(health))
        .route("/api/system/config", get(config))
        .route("/api/system/env/local", get(environment).post(environment))
        .route("/api/system/version", get(version))
        .route("/health", get(open_health))
}

async fn ping(State(app): State<Arc<App>>, _: Who) -> Answer {
    bare(StatusCode::OK, json!({ "pong": true, "timestamp": app.ops.clock().now().0 }))
}

async fn hello(_: Who) -> Answer {
    bare(StatusCode::OK, json!({ "message": "Hello World!" }))
}

fn running(app: &App, who: &Who) -> Result<usize, super::envelope::Refusal> {
    let agents = app.ops.agents(&who.by).map_err(failed)?;
    let runs = |state| matches!(state, AgentState::Running | AgentState::Degraded);
    Ok(agents.iter().filter(|info| runs(info.state)).count())
}

async fn status(State(app): State<Arc<App>>, who: Who) -> Answer {
    let body = json!({
        "status": "ok",
        "agentCount": running(&app, &who)?,
        "timestamp": iso(app.ops.clock().now().0),
    });
    bare(StatusCode::OK, body)
}

async fn health(State(app): State<Arc<App>>, who: Who) -> Answer {
    let runs = running(&app, &who)? > 0;
    let status = if runs { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "status": "OK",
        "version": app.version.version,
        "timestamp": iso(app.ops.clock().now().0),
        "dependencies": { "agents": if runs { "healthy" } else { "no_agents" } },
    });
    bare(status, body)
}

/// Health for supervisors that know elizaOS's address. Says nothing about agents.
async fn open_health(State(app): State<Arc<App>>) -> Answer {
    let body = json!({
        "status": "OK",
        "version": app.version.version,
        "timestamp": iso(app.ops.clock().now().0),
    });
    bare(StatusCode::OK, body)
}

/// Who asks elizaOS whether people have to sign in by JWT.
async fn config() -> Answer {
    success(json!({ "requiresAuth": false }))
}

/// elizaOS returns and rewrites its `.env` here. Secrets are never served, and no file is written.
async fn environment(_: Who) -> Answer {
    Err(coded(403, "FORBIDDEN", "the environment is neither served nor written"))
}

async fn version(State(app): State<Arc<App>>, _: Who) -> Answer {
    let body = json!({
        "version": app.version.version,
        "source": "server",
        "timestamp": iso(app.ops.clock().now().0),
        "environment": "production",
        "uptime": Instant::now().duration_since(app.started).as_secs_f64(),
    });
    bare(StatusCode::OK, body)
}
