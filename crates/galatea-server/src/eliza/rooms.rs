//! Rooms of agents, under `/api/agents` and `/api/memory`, and groups of Rooms.

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{delete, get, post},
};
use galatea_core::{AgentId, ChannelType, Room, WorldId};
use galatea_host::ops::{channel_history::channel_of, made_places::NewRoom};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

use super::{
    agents::{agent, metadata},
    envelope::{
        Answer, Body, bare, coded, failed, nothing, success, success_as, text_in, uuid, uuid_in,
    },
    who::Who,
};
use crate::app::App;

/// Most Rooms of a list.
const ROOMS: u32 = 1_000;

pub(super) fn routes(base: &str) -> Router<Arc<App>> {
    Router::new()
        .route(&format!("{base}/{{agent}}/rooms"), get(list).post(make))
        .route(&format!("{base}/{{agent}}/rooms/{{room}}"), get(one))
}

pub(super) fn groups() -> Router<Arc<App>> {
    Router::new()
        .route("/api/memory/groups/{server}", post(make_group).delete(clear_group))
        .route("/api/memory/groups/{server}/memories", delete(clear_group))
}

/// A Room as elizaOS shows it.
fn view(room: &Room) -> Value {
    json!({
        "id": room.id,
        "agentId": room.agent_id,
        "source": room.source,
        "type": room.kind,
        "channelId": channel_of(room).map_or_else(|| room.remote.to_string(), |id| id.to_string()),
        "messageServerId": Uuid::nil(),
        "worldId": room.world_id,
        "name": room.name,
        "metadata": room.metadata,
    })
}

/// The sort that a body names; another one if it names none.
fn sort(body: &Value, usual: ChannelType) -> Result<ChannelType, super::envelope::Refusal> {
    let Some(kind) = body.get("type").filter(|kind| !kind.is_null()) else { return Ok(usual) };
    let unknown = |_| coded(400, "BAD_REQUEST", "type: there is no such type of room");
    serde_json::from_value(kind.clone()).map_err(unknown)
}

async fn list(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let rooms = app.ops.rooms(&who.by, Some(agent), None, None, ROOMS).await.map_err(failed)?;
    success(json!({ "rooms": rooms.iter().map(|listed| view(&listed.room)).collect::<Vec<_>>() }))
}

async fn one(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, room)): Path<(String, String)>,
) -> Answer {
    let bad = || coded(400, "INVALID_ID", "Invalid agent ID or room ID format");
    let room = uuid(&room).ok_or_else(bad)?;
    let agent = agent(&app, &who, &id)?.id;
    let room = app.ops.room_of_agent(&who.by, agent, room).await;
    let room = room.map_err(|_| coded(404, "NOT_FOUND", "Room not found"))?;
    let worlds = app.ops.worlds(&who.by, agent).await.map_err(failed)?;
    let mut shown = view(&room);
    if let Some(world) = worlds.iter().find(|world| world.id == room.world_id) {
        shown["worldName"] = json!(world.name);
    }
    success(shown)
}

async fn make(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Body(body): Body,
) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let name = text_in(&body, "name");
    let name = name.ok_or_else(|| coded(400, "MISSING_PARAM", "Room name is required"))?;
    let new = NewRoom {
        name: name.to_owned(),
        kind: sort(&body, ChannelType::Dm)?,
        world: uuid_in(&body, "worldId").map(WorldId),
        channel: None,
        metadata: metadata(&body),
    };
    let room = app.ops.make_room(&who.by, agent, new).await.map_err(failed)?;
    let mut shown = view(&room);
    shown["createdAt"] = json!(app.ops.clock().now().0);
    success_as(StatusCode::CREATED, shown)
}

/// Makes a Room for each of several agents, and says which could not be made.
async fn make_group(
    State(app): State<Arc<App>>,
    who: Who,
    Path(server): Path<String>,
    Body(body): Body,
) -> Answer {
    let server = uuid(&server);
    let server = server
        .ok_or_else(|| coded(400, "INVALID_ID", "Invalid messageServerId (worldId) format"))?;
    let agents = body.get("agentIds").and_then(Value::as_array).filter(|ids| !ids.is_empty());
    let agents =
        agents.ok_or_else(|| coded(400, "BAD_REQUEST", "agentIds must be a non-empty array"))?;
    let name = text_in(&body, "name").map_or_else(|| format!("Chat {server}"), str::to_owned);
    let (mut made, mut errors) = (Vec::new(), Vec::new());
    for agent in agents {
        let id = agent.as_str().and_then(uuid).map(AgentId);
        let new = NewRoom {
            name: name.clone(),
            kind: ChannelType::Api,
            world: None,
            channel: Some(server),
            metadata: metadata(&body),
        };
        let room = match id {
            Some(id) => app.ops.make_room(&who.by, id, new).await,
            None => Err(galatea_core::Error::not_found("Agent not found")),
        };
        match room {
            Ok(room) => made.push(json!({
                "id": room.id,
                "name": room.name,
                "source": "client",
                "worldId": room.world_id,
                "type": room.kind,
            })),
            Err(error) => errors.push(json!({
                "agentId": agent,
                "code": "NOT_FOUND",
                "message": "Agent not found",
                "details": error.to_string(),
            })),
        }
    }
    if made.is_empty() {
        let body = json!({ "success": false, "error": errors });
        return bare(StatusCode::INTERNAL_SERVER_ERROR, body);
    }
    let status = if errors.is_empty() { StatusCode::CREATED } else { StatusCode::MULTI_STATUS };
    let mut body = json!({ "success": errors.is_empty(), "data": made });
    if !errors.is_empty() {
        body["errors"] = json!(errors);
    }
    bare(status, body)
}

/// Removes what was said in the Rooms of a group. The Rooms themselves hold no words, and stay.
async fn clear_group(State(app): State<Arc<App>>, who: Who, Path(server): Path<String>) -> Answer {
    let bad = || coded(400, "INVALID_ID", "Invalid messageServerId (worldId) format");
    let server = uuid(&server).ok_or_else(bad)?;
    for info in app.ops.agents(&who.by).map_err(failed)? {
        let mut rooms = app.ops.rooms_of_world(&who.by, WorldId(server)).await.map_err(failed)?;
        rooms.extend(app.ops.room_of_agent(&who.by, info.id, server).await.ok());
        for room in rooms.iter().filter(|room| room.agent_id == info.id) {
            app.ops.clear_messages(&who.by, info.id, room.id).await.map_err(failed)?;
        }
    }
    nothing()
}
