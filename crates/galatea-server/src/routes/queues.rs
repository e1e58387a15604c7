//! Turns and parts of answers.

use axum::{extract::State, http::StatusCode};
use galatea_core::{
    AgentId, DeliveryId, MemoryId, RoomId, Source,
    store::{DeliveriesQuery, InboxState, OutboxState, TurnsQuery},
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
    view::{CountsView, DeliveryList, DeliveryView, TurnDetail, TurnList, TurnView},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_turns))
        .routes(routes!(get_turn))
        .routes(routes!(list_outbox))
        .routes(routes!(get_delivery))
        .routes(routes!(retry_delivery))
        .routes(routes!(drop_delivery))
        .routes(routes!(get_counts))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct QueueAsked {
    /// Only of this agent.
    agent: Option<Uuid>,
    /// Only in this room.
    room: Option<Uuid>,
    /// Only of this platform.
    source: Option<String>,
    /// Only in this state.
    state: Option<String>,
    /// The cursor of the page before.
    before: Option<String>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

fn state<T>(text: Option<&str>, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let unknown = || Problem::input(StatusCode::BAD_REQUEST, "state: there is no such state");
    read(text).map(Some).ok_or_else(unknown)
}

/// Messages with what was decided about them, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/turns",
    operation_id = "listTurns",
    tag = "turns",
    params(QueueAsked),
    responses((status = 200, description = "Done", body = TurnList), Problem)
)]
async fn list_turns(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<QueueAsked>,
) -> Result<axum::Json<TurnList>, Problem> {
    let query = TurnsQuery {
        agent: asked.agent.map(AgentId),
        room: asked.room.map(RoomId),
        source: asked.source.map(Source::from_name),
        state: state(asked.state.as_deref(), InboxState::from_stored)?,
        before: place(asked.before.as_deref())?,
        limit: limit(asked.limit)?,
    };
    let page = app.ops.turns(&by, &query).await?;
    let items = page.rows.into_iter().map(TurnView::from).collect();
    Ok(axum::Json(TurnList { items, next: page.next.map(|place| place.to_string()) }))
}

/// A message, by its id, with its decision and the parts of its answer.
#[utoipa::path(
    get,
    path = "/api/v1/turns/{id}",
    operation_id = "getTurn",
    tag = "turns",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = TurnDetail), Problem)
)]
async fn get_turn(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<TurnDetail>, Problem> {
    let (item, parts) = app.ops.turn(&by, MemoryId(id)).await?;
    Ok(axum::Json(TurnDetail::of(item, parts)))
}

/// Parts of answers, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/outbox",
    operation_id = "listOutbox",
    tag = "outbox",
    params(QueueAsked),
    responses((status = 200, description = "Done", body = DeliveryList), Problem)
)]
async fn list_outbox(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<QueueAsked>,
) -> Result<axum::Json<DeliveryList>, Problem> {
    let query = DeliveriesQuery {
        agent: asked.agent.map(AgentId),
        room: asked.room.map(RoomId),
        source: asked.source.map(Source::from_name),
        state: state(asked.state.as_deref(), OutboxState::from_stored)?,
        before: place(asked.before.as_deref())?,
        limit: limit(asked.limit)?,
    };
    let page = app.ops.outbox(&by, &query).await?;
    let items = page.rows.into_iter().map(DeliveryView::from).collect();
    Ok(axum::Json(DeliveryList { items, next: page.next.map(|place| place.to_string()) }))
}

/// A part of an answer.
#[utoipa::path(
    get,
    path = "/api/v1/outbox/{id}",
    operation_id = "getDelivery",
    tag = "outbox",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = DeliveryView), Problem)
)]
async fn get_delivery(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<DeliveryView>, Problem> {
    Ok(axum::Json(app.ops.delivery(&by, DeliveryId(id)).await?.into()))
}

/// Sends a part again that was ambiguous, expired or dead.
#[utoipa::path(
    post,
    path = "/api/v1/outbox/{id}/retry",
    operation_id = "retryDelivery",
    tag = "outbox",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = DeliveryView), Problem)
)]
async fn retry_delivery(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<DeliveryView>, Problem> {
    Ok(axum::Json(app.ops.retry_delivery(&by, DeliveryId(id)).await?.into()))
}

/// Never sends a part that waits or is ambiguous.
#[utoipa::path(
    post,
    path = "/api/v1/outbox/{id}/drop",
    operation_id = "dropDelivery",
    tag = "outbox",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = DeliveryView), Problem)
)]
async fn drop_delivery(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<DeliveryView>, Problem> {
    Ok(axum::Json(app.ops.drop_delivery(&by, DeliveryId(id)).await?.into()))
}

/// What waits and what failed.
#[utoipa::path(
    get,
    path = "/api/v1/counts",
    operation_id = "getCounts",
    tag = "outbox",
    responses((status = 200, description = "Done", body = CountsView), Problem)
)]
async fn get_counts(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<CountsView>, Problem> {
    Ok(axum::Json(app.ops.counts(&by).await?.into()))
}
