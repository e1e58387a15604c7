//! Agents.

use axum::extract::State;
use galatea_core::AgentId;
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    app::App,
    auth::{Reader, Worker},
    error::Problem,
    extract::Path,
    view::{AgentDetail, AgentList, AgentSummary, BlockList, BlockView, WorldList, WorldView},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_agents))
        .routes(routes!(get_agent))
        .routes(routes!(start_agent))
        .routes(routes!(stop_agent))
        .routes(routes!(restart_agent))
        .routes(routes!(list_worlds))
        .routes(routes!(list_blocks))
}

/// Agents of this process.
#[utoipa::path(
    get,
    path = "/api/v1/agents",
    operation_id = "listAgents",
    tag = "agents",
    responses((status = 200, description = "Done", body = AgentList), Problem)
)]
async fn list_agents(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<AgentList>, Problem> {
    let items = app.ops.agents(&by)?.into_iter().map(AgentSummary::from).collect();
    Ok(axum::Json(AgentList { items, next: None }))
}

/// An agent with its character.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{id}",
    operation_id = "getAgent",
    tag = "agents",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = AgentDetail), Problem)
)]
async fn get_agent(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<AgentDetail>, Problem> {
    Ok(axum::Json(app.ops.agent(&by, AgentId(id)).await?.into()))
}

/// Starts an agent that was created or stopped.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{id}/start",
    operation_id = "startAgent",
    tag = "agents",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = AgentSummary), Problem)
)]
async fn start_agent(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<AgentSummary>, Problem> {
    Ok(axum::Json(app.ops.start_agent(&by, AgentId(id)).await?.into()))
}

/// Stops an agent. Work that does not end in time goes on at its next start.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{id}/stop",
    operation_id = "stopAgent",
    tag = "agents",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = AgentSummary), Problem)
)]
async fn stop_agent(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<AgentSummary>, Problem> {
    Ok(axum::Json(app.ops.stop_agent(&by, AgentId(id)).await?.into()))
}

/// Makes an agent's models and connectors anew.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{id}/restart",
    operation_id = "restartAgent",
    tag = "agents",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = AgentSummary), Problem)
)]
async fn restart_agent(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<AgentSummary>, Problem> {
    Ok(axum::Json(app.ops.restart_agent(&by, AgentId(id)).await?.into()))
}

/// Worlds of an agent, by name.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{id}/worlds",
    operation_id = "listWorlds",
    tag = "agents",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = WorldList), Problem)
)]
async fn list_worlds(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<WorldList>, Problem> {
    let items = app.ops.worlds(&by, AgentId(id)).await?.into_iter().map(WorldView::from).collect();
    Ok(axum::Json(WorldList { items, next: None }))
}

/// Who is never answered by an agent.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{id}/blocks",
    operation_id = "listBlocks",
    tag = "agents",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = BlockList), Problem)
)]
async fn list_blocks(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<BlockList>, Problem> {
    let items = app.ops.blocks(&by, AgentId(id)).await?.into_iter().map(BlockView::from).collect();
    Ok(axum::Json(BlockList { items, next: None }))
}
