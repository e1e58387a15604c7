//! Connectors, usage, and the record of changes.

use axum::{extract::State, http::StatusCode};
use galatea_core::AgentId;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    app::App,
    auth::{Owner, Reader},
    error::Problem,
    extract::{Query, limit},
    view::{ChangeList, ChangeView, ConnectorList, ConnectorView, UsageLine, UsageList},
};

/// Most days of usage in one answer.
const DAYS: u16 = 366;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_connectors))
        .routes(routes!(list_usage))
        .routes(routes!(list_changes))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct UsageAsked {
    /// Only of this agent.
    agent: Option<Uuid>,
    /// Days, today included; 1 if absent.
    #[param(minimum = 1, maximum = 366)]
    days: Option<u16>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ChangesAsked {
    /// The cursor of the page before.
    before: Option<i64>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Connectors of this process with their health.
#[utoipa::path(
    get,
    path = "/api/v1/connectors",
    operation_id = "listConnectors",
    tag = "connectors",
    responses((status = 200, description = "Done", body = ConnectorList), Problem)
)]
async fn list_connectors(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<ConnectorList>, Problem> {
    let items = app.ops.connectors(&by)?.into_iter().map(ConnectorView::from).collect();
    Ok(axum::Json(ConnectorList { items, next: None }))
}

/// What answers cost, by day, room, person and model.
#[utoipa::path(
    get,
    path = "/api/v1/usage",
    operation_id = "listUsage",
    tag = "usage",
    params(UsageAsked),
    responses((status = 200, description = "Done", body = UsageList), Problem)
)]
async fn list_usage(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<UsageAsked>,
) -> Result<axum::Json<UsageList>, Problem> {
    let days = asked.days.unwrap_or(1);
    if !(1..=DAYS).contains(&days) {
        return Err(Problem::input(StatusCode::BAD_REQUEST, "days: 1 to 366"));
    }
    let rows = app.ops.usage(&by, asked.agent.map(AgentId), days).await?;
    let items = rows.into_iter().map(UsageLine::from).collect();
    Ok(axum::Json(UsageList { items, next: None }))
}

/// Changes that operators made, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/changes",
    operation_id = "listChanges",
    tag = "changes",
    params(ChangesAsked),
    responses((status = 200, description = "Done", body = ChangeList), Problem)
)]
async fn list_changes(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Query(asked): Query<ChangesAsked>,
) -> Result<axum::Json<ChangeList>, Problem> {
    let limit = limit(asked.limit)?;
    let changes = app.ops.changes(&by, asked.before, limit).await?;
    let full = changes.len() >= limit as usize;
    let next = changes.last().filter(|_| full).map(|change| change.seq.to_string());
    Ok(axum::Json(ChangeList { items: changes.into_iter().map(ChangeView::from).collect(), next }))
}
