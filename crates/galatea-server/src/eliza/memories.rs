//! Memories of agents: under `/api/agents` and, with the same routes, under `/api/memory`.

use axum::{
    Router,
    extract::{Path, Query, State},
    http::HeaderMap,
    routing::{delete, get, patch},
};
use galatea_core::{
    AgentId, Content, EntityId, Memory, MemoryId, MemoryKind, RoomId, Timestamp,
    store::{MemoriesOf, Place},
};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

use super::{
    agents::agent,
    envelope::{Answer, Body, Refusal, coded, failed, nothing, success, uuid},
    runs::Asked,
    who::Who,
};
use crate::app::App;

/// Most memories of an answer.
const MOST: u32 = 1_000;
/// Pages that one request looks at where a filter fits few rows.
const PAGES: usize = 10;

pub(super) fn routes(base: &str) -> Router<Arc<App>> {
    let path = |rest: &str| format!("{base}/{{agent}}{rest}");
    Router::new()
        .route(&path("/memories"), get(of_agent).delete(clear))
        .route(&path("/memories/{memory}"), patch(rewrite).delete(remove))
        .route(&path("/memories/all/{room}"), delete(clear_room))
        .route(&path("/rooms/{room}/memories"), get(of_room))
}

/// The kind of memories in one of elizaOS's tables.
fn kind(asked: &HashMap<String, String>) -> Result<MemoryKind, Refusal> {
    let table = asked.get("tableName").map_or("messages", String::as_str);
    match table {
        "memories" => Ok(MemoryKind::Messages),
        "knowledge" => Ok(MemoryKind::Fragments),
        table => match MemoryKind::from_stored(table) {
            MemoryKind::Custom if table != "custom" => {
                Err(coded(400, "BAD_REQUEST", "tableName: there is no such table"))
            }
            kind => Ok(kind),
        },
    }
}

/// The person whose memories are asked for, in the header that elizaOS has for it.
fn entity(headers: &HeaderMap) -> Option<EntityId> {
    uuid(headers.get("x-entity-id")?.to_str().ok()?).map(EntityId)
}

/// A memory in elizaOS's form, which is the form that it is stored in.
fn view(memory: &Memory) -> Value {
    let mut view = serde_json::to_value(memory).unwrap_or_default();
    if let Some(view) = view.as_object_mut() {
        view.insert("createdAt".to_owned(), json!(memory.created_at.0));
    }
    view
}

/// Memories before a time, newest first, of a person where one is named.
async fn read(
    app: &App,
    who: &Who,
    of: MemoriesOf,
    kind: MemoryKind,
    before: Timestamp,
    (limit, entity): (u32, Option<EntityId>),
) -> Result<Vec<Value>, Refusal> {
    let (mut place, mut found) = (Place { at: before, seq: i64::MAX }, Vec::new());
    for _ in 0..PAGES {
        let page = app.ops.memories(&who.by, of, kind, place, limit).await.map_err(failed)?;
        let fits = |memory: &&Memory| entity.is_none_or(|entity| memory.entity_id == entity);
        found.extend(page.rows.iter().filter(fits).map(view));
        match page.next {
            Some(next) if found.len() < limit as usize => place = next,
            _ => break,
        }
    }
    found.truncate(limit as usize);
    Ok(found)
}

fn limit(asked: &HashMap<String, String>, usual: u32) -> u32 {
    let limit = asked.get("limit").or_else(|| asked.get("count"));
    let limit = limit.and_then(|limit| limit.parse().ok()).filter(|limit| *limit > 0);
    limit.unwrap_or(usual).min(MOST)
}

/// The time before which memories are asked for; the end of time if none is named.
fn before(asked: &HashMap<String, String>) -> Timestamp {
    let before = asked.get("before").and_then(|before| before.parse().ok());
    Timestamp(before.unwrap_or(i64::MAX))
}

async fn of_agent(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    headers: HeaderMap,
    Query(asked): Asked,
) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let (channel, room) = (asked.get("channelId"), asked.get("roomId"));
    let of = match (channel, room) {
        (Some(id), _) => {
            MemoriesOf::Room(known_room(&app, &who, agent, id, "Invalid channel ID format").await?)
        }
        (None, Some(id)) => {
            MemoriesOf::Room(known_room(&app, &who, agent, id, "Invalid room ID format").await?)
        }
        (None, None) => MemoriesOf::Agent(agent),
    };
    let narrowed = (limit(&asked, 200), entity(&headers));
    let memories = read(&app, &who, of, kind(&asked)?, before(&asked), narrowed).await?;
    success(json!({ "memories": memories }))
}

/// The Room of an id. One that the agent does not have is empty.
async fn known_room(
    app: &App,
    who: &Who,
    agent: AgentId,
    text: &str,
    message: &str,
) -> Result<RoomId, Refusal> {
    let id = uuid(text).ok_or_else(|| coded(400, "INVALID_ID", message))?;
    let found = app.ops.room_of_agent(&who.by, agent, id).await;
    Ok(found.map_or(RoomId(id), |room| room.id))
}

async fn of_room(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, room)): Path<(String, String)>,
    headers: HeaderMap,
    Query(asked): Asked,
) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let message = "Invalid agent ID or channel ID format";
    let room = known_room(&app, &who, agent, &room, message).await?;
    let narrowed = (limit(&asked, 20), entity(&headers));
    let of = MemoriesOf::Room(room);
    let memories = read(&app, &who, of, kind(&asked)?, before(&asked), narrowed).await?;
    success(json!({ "memories": memories }))
}

fn memory_id(text: &str) -> Result<MemoryId, Refusal> {
    let bad = || coded(400, "INVALID_ID", "Invalid agent ID or memory ID format");
    uuid(text).map(MemoryId).ok_or_else(bad)
}

/// The memory of an id, if it is the agent's.
async fn own(app: &App, who: &Who, agent: AgentId, id: MemoryId) -> Result<Memory, Refusal> {
    let memory = app.ops.memory(&who.by, id).await.map_err(failed)?;
    let missing = || coded(404, "NOT_FOUND", "there is no such memory");
    (memory.agent_id == agent).then_some(memory).ok_or_else(missing)
}

/// Replaces what a memory says. Its Room, author and time are facts, and stay.
async fn rewrite(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, memory)): Path<(String, String)>,
    Body(body): Body,
) -> Answer {
    let id_of_memory = memory_id(&memory)?;
    let agent = agent(&app, &who, &id)?.id;
    let memory = own(&app, &who, agent, id_of_memory).await?;
    let text = match body.get("content") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(content) => content.get("text").and_then(Value::as_str).map(str::to_owned),
        None => None,
    };
    let text = text.ok_or_else(|| coded(400, "BAD_REQUEST", "content.text is required"))?;
    let content = Content { text, ..memory.content };
    app.ops.rewrite_memory(&who.by, agent, memory.id, &content).await.map_err(failed)?;
    success(json!({ "id": memory.id, "message": "Memory updated successfully" }))
}

async fn remove(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, memory)): Path<(String, String)>,
) -> Answer {
    let memory = memory_id(&memory)?;
    let agent = agent(&app, &who, &id)?.id;
    own(&app, &who, agent, memory).await?;
    app.ops.delete_memory(&who.by, memory).await.map_err(failed)?;
    success(json!({ "message": "Memory deleted successfully" }))
}

async fn clear(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let deleted = app.ops.clear_memories(&who.by, agent).await.map_err(failed)?;
    let message = "All agent memories cleared successfully";
    success(json!({ "deleted": deleted, "message": message }))
}

async fn clear_room(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, room)): Path<(String, String)>,
) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let room = known_room(&app, &who, agent, &room, "Invalid room ID").await?;
    app.ops.clear_messages(&who.by, agent, room).await.map_err(failed)?;
    nothing()
}
