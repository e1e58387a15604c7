//! Plugins, services, tools and grants.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use galatea_core::{
    AgentId, EntityId, RoomId, WorldId,
    rights::{GrantAsk, parse_least},
};
use galatea_host::ops::NewGrant;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::work::OfAgent;
use crate::{
    app::App,
    auth::{Owner, Reader},
    error::Problem,
    extract::{Json, Path, Query},
    view::{
        GrantList, GrantView, PluginList, PluginView, ServiceList, ServiceView, ToolList, ToolView,
    },
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_plugins))
        .routes(routes!(change_plugin))
        .routes(routes!(list_services))
        .routes(routes!(list_tools))
        .routes(routes!(list_grants, add_grant))
        .routes(routes!(remove_grant))
}

/// What to change of a plugin; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChangePlugin {
    /// Turns use it.
    on: Option<bool>,
    /// Settings by name; a null removes one.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    settings: BTreeMap<String, Value>,
}

/// A grant to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AddGrant {
    /// `owner/name`, or `owner/*`.
    #[schema(min_length = 3, max_length = 200)]
    tools: String,
    /// The least standing that may use them: `member`, `admin`, `owner`, `agent-owner`, `nobody`.
    #[schema(pattern = "^(member|admin|owner|agent-owner|nobody)$")]
    from: String,
    /// When they ask first: `never`, `others-words` or `always`; `others-words` if absent.
    #[schema(pattern = "^(never|others-words|always)$")]
    ask: Option<String>,
    /// Only in this world.
    world: Option<Uuid>,
    /// Only in this room.
    room: Option<Uuid>,
    /// Only for this person.
    person: Option<Uuid>,
}

/// Plugins of the agents of this process, by name, also those that are off.
#[utoipa::path(
    get,
    path = "/api/v1/plugins",
    operation_id = "listPlugins",
    tag = "plugins",
    params(OfAgent),
    responses((status = 200, description = "Done", body = PluginList), Problem)
)]
async fn list_plugins(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<OfAgent>,
) -> Result<axum::Json<PluginList>, Problem> {
    let plugins = app.ops.plugins(&by, asked.agent.map(AgentId))?;
    let items = plugins.into_iter().map(PluginView::from).collect();
    Ok(axum::Json(PluginList { items, next: None }))
}

/// Turns a plugin of an agent on or off, and sets its settings.
#[utoipa::path(
    patch,
    path = "/api/v1/agents/{id}/plugins/{name}",
    operation_id = "changePlugin",
    tag = "plugins",
    params(("id" = Uuid, Path), ("name" = String, Path)),
    request_body = ChangePlugin,
    responses((status = 200, description = "Done", body = PluginView), Problem)
)]
async fn change_plugin(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path((id, name)): Path<(Uuid, String)>,
    Json(body): Json<ChangePlugin>,
) -> Result<axum::Json<PluginView>, Problem> {
    let ChangePlugin { on, settings } = body;
    Ok(axum::Json(app.ops.change_plugin(&by, AgentId(id), &name, on, settings).await?.into()))
}

/// Services of plugins, with how they are doing.
#[utoipa::path(
    get,
    path = "/api/v1/services",
    operation_id = "listServices",
    tag = "plugins",
    params(OfAgent),
    responses((status = 200, description = "Done", body = ServiceList), Problem)
)]
async fn list_services(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<OfAgent>,
) -> Result<axum::Json<ServiceList>, Problem> {
    let services = app.ops.services(&by, asked.agent.map(AgentId))?;
    let items = services.into_iter().map(ServiceView::from).collect();
    Ok(axum::Json(ServiceList { items, next: None }))
}

/// Tools that agents have.
#[utoipa::path(
    get,
    path = "/api/v1/tools",
    operation_id = "listTools",
    tag = "tools",
    params(OfAgent),
    responses((status = 200, description = "Done", body = ToolList), Problem)
)]
async fn list_tools(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<OfAgent>,
) -> Result<axum::Json<ToolList>, Problem> {
    let tools = app.ops.tools(&by, asked.agent.map(AgentId)).await?;
    let items = tools.into_iter().map(ToolView::from).collect();
    Ok(axum::Json(ToolList { items, next: None }))
}

/// Grants of an agent: who may use which tool where.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{id}/grants",
    operation_id = "listGrants",
    tag = "tools",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = GrantList), Problem)
)]
async fn list_grants(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<GrantList>, Problem> {
    let items = app.ops.grants(&by, AgentId(id)).await?.into_iter().map(GrantView::from).collect();
    Ok(axum::Json(GrantList { items, next: None }))
}

/// Grants tools. It takes effect within two seconds.
#[utoipa::path(
    post,
    path = "/api/v1/agents/{id}/grants",
    operation_id = "addGrant",
    tag = "tools",
    params(("id" = Uuid, Path)),
    request_body = AddGrant,
    responses((status = 201, description = "Done", body = GrantView), Problem)
)]
async fn add_grant(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(id): Path<Uuid>,
    Json(body): Json<AddGrant>,
) -> Result<Response, Problem> {
    let wrong = |detail| Problem::input(StatusCode::BAD_REQUEST, detail);
    let from = parse_least(&body.from).ok_or_else(|| wrong("from: there is no such standing"))?;
    let ask = body.ask.as_deref().unwrap_or("others-words");
    let new = NewGrant {
        tools: body.tools.parse()?,
        from,
        ask: GrantAsk::parse(ask).ok_or_else(|| wrong("ask: never, others-words or always"))?,
        world: body.world.map(WorldId),
        room: body.room.map(RoomId),
        person: body.person.map(EntityId),
    };
    let grant = app.ops.add_grant(&by, AgentId(id), new).await?;
    Ok((StatusCode::CREATED, axum::Json(GrantView::from(grant))).into_response())
}

/// Takes a grant back.
#[utoipa::path(
    delete,
    path = "/api/v1/agents/{id}/grants/{grant}",
    operation_id = "removeGrant",
    tag = "tools",
    params(("id" = Uuid, Path), ("grant" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_grant(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path((id, grant)): Path<(Uuid, Uuid)>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_grant(&by, AgentId(id), grant).await?;
    Ok(StatusCode::NO_CONTENT)
}
