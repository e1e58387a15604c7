//! Settings.

use axum::extract::State;
use galatea_core::AgentId;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::work::OfAgent;
use crate::{
    app::App,
    auth::{Owner, Reader},
    error::Problem,
    extract::{Json, Path, Query},
    view::{ChangedSettingView, SettingList, SettingView},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_settings)).routes(routes!(set_setting))
}

/// A value to set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SetSetting {
    /// The value; absent removes what was set here, so that the other sources count again.
    #[schema(max_length = 16_384)]
    value: Option<String>,
}

/// Every setting with its value and where it comes from; of an agent as it sees them.
#[utoipa::path(
    get,
    path = "/api/v1/settings",
    operation_id = "listSettings",
    tag = "settings",
    params(OfAgent),
    responses((status = 200, description = "Done", body = SettingList), Problem)
)]
async fn list_settings(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<OfAgent>,
) -> Result<axum::Json<SettingList>, Problem> {
    let settings = app.ops.settings(&by, asked.agent.map(AgentId)).await?;
    let items = settings.into_iter().map(SettingView::from).collect();
    Ok(axum::Json(SettingList { items, next: None }))
}

/// Sets a setting of all agents, or of one. Agents take it over at once, or are made anew for it. A
/// secret is sealed, and never shown.
#[utoipa::path(
    patch,
    path = "/api/v1/settings/{name}",
    operation_id = "setSetting",
    tag = "settings",
    params(("name" = String, Path), OfAgent),
    request_body = SetSetting,
    responses((status = 200, description = "Done", body = ChangedSettingView), Problem)
)]
async fn set_setting(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(name): Path<String>,
    Query(asked): Query<OfAgent>,
    Json(body): Json<SetSetting>,
) -> Result<axum::Json<ChangedSettingView>, Problem> {
    let agent = asked.agent.map(AgentId);
    let changed = app.ops.set_setting(&by, agent, &name, body.value.as_deref()).await?;
    Ok(axum::Json(changed.into()))
}
