//! Characters with their versions, and agents that are created here.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use galatea_core::AgentId;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    app::App,
    auth::{Owner, Reader, Worker},
    error::Problem,
    extract::{Json, Path, Query, limit},
    view::{
        AgentDetail, CharacterVersionList, CharacterVersionView, CharacterView, DifferenceList,
        DifferenceView, PreviewView, RemarkList, RemarkView,
    },
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_character, save_character))
        .routes(routes!(list_versions))
        .routes(routes!(diff_character))
        .routes(routes!(revert_character))
        .routes(routes!(validate_character))
        .routes(routes!(preview_character))
        .routes(routes!(create_agent))
        .routes(routes!(remove_agent))
}

/// A character, in any form that elizaOS has had.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
struct CharacterBody(Map<String, Value>);

/// A character that is tried.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Preview {
    /// The character.
    #[schema(value_type = Object)]
    character: Map<String, Value>,
    /// The agent whose settings it gets; those of the process if absent.
    agent: Option<Uuid>,
    /// What is said to it.
    #[schema(min_length = 1, max_length = 4000)]
    text: String,
}

/// A version to bring back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Revert {
    /// Its number.
    #[schema(minimum = 1)]
    version: i64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct VersionsAsked {
    /// The cursor of the page before.
    before: Option<i64>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DiffAsked {
    /// Number of the earlier version.
    #[param(minimum = 1)]
    from: i64,
    /// Number of the later version; the newest if absent.
    #[param(minimum = 1)]
    to: Option<i64>,
}

/// The character of an agent as it is now.
#[utoipa::path(
    get,
    path = "/api/v1/characters/{id}",
    operation_id = "getCharacter",
    tag = "characters",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = CharacterView), Problem)
)]
async fn get_character(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<CharacterView>, Problem> {
    Ok(axum::Json(app.ops.character(&by, AgentId(id)).await?.into()))
}

/// The version that `If-Match` names; none without the header.
fn seen(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(tag) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let tag = tag.to_str().unwrap_or_default().trim();
    if tag == "*" {
        return Ok(None);
    }
    let number = tag.trim_matches('"').strip_prefix('v').and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| {
        Problem::input(StatusCode::BAD_REQUEST, "If-Match: the etag of the character")
    })
}

/// Saves a character as its next version. With `If-Match` only over the version it names.
#[utoipa::path(
    put,
    path = "/api/v1/characters/{id}",
    operation_id = "saveCharacter",
    tag = "characters",
    params(("id" = Uuid, Path)),
    request_body = CharacterBody,
    responses((status = 200, description = "Done", body = CharacterView), Problem)
)]
async fn save_character(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(body): Json<CharacterBody>,
) -> Result<axum::Json<CharacterView>, Problem> {
    let body = Value::Object(body.0);
    let saved = app.ops.save_character(&by, AgentId(id), seen(&headers)?, &body).await?;
    Ok(axum::Json(saved.into()))
}

/// Versions of a character, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/characters/{id}/versions",
    operation_id = "listCharacterVersions",
    tag = "characters",
    params(("id" = Uuid, Path), VersionsAsked),
    responses((status = 200, description = "Done", body = CharacterVersionList), Problem)
)]
async fn list_versions(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
    Query(asked): Query<VersionsAsked>,
) -> Result<axum::Json<CharacterVersionList>, Problem> {
    let limit = limit(asked.limit)?;
    let rows = app.ops.character_versions(&by, AgentId(id), asked.before, limit).await?;
    let full = rows.len() >= limit as usize;
    let next = rows.last().filter(|_| full).map(|row| row.version.to_string());
    let items = rows.into_iter().map(CharacterVersionView::from).collect();
    Ok(axum::Json(CharacterVersionList { items, next }))
}

/// Changes of a character between two versions.
#[utoipa::path(
    get,
    path = "/api/v1/characters/{id}/diff",
    operation_id = "diffCharacter",
    tag = "characters",
    params(("id" = Uuid, Path), DiffAsked),
    responses((status = 200, description = "Done", body = DifferenceList), Problem)
)]
async fn diff_character(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
    Query(DiffAsked { from, to }): Query<DiffAsked>,
) -> Result<axum::Json<DifferenceList>, Problem> {
    let changes = app.ops.character_diff(&by, AgentId(id), from, to).await?;
    let items = changes.into_iter().map(DifferenceView::from).collect();
    Ok(axum::Json(DifferenceList { items, next: None }))
}

/// Saves an older version as the newest one.
#[utoipa::path(
    post,
    path = "/api/v1/characters/{id}/revert",
    operation_id = "revertCharacter",
    tag = "characters",
    params(("id" = Uuid, Path)),
    request_body = Revert,
    responses((status = 200, description = "Done", body = CharacterView), Problem)
)]
async fn revert_character(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
    Json(Revert { version }): Json<Revert>,
) -> Result<axum::Json<CharacterView>, Problem> {
    Ok(axum::Json(app.ops.revert_character(&by, AgentId(id), version).await?.into()))
}

/// What is wrong with a character, and what is remarkable. Lines are those of its text with an indent of
/// two.
#[utoipa::path(
    post,
    path = "/api/v1/characters/validate",
    operation_id = "validateCharacter",
    tag = "characters",
    request_body = CharacterBody,
    responses((status = 200, description = "Done", body = RemarkList), Problem)
)]
async fn validate_character(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Json(body): Json<CharacterBody>,
) -> Result<axum::Json<RemarkList>, Problem> {
    let text = serde_json::to_string_pretty(&body.0).unwrap_or_default();
    let remarks = app.ops.validate_character(&by, &text)?;
    let items = remarks.into_iter().map(RemarkView::from).collect();
    Ok(axum::Json(RemarkList { items, next: None }))
}

/// Says something to a character that is not saved. Nothing of it stays.
#[utoipa::path(
    post,
    path = "/api/v1/characters/preview",
    operation_id = "previewCharacter",
    tag = "characters",
    request_body = Preview,
    responses((status = 200, description = "Done", body = PreviewView), Problem)
)]
async fn preview_character(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Json(body): Json<Preview>,
) -> Result<axum::Json<PreviewView>, Problem> {
    let Preview { character, agent, text } = body;
    let character = Value::Object(character);
    let text = app.ops.preview(&by, agent.map(AgentId), &character, &text).await?;
    Ok(axum::Json(PreviewView { text }))
}

/// Creates an agent of a character, and starts it. It is there after a restart.
#[utoipa::path(
    post,
    path = "/api/v1/agents",
    operation_id = "createAgent",
    tag = "agents",
    request_body = CharacterBody,
    responses((status = 201, description = "Done", body = AgentDetail), Problem)
)]
async fn create_agent(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Json(body): Json<CharacterBody>,
) -> Result<Response, Problem> {
    let id = app.ops.create_agent(&by, &Value::Object(body.0)).await?;
    let agent = app.ops.agent(&by, id).await?;
    Ok((StatusCode::CREATED, axum::Json(AgentDetail::from(agent))).into_response())
}

/// Stops an agent that was created here, and does not start it any more.
#[utoipa::path(
    delete,
    path = "/api/v1/agents/{id}",
    operation_id = "removeAgent",
    tag = "agents",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_agent(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_agent(&by, AgentId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
