//! Traces of turns.

use axum::{extract::State, http::StatusCode};
use galatea_core::{
    AgentId, MemoryId, RoomId, Source,
    store::{InboxState, TurnsQuery},
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
    view::{DryRunView, StepBody, TraceDetail, TraceList, TraceSummary},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_traces))
        .routes(routes!(get_trace))
        .routes(routes!(get_trace_step))
        .routes(routes!(dry_run_turn))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TracesAsked {
    /// Only of this agent.
    agent: Option<Uuid>,
    /// Only in this room.
    room: Option<Uuid>,
    /// Only of this platform.
    source: Option<String>,
    /// Only with this outcome: `replied`, `ignored`, `failed` or `waiting`.
    verdict: Option<String>,
    /// The cursor of the page before.
    before: Option<String>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

fn state(verdict: &str) -> Result<InboxState, Problem> {
    match verdict {
        "replied" => Ok(InboxState::Done),
        "ignored" => Ok(InboxState::Skipped),
        "failed" => Ok(InboxState::Dead),
        "waiting" => Ok(InboxState::New),
        _ => Err(Problem::input(
            StatusCode::BAD_REQUEST,
            "verdict: replied, ignored, failed or waiting",
        )),
    }
}

/// Turns with their outcome, time and cost, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/traces",
    operation_id = "listTraces",
    tag = "turns",
    params(TracesAsked),
    responses((status = 200, description = "Done", body = TraceList), Problem)
)]
async fn list_traces(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<TracesAsked>,
) -> Result<axum::Json<TraceList>, Problem> {
    let query = TurnsQuery {
        agent: asked.agent.map(AgentId),
        room: asked.room.map(RoomId),
        source: asked.source.map(Source::from_name),
        state: asked.verdict.as_deref().map(state).transpose()?,
        before: place(asked.before.as_deref())?,
        limit: limit(asked.limit)?,
    };
    let page = app.ops.traces(&by, &query).await?;
    let items = page.rows.into_iter().map(TraceSummary::from).collect();
    Ok(axum::Json(TraceList { items, next: page.next.map(|place| place.to_string()) }))
}

/// Every step of a turn, by the id of its message.
#[utoipa::path(
    get,
    path = "/api/v1/turns/{id}/trace",
    operation_id = "getTrace",
    tag = "turns",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = TraceDetail), Problem)
)]
async fn get_trace(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<TraceDetail>, Problem> {
    Ok(axum::Json(app.ops.trace(&by, MemoryId(id)).await?.into()))
}

/// A step with its texts: the prompt as it was sent, the answer, the parameters and the result of an
/// action.
#[utoipa::path(
    get,
    path = "/api/v1/turns/{id}/steps/{n}",
    operation_id = "getTraceStep",
    tag = "turns",
    params(("id" = Uuid, Path), ("n" = usize, Path)),
    responses((status = 200, description = "Done", body = StepBody), Problem)
)]
async fn get_trace_step(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path((id, n)): Path<(Uuid, usize)>,
) -> Result<axum::Json<StepBody>, Problem> {
    let trace = app.ops.trace(&by, MemoryId(id)).await?;
    let body = StepBody::of(trace, n);
    body.map(axum::Json).ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "GAL-API-ROUTE", "this turn has no step of this number")
    })
}

/// Asks the model of a turn again with the prompt as it was sent. Nothing is sent to a platform.
#[utoipa::path(
    post,
    path = "/api/v1/turns/{id}/dry-run",
    operation_id = "dryRunTurn",
    tag = "turns",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = DryRunView), Problem)
)]
async fn dry_run_turn(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<DryRunView>, Problem> {
    Ok(axum::Json(app.ops.dry_run(&by, MemoryId(id)).await?.into()))
}
