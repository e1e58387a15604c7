//! Rooms, people, messages and memories.

use axum::{extract::State, http::StatusCode};
use galatea_core::{
    AgentId, EntityId, MemoryId, MemoryKind, RoomId, Source,
    store::{MemoriesOf, Page},
};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    app::App,
    auth::{Reader, Worker},
    error::Problem,
    extract::{Path, Query, limit, place},
    view::{MemoryList, MemoryView, PersonList, PersonView, RoomDetail, RoomList, RoomView},
};

/// Kinds of memories, in parameters.
const KINDS: [MemoryKind; 8] = [
    MemoryKind::Messages,
    MemoryKind::ActionResult,
    MemoryKind::Facts,
    MemoryKind::Documents,
    MemoryKind::Fragments,
    MemoryKind::Summaries,
    MemoryKind::Profiles,
    MemoryKind::Custom,
];

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_rooms))
        .routes(routes!(get_room))
        .routes(routes!(list_messages))
        .routes(routes!(list_people))
        .routes(routes!(get_person))
        .routes(routes!(list_memories))
        .routes(routes!(get_memory, delete_memory))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RoomsOf {
    /// Only of this agent.
    agent: Option<Uuid>,
    /// Only of this platform.
    source: Option<String>,
    /// The cursor of the page before.
    after: Option<Uuid>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PeopleOf {
    /// Only of this agent.
    agent: Option<Uuid>,
    /// A part of a name.
    name: Option<String>,
    /// The cursor of the page before.
    after: Option<Uuid>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Paged {
    /// The cursor of the page before.
    before: Option<String>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct MemoriesAsked {
    /// Of this agent. One of agent, room and person is needed.
    agent: Option<Uuid>,
    /// Of this room.
    room: Option<Uuid>,
    /// Of this person.
    person: Option<Uuid>,
    /// `facts`, `summaries`, `profiles`, `messages`, …
    kind: Option<String>,
    /// The cursor of the page before.
    before: Option<String>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// The next cursor of a list that is ordered by ids.
fn next<T>(items: &[T], limit: u32, id: impl Fn(&T) -> Uuid) -> Option<String> {
    let last = items.last().filter(|_| items.len() >= limit as usize)?;
    Some(id(last).to_string())
}

fn memories(page: Page<galatea_core::Memory>) -> axum::Json<MemoryList> {
    let items = page.rows.into_iter().map(MemoryView::from).collect();
    axum::Json(MemoryList { items, next: page.next.map(|place| place.to_string()) })
}

/// Rooms in the order of their ids, each with the time of its newest message.
#[utoipa::path(
    get,
    path = "/api/v1/rooms",
    operation_id = "listRooms",
    tag = "rooms",
    params(RoomsOf),
    responses((status = 200, description = "Done", body = RoomList), Problem)
)]
async fn list_rooms(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<RoomsOf>,
) -> Result<axum::Json<RoomList>, Problem> {
    let limit = limit(asked.limit)?;
    let source = asked.source.map(Source::from_name);
    let (agent, after) = (asked.agent.map(AgentId), asked.after.map(RoomId));
    let rooms = app.ops.rooms(&by, agent, source.as_ref(), after, limit).await?;
    let next = next(&rooms, limit, |listed| listed.room.id.0);
    Ok(axum::Json(RoomList { items: rooms.into_iter().map(RoomView::from).collect(), next }))
}

/// A room with who is in it.
#[utoipa::path(
    get,
    path = "/api/v1/rooms/{id}",
    operation_id = "getRoom",
    tag = "rooms",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = RoomDetail), Problem)
)]
async fn get_room(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<RoomDetail>, Problem> {
    let (room, people) = app.ops.room(&by, RoomId(id)).await?;
    Ok(axum::Json(RoomDetail::of(room, &people)))
}

/// Messages of a room, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/rooms/{id}/messages",
    operation_id = "listMessages",
    tag = "rooms",
    params(("id" = Uuid, Path), Paged),
    responses((status = 200, description = "Done", body = MemoryList), Problem)
)]
async fn list_messages(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
    Query(asked): Query<Paged>,
) -> Result<axum::Json<MemoryList>, Problem> {
    let (before, limit) = (place(asked.before.as_deref())?, limit(asked.limit)?);
    let of = MemoriesOf::Room(RoomId(id));
    Ok(memories(app.ops.memories(&by, of, MemoryKind::Messages, before, limit).await?))
}

/// People in the order of their ids.
#[utoipa::path(
    get,
    path = "/api/v1/people",
    operation_id = "listPeople",
    tag = "people",
    params(PeopleOf),
    responses((status = 200, description = "Done", body = PersonList), Problem)
)]
async fn list_people(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<PeopleOf>,
) -> Result<axum::Json<PersonList>, Problem> {
    let limit = limit(asked.limit)?;
    let (agent, after) = (asked.agent.map(AgentId), asked.after.map(EntityId));
    let people = app.ops.people(&by, agent, asked.name.as_deref(), after, limit).await?;
    let next = next(&people, limit, |person| person.id.0);
    Ok(axum::Json(PersonList { items: people.into_iter().map(PersonView::from).collect(), next }))
}

/// A person.
#[utoipa::path(
    get,
    path = "/api/v1/people/{id}",
    operation_id = "getPerson",
    tag = "people",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = PersonView), Problem)
)]
async fn get_person(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<PersonView>, Problem> {
    Ok(axum::Json(app.ops.person(&by, EntityId(id)).await?.into()))
}

/// Memories of one kind, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/memories",
    operation_id = "listMemories",
    tag = "memories",
    params(MemoriesAsked),
    responses((status = 200, description = "Done", body = MemoryList), Problem)
)]
async fn list_memories(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<MemoriesAsked>,
) -> Result<axum::Json<MemoryList>, Problem> {
    let (before, limit) = (place(asked.before.as_deref())?, limit(asked.limit)?);
    let bad = |text| Problem::input(StatusCode::BAD_REQUEST, text);
    let of = match (asked.agent, asked.room, asked.person) {
        (Some(id), None, None) => MemoriesOf::Agent(AgentId(id)),
        (None, Some(id), None) => MemoriesOf::Room(RoomId(id)),
        (None, None, Some(id)) => MemoriesOf::Person(EntityId(id)),
        _ => return Err(bad("name one of agent, room and person")),
    };
    let kind = asked.kind.as_deref().unwrap_or("facts");
    let kind = KINDS.into_iter().find(|known| known.as_str() == kind);
    let kind = kind.ok_or_else(|| bad("kind: there are no memories of this kind"))?;
    Ok(memories(app.ops.memories(&by, of, kind, before, limit).await?))
}

/// A memory.
#[utoipa::path(
    get,
    path = "/api/v1/memories/{id}",
    operation_id = "getMemory",
    tag = "memories",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = MemoryView), Problem)
)]
async fn get_memory(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<MemoryView>, Problem> {
    Ok(axum::Json(app.ops.memory(&by, MemoryId(id)).await?.into()))
}

/// Deletes a memory with what was made from it.
#[utoipa::path(
    delete,
    path = "/api/v1/memories/{id}",
    operation_id = "deleteMemory",
    tag = "memories",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn delete_memory(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.delete_memory(&by, MemoryId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
