//! `/api/agents`: agents, their start and stop, and their Worlds.

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, patch, post},
};
use galatea_core::{AgentId, World, WorldId};
use galatea_host::ops::{AgentInfo, AgentState};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use uuid::Uuid;

use super::{
    envelope::{Answer, Body, Refusal, coded, failed, success, success_as, text_in, uuid},
    who::Who,
};
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/agents", get(list))
        .route("/api/agents/worlds", get(worlds))
        .route("/api/agents/{agent}", get(one))
        .route("/api/agents/{agent}/start", post(start))
        .route("/api/agents/{agent}/stop", post(stop))
        .route("/api/agents/{agent}/worlds", post(make_world))
        .route("/api/agents/{agent}/worlds/{world}", patch(change_world))
        .route("/api/agents/{agent}/panels", get(panels))
}

/// Whether an agent runs, in elizaOS's word.
fn status(info: &AgentInfo) -> &'static str {
    match info.state {
        AgentState::Starting | AgentState::Running | AgentState::Degraded => "active",
        _ => "inactive",
    }
}

/// The id of an agent in a path.
pub(super) fn agent_id(text: &str) -> Result<AgentId, Refusal> {
    uuid(text).map(AgentId).ok_or_else(|| coded(400, "INVALID_ID", "Invalid agent ID format"))
}

/// The agent of a path, as elizaOS looks for it.
pub(super) fn agent(app: &App, who: &Who, text: &str) -> Result<AgentInfo, Refusal> {
    let id = agent_id(text)?;
    let all = app.ops.agents(&who.by).map_err(failed)?;
    let found = all.into_iter().find(|info| info.id == id);
    found.ok_or_else(|| coded(404, "NOT_FOUND", "Agent not found"))
}

async fn list(State(app): State<Arc<App>>, who: Who) -> Answer {
    let mut agents = Vec::new();
    for info in app.ops.agents(&who.by).map_err(failed)? {
        let character = app.ops.agent(&who.by, info.id).await.map_err(failed)?.character;
        let bio = character.as_ref().and_then(|character| character.get("bio"));
        let bio = match bio {
            Some(Value::Array(lines)) => lines.first().and_then(Value::as_str),
            Some(Value::String(text)) => Some(text.as_str()),
            _ => None,
        };
        let bio = bio.unwrap_or_default().to_owned();
        agents.push((status(&info), info.name, info.id, bio));
    }
    // Those that run come first: `active` is before `inactive`.
    agents.sort();
    let shown = |(status, name, id, bio): (&str, String, AgentId, String)| json!({ "id": id, "name": name, "characterName": name, "bio": bio, "status": status });
    success(json!({ "agents": agents.into_iter().map(shown).collect::<Vec<_>>() }))
}

async fn one(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let info = agent(&app, &who, &id)?;
    let view = app.ops.agent(&who.by, info.id).await.map_err(failed)?;
    let mut shown = match view.character {
        Some(Value::Object(character)) => character,
        _ => Map::new(),
    };
    shown.insert("id".to_owned(), json!(info.id));
    shown.insert("name".to_owned(), json!(info.name));
    shown.insert("enabled".to_owned(), json!(true));
    shown.insert("status".to_owned(), json!(status(&info)));
    success(shown)
}

async fn start(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let info = agent(&app, &who, &id)?;
    let info = app.ops.start_agent(&who.by, info.id).await.map_err(failed)?;
    success(json!({ "id": info.id, "name": info.name, "status": "active" }))
}

async fn stop(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let info = agent(&app, &who, &id)?;
    app.ops.stop_agent(&who.by, info.id).await.map_err(failed)?;
    success(json!({ "message": "Agent stopped" }))
}

/// A World as elizaOS shows it.
fn world_view(world: &World) -> Value {
    json!({
        "id": world.id,
        "name": world.name,
        "agentId": world.agent_id,
        "messageServerId": Uuid::nil(),
        "metadata": world.metadata,
    })
}

async fn worlds(State(app): State<Arc<App>>, who: Who) -> Answer {
    let agents = app.ops.agents(&who.by).map_err(failed)?;
    let first = agents.iter().find(|info| status(info) == "active");
    let first =
        first.ok_or_else(|| coded(404, "NOT_FOUND", "No active agents found to get worlds"))?;
    let worlds = app.ops.worlds(&who.by, first.id).await.map_err(failed)?;
    success(json!({ "worlds": worlds.iter().map(world_view).collect::<Vec<_>>() }))
}

/// The metadata in a body.
pub(super) fn metadata(body: &Value) -> Map<String, Value> {
    body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

async fn make_world(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Body(body): Body,
) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let name = text_in(&body, "name");
    let name = name.ok_or_else(|| coded(400, "BAD_REQUEST", "World name is required"))?;
    let world = app.ops.make_world(&who.by, agent, name, metadata(&body)).await.map_err(failed)?;
    success_as(StatusCode::CREATED, json!({ "world": world_view(&world) }))
}

async fn change_world(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, world)): Path<(String, String)>,
    Body(body): Body,
) -> Answer {
    let bad = || coded(400, "INVALID_ID", "Invalid agent ID or world ID format");
    let world = uuid(&world).map(WorldId).ok_or_else(bad)?;
    let agent = agent(&app, &who, &id)?.id;
    let name = text_in(&body, "name");
    let changed = app.ops.change_world(&who.by, agent, world, name, metadata(&body)).await;
    let changed = changed.map_err(failed)?;
    success(json!({ "world": world_view(&changed) }))
}

/// Pages of plugins. Plugins bring none yet.
async fn panels(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    agent(&app, &who, &id)?;
    success(Vec::<Value>::new())
}
