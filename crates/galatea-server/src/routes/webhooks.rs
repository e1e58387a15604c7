//! Webhooks: addresses to which events are sent.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use galatea_core::{AgentId, ExposeSecret as _, store::Webhook};
use galatea_host::ops::NewWebhook;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    app::App,
    auth::Owner,
    error::Problem,
    extract::{Json, Path},
    idempotency::ContainsSecret,
    view::list,
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_webhooks, add_webhook)).routes(routes!(remove_webhook))
}

/// A webhook, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookView {
    id: Uuid,
    url: String,
    /// Only events of these kinds; all if empty.
    kinds: Vec<String>,
    /// Only events of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Uuid>,
    /// Number of the last event that arrived.
    seq: i64,
    /// Failed attempts in a row.
    failures: u32,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// Earliest time of the next attempt.
    next_at: i64,
    created_at: i64,
    created_by: String,
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> Self {
        Self {
            id: webhook.id,
            url: webhook.url,
            kinds: webhook.kinds,
            agent: webhook.agent.map(|agent| agent.0),
            seq: webhook.seq,
            failures: webhook.failures,
            last_error: webhook.last_error,
            next_at: webhook.next_at.0,
            created_at: webhook.created_at.0,
            created_by: webhook.by,
        }
    }
}

list!(/// Webhooks.
    WebhookList of WebhookView);

/// A new webhook. Its secret is shown once.
#[derive(Serialize, ToSchema)]
struct NewWebhookView {
    webhook: WebhookView,
    /// Signs what is sent, as Standard Webhooks has it.
    secret: String,
}

/// A webhook to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AddWebhook {
    /// The address. Those of this machine and of internal networks are refused.
    #[schema(min_length = 8, max_length = 2000)]
    url: String,
    /// Only events of these kinds; all if absent.
    #[serde(default)]
    #[schema(max_items = 50)]
    kinds: Vec<String>,
    /// Only events of this agent.
    agent: Option<Uuid>,
}

/// Webhooks, with how each is doing.
#[utoipa::path(
    get,
    path = "/api/v1/webhooks",
    operation_id = "listWebhooks",
    tag = "webhooks",
    responses((status = 200, description = "Done", body = WebhookList), Problem)
)]
async fn list_webhooks(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
) -> Result<axum::Json<WebhookList>, Problem> {
    let items = app.ops.webhooks(&by).await?.into_iter().map(WebhookView::from).collect();
    Ok(axum::Json(WebhookList { items, next: None }))
}

/// Adds a webhook, to which events from now on are sent.
#[utoipa::path(
    post,
    path = "/api/v1/webhooks",
    operation_id = "addWebhook",
    tag = "webhooks",
    request_body = AddWebhook,
    responses((status = 201, description = "Done", body = NewWebhookView), Problem)
)]
async fn add_webhook(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Json(body): Json<AddWebhook>,
) -> Result<Response, Problem> {
    if body.url.len() > 2_000 || body.kinds.len() > 50 {
        return Err(Problem::input(StatusCode::BAD_REQUEST, "url or kinds: too long"));
    }
    let new = NewWebhook { url: body.url, kinds: body.kinds, agent: body.agent.map(AgentId) };
    let (webhook, secret) = app.ops.add_webhook(&by, new).await?;
    let secret = secret.expose_secret().to_owned();
    let made = axum::Json(NewWebhookView { webhook: webhook.into(), secret });
    let mut response = (StatusCode::CREATED, made).into_response();
    response.extensions_mut().insert(ContainsSecret);
    Ok(response)
}

/// Removes a webhook.
#[utoipa::path(
    delete,
    path = "/api/v1/webhooks/{id}",
    operation_id = "removeWebhook",
    tag = "webhooks",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_webhook(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_webhook(&by, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
