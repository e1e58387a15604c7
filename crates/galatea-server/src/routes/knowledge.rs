//! Documents: listed, uploaded in pieces, removed, asked.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use galatea_core::AgentId;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::work::OfAgent;
use crate::{
    app::App,
    auth::{Reader, Worker},
    error::Problem,
    extract::{Json, Path, Query, Raw},
    view::{DocumentList, DocumentView, PassageList, PassageView, UploadView},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_documents, add_document))
        .routes(routes!(remove_document))
        .routes(routes!(begin_upload))
        .routes(routes!(get_upload, continue_upload))
        .routes(routes!(ask_documents))
}

/// An upload to begin.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BeginUpload {
    /// The agent whose document it becomes.
    agent: Uuid,
    /// Name of the file. Its ending says what it is.
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    /// Its bytes in all.
    #[schema(minimum = 1, maximum = 67_108_864)]
    size: u64,
    /// Other agents find it too.
    #[serde(default)]
    shared: bool,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Offset {
    /// Bytes that were sent before: `received` of the upload.
    offset: u64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AddedDocument {
    /// The agent whose document it becomes.
    agent: Uuid,
    /// Name of the file. Its ending says what it is.
    #[param(min_length = 1, max_length = 120)]
    name: String,
}

/// A question to an agent's documents.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AskDocuments {
    /// The agent.
    agent: Uuid,
    /// What a person would ask.
    #[schema(min_length = 1, max_length = 2000)]
    query: String,
    /// Pieces; 8 if absent.
    #[schema(minimum = 1, maximum = 20)]
    limit: Option<u8>,
}

/// Documents of the agents of this process, with how far each has come.
#[utoipa::path(
    get,
    path = "/api/v1/knowledge",
    operation_id = "listDocuments",
    tag = "knowledge",
    params(OfAgent),
    responses((status = 200, description = "Done", body = DocumentList), Problem)
)]
async fn list_documents(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<OfAgent>,
) -> Result<axum::Json<DocumentList>, Problem> {
    let documents = app.ops.documents(&by, asked.agent.map(AgentId)).await?;
    let items = documents.into_iter().map(DocumentView::from).collect();
    Ok(axum::Json(DocumentList { items, next: None }))
}

/// Adds a document of at most 1 MiB at once. A longer one is uploaded in pieces.
#[utoipa::path(
    post,
    path = "/api/v1/knowledge",
    operation_id = "addDocument",
    tag = "knowledge",
    params(AddedDocument),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, description = "Done", body = UploadView), Problem)
)]
async fn add_document(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Query(asked): Query<AddedDocument>,
    Raw(body): Raw,
) -> Result<Response, Problem> {
    let size = body.len() as u64;
    let AddedDocument { agent, name } = asked;
    let upload = app.ops.begin_upload(&by, AgentId(agent), &name, size, false).await?;
    let upload = app.ops.continue_upload(&by, upload.id, 0, &body).await?;
    Ok((StatusCode::CREATED, axum::Json(UploadView::from(upload))).into_response())
}

/// Removes a document that was added, or an upload that is under way.
#[utoipa::path(
    delete,
    path = "/api/v1/knowledge/{id}",
    operation_id = "removeDocument",
    tag = "knowledge",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_document(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_document(&by, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begins an upload.
#[utoipa::path(
    post,
    path = "/api/v1/uploads",
    operation_id = "beginUpload",
    tag = "knowledge",
    request_body = BeginUpload,
    responses((status = 201, description = "Done", body = UploadView), Problem)
)]
async fn begin_upload(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Json(body): Json<BeginUpload>,
) -> Result<Response, Problem> {
    let BeginUpload { agent, name, size, shared } = body;
    let upload = app.ops.begin_upload(&by, AgentId(agent), &name, size, shared).await?;
    Ok((StatusCode::CREATED, axum::Json(UploadView::from(upload))).into_response())
}

/// How far an upload has come. After a broken connection it goes on from there.
#[utoipa::path(
    get,
    path = "/api/v1/uploads/{id}",
    operation_id = "getUpload",
    tag = "knowledge",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = UploadView), Problem)
)]
async fn get_upload(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<UploadView>, Problem> {
    Ok(axum::Json(app.ops.upload(&by, id).await?.into()))
}

/// Adds at most 1 MiB at an offset. With the last bytes the agent begins to read the document.
#[utoipa::path(
    put,
    path = "/api/v1/uploads/{id}",
    operation_id = "continueUpload",
    tag = "knowledge",
    params(("id" = Uuid, Path), Offset),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, description = "Done", body = UploadView), Problem)
)]
async fn continue_upload(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
    Query(Offset { offset }): Query<Offset>,
    Raw(body): Raw,
) -> Result<axum::Json<UploadView>, Problem> {
    Ok(axum::Json(app.ops.continue_upload(&by, id, offset, &body).await?.into()))
}

/// Searches an agent's documents as the agent does.
#[utoipa::path(
    post,
    path = "/api/v1/knowledge/search",
    operation_id = "askDocuments",
    tag = "knowledge",
    request_body = AskDocuments,
    responses((status = 200, description = "Done", body = PassageList), Problem)
)]
async fn ask_documents(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Json(body): Json<AskDocuments>,
) -> Result<axum::Json<PassageList>, Problem> {
    let limit = usize::from(body.limit.unwrap_or(8));
    if !(1..=20).contains(&limit) || body.query.chars().count() > 2_000 {
        let detail = "query: at most 2,000 characters; limit: 1 to 20";
        return Err(Problem::input(StatusCode::BAD_REQUEST, detail));
    }
    let found = app.ops.ask_documents(&by, AgentId(body.agent), &body.query, limit).await?;
    let items = found.into_iter().map(PassageView::from).collect();
    Ok(axum::Json(PassageList { items, next: None }))
}
