//! Who may talk to an agent: strangers who wait, invitations, blocks, links.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use galatea_core::{AgentId, EntityId, TaskId, store::BlockKind};
use galatea_host::ops::NewBlock;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::work::OfAgent;
use crate::{
    app::App,
    auth::{Reader, Worker},
    error::Problem,
    extract::{Json, Path, Query},
    idempotency::ContainsSecret,
    view::{
        InvitationView, LinkList, LinkView, NamedBlock, NamedBlockList, PairingList, PairingView,
    },
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_pairings))
        .routes(routes!(approve_pairing))
        .routes(routes!(refuse_pairing))
        .routes(routes!(invite_friend))
        .routes(routes!(list_all_blocks, add_block))
        .routes(routes!(remove_block))
        .routes(routes!(block_person))
        .routes(routes!(list_links))
}

/// An invitation to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct InviteFriend {
    /// The agent that the friend may talk to.
    agent: Uuid,
    /// Days until it ends; 7 if absent.
    #[schema(minimum = 1, maximum = 90)]
    days: Option<u8>,
}

/// A block to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AddBlock {
    /// Only this agent; every agent if absent.
    agent: Option<Uuid>,
    /// The platform.
    #[schema(max_length = 32)]
    source: String,
    /// `person`, `room` or `world`.
    #[schema(pattern = "^(person|room|world)$")]
    kind: String,
    /// The platform's id.
    #[schema(min_length = 1, max_length = 200)]
    remote: String,
    /// The reason, for people.
    #[serde(default)]
    #[schema(max_length = 500)]
    reason: String,
}

/// Why a person is blocked.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BlockPerson {
    /// The reason, for people.
    #[serde(default)]
    #[schema(max_length = 500)]
    reason: String,
}

/// Strangers who wait to talk to an agent, longest first.
#[utoipa::path(
    get,
    path = "/api/v1/pairing",
    operation_id = "listPairings",
    tag = "access",
    responses((status = 200, description = "Done", body = PairingList), Problem)
)]
async fn list_pairings(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
) -> Result<axum::Json<PairingList>, Problem> {
    let items = app.ops.pairings(&by).await?.into_iter().map(PairingView::from).collect();
    Ok(axum::Json(PairingList { items, next: None }))
}

/// Admits a stranger who waits.
#[utoipa::path(
    post,
    path = "/api/v1/pairing/{id}/approve",
    operation_id = "approvePairing",
    tag = "access",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn approve_pairing(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.approve_pairing(&by, TaskId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the wait of a stranger, who is told nothing and may ask again.
#[utoipa::path(
    post,
    path = "/api/v1/pairing/{id}/refuse",
    operation_id = "refusePairing",
    tag = "access",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn refuse_pairing(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.refuse_pairing(&by, TaskId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a code for a friend: who writes it to the agent first is admitted. It is shown once.
#[utoipa::path(
    post,
    path = "/api/v1/invitations",
    operation_id = "inviteFriend",
    tag = "access",
    request_body = InviteFriend,
    responses((status = 201, description = "Done", body = InvitationView), Problem)
)]
async fn invite_friend(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Json(body): Json<InviteFriend>,
) -> Result<Response, Problem> {
    let days = body.days.unwrap_or(7);
    if !(1..=90).contains(&days) {
        return Err(Problem::input(StatusCode::BAD_REQUEST, "days: 1 to 90"));
    }
    let made = app.ops.invite_friend(&by, AgentId(body.agent), days).await?;
    let made = (StatusCode::CREATED, axum::Json(InvitationView::from(made)));
    let mut response = made.into_response();
    response.extensions_mut().insert(ContainsSecret);
    Ok(response)
}

/// Who is never answered, by any agent.
#[utoipa::path(
    get,
    path = "/api/v1/blocks",
    operation_id = "listAllBlocks",
    tag = "access",
    params(OfAgent),
    responses((status = 200, description = "Done", body = NamedBlockList), Problem)
)]
async fn list_all_blocks(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<OfAgent>,
) -> Result<axum::Json<NamedBlockList>, Problem> {
    let blocks = app.ops.all_blocks(&by, asked.agent.map(AgentId)).await?;
    let items = blocks.into_iter().map(NamedBlock::from).collect();
    Ok(axum::Json(NamedBlockList { items, next: None }))
}

/// Blocks a person, a room or a world. It takes effect within two seconds.
#[utoipa::path(
    post,
    path = "/api/v1/blocks",
    operation_id = "addBlock",
    tag = "access",
    request_body = AddBlock,
    responses((status = 201, description = "Done", body = NamedBlockList), Problem)
)]
async fn add_block(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Json(body): Json<AddBlock>,
) -> Result<Response, Problem> {
    let kind = BlockKind::parse(&body.kind)
        .ok_or_else(|| Problem::input(StatusCode::BAD_REQUEST, "kind: person, room or world"))?;
    let new = NewBlock {
        agent: body.agent.map(AgentId),
        source: body.source,
        kind,
        remote: body.remote,
        reason: body.reason,
    };
    Ok(blocked(app.ops.add_block(&by, new).await?))
}

fn blocked(blocks: Vec<galatea_core::store::Block>) -> Response {
    let items = blocks.into_iter().map(NamedBlock::from).collect();
    (StatusCode::CREATED, axum::Json(NamedBlockList { items, next: None })).into_response()
}

/// Lifts a block.
#[utoipa::path(
    delete,
    path = "/api/v1/blocks/{id}",
    operation_id = "removeBlock",
    tag = "access",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_block(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_block(&by, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Blocks every account of a person that their agent has met.
#[utoipa::path(
    post,
    path = "/api/v1/people/{id}/block",
    operation_id = "blockPerson",
    tag = "access",
    params(("id" = Uuid, Path)),
    request_body = Option<BlockPerson>,
    responses((status = 201, description = "Done", body = NamedBlockList), Problem)
)]
async fn block_person(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(id): Path<Uuid>,
    body: Option<Json<BlockPerson>>,
) -> Result<Response, Problem> {
    let reason = body.map(|Json(body)| body.reason).unwrap_or_default();
    Ok(blocked(app.ops.block_person(&by, EntityId(id), &reason).await?))
}

/// Accounts of an agent's people that are one person.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{id}/links",
    operation_id = "listLinks",
    tag = "access",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = LinkList), Problem)
)]
async fn list_links(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<LinkList>, Problem> {
    let items = app.ops.links(&by, AgentId(id)).await?.into_iter().map(LinkView::from).collect();
    Ok(axum::Json(LinkList { items, next: None }))
}
