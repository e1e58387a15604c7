//! Tasks, and actions that wait for a person.

use axum::{extract::State, http::StatusCode};
use galatea_core::{AgentId, TaskId};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    app::App,
    auth::{Reader, Worker},
    error::Problem,
    extract::{Path, Query},
    view::{ApprovalList, ApprovalView, TaskList, TaskView},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_tasks))
        .routes(routes!(remove_task))
        .routes(routes!(run_task))
        .routes(routes!(pause_task))
        .routes(routes!(list_approvals))
        .routes(routes!(approve_actions))
        .routes(routes!(refuse_actions))
}

/// Only of one agent.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfAgent {
    /// Only of this agent.
    pub(super) agent: Option<Uuid>,
}

/// Tasks that run by themselves, the one due first before the others.
#[utoipa::path(
    get,
    path = "/api/v1/tasks",
    operation_id = "listTasks",
    tag = "tasks",
    params(OfAgent),
    responses((status = 200, description = "Done", body = TaskList), Problem)
)]
async fn list_tasks(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<OfAgent>,
) -> Result<axum::Json<TaskList>, Problem> {
    let tasks = app.ops.tasks(&by, asked.agent.map(AgentId)).await?;
    let items = tasks.into_iter().map(TaskView::from).collect();
    Ok(axum::Json(TaskList { items, next: None }))
}

/// Has a task run now. A paused one is tried again.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/run",
    operation_id = "runTask",
    tag = "tasks",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = TaskView), Problem)
)]
async fn run_task(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<TaskView>, Problem> {
    Ok(axum::Json(app.ops.run_task(&by, TaskId(id)).await?.into()))
}

/// Pauses a task until it is run again.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/pause",
    operation_id = "pauseTask",
    tag = "tasks",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = TaskView), Problem)
)]
async fn pause_task(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<TaskView>, Problem> {
    Ok(axum::Json(app.ops.pause_task(&by, TaskId(id)).await?.into()))
}

/// Removes a task.
#[utoipa::path(
    delete,
    path = "/api/v1/tasks/{id}",
    operation_id = "removeTask",
    tag = "tasks",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_task(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_task(&by, TaskId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Actions that wait for a person, the one that ends first before the others.
#[utoipa::path(
    get,
    path = "/api/v1/approvals",
    operation_id = "listApprovals",
    tag = "approvals",
    responses((status = 200, description = "Done", body = ApprovalList), Problem)
)]
async fn list_approvals(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
) -> Result<axum::Json<ApprovalList>, Problem> {
    let items = app.ops.approvals(&by).await?.into_iter().map(ApprovalView::from).collect();
    Ok(axum::Json(ApprovalList { items, next: None }))
}

/// Has actions carried out that wait for a person. The agent says so in their room.
#[utoipa::path(
    post,
    path = "/api/v1/approvals/{id}/approve",
    operation_id = "approveActions",
    tag = "approvals",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn approve_actions(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.decide_approval(&by, TaskId(id), true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Drops actions that wait for a person. The agent says so in their room.
#[utoipa::path(
    post,
    path = "/api/v1/approvals/{id}/refuse",
    operation_id = "refuseActions",
    tag = "approvals",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn refuse_actions(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.decide_approval(&by, TaskId(id), false).await?;
    Ok(StatusCode::NO_CONTENT)
}
