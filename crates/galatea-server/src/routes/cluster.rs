//! Connectors that are checked, repaired and connected anew; processes; limits; this process.

use axum::{extract::State, http::StatusCode};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    auth::{Owner, Reader, Worker},
    error::Problem,
    extract::{Json, Path},
    view::{BudgetList, BudgetView, ClusterView, FindingList, FindingView, SystemView},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(check_connector))
        .routes(routes!(repair_connector))
        .routes(routes!(reconnect))
        .routes(routes!(get_cluster))
        .routes(routes!(list_budgets))
        .routes(routes!(get_system))
}

/// How to check a connector.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CheckConnector {
    /// The platform may charge for it.
    #[serde(default)]
    pay: bool,
}

/// The repair to carry out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RepairConnector {
    /// Code of the finding that offers it.
    #[schema(max_length = 100)]
    finding: String,
}

fn findings(found: Vec<galatea_core::Finding>) -> axum::Json<FindingList> {
    let items = found.into_iter().map(FindingView::from).collect();
    axum::Json(FindingList { items, next: None })
}

/// Asks the platform whether a connector works.
#[utoipa::path(
    post,
    path = "/api/v1/connectors/{name}/check",
    operation_id = "checkConnector",
    tag = "connectors",
    params(("name" = String, Path, description = "Platform and account, as `telegram:123`")),
    request_body = Option<CheckConnector>,
    responses((status = 200, description = "Done", body = FindingList), Problem)
)]
async fn check_connector(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(name): Path<String>,
    body: Option<Json<CheckConnector>>,
) -> Result<axum::Json<FindingList>, Problem> {
    let pay = body.is_some_and(|Json(body)| body.pay);
    Ok(findings(app.ops.check_connector(&by, &name, pay).await?))
}

/// Carries out the repair that a check offered, and checks again. The platform may charge for the
/// checks.
#[utoipa::path(
    post,
    path = "/api/v1/connectors/{name}/fix",
    operation_id = "repairConnector",
    tag = "connectors",
    params(("name" = String, Path, description = "Platform and account, as `telegram:123`")),
    request_body = RepairConnector,
    responses((status = 200, description = "Done", body = FindingList), Problem)
)]
async fn repair_connector(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(name): Path<String>,
    Json(body): Json<RepairConnector>,
) -> Result<axum::Json<FindingList>, Problem> {
    Ok(findings(app.ops.repair_connector(&by, &name, &body.finding).await?))
}

/// Connects anew: the connectors and models of its agent are made again.
#[utoipa::path(
    post,
    path = "/api/v1/connectors/{name}/reconnect",
    operation_id = "reconnectConnector",
    tag = "connectors",
    params(("name" = String, Path, description = "Platform and account, as `telegram:123`")),
    responses((status = 204, description = "Done"), Problem)
)]
async fn reconnect(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    app.ops.reconnect(&by, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The processes that share the database, and who does what.
#[utoipa::path(
    get,
    path = "/api/v1/cluster",
    operation_id = "getCluster",
    tag = "system",
    responses((status = 200, description = "Done", body = ClusterView), Problem)
)]
async fn get_cluster(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<ClusterView>, Problem> {
    Ok(axum::Json(app.ops.cluster(&by).await?.into()))
}

/// Limits of money or tokens of which at least 80 % are used today.
#[utoipa::path(
    get,
    path = "/api/v1/budgets",
    operation_id = "listBudgets",
    tag = "usage",
    responses((status = 200, description = "Done", body = BudgetList), Problem)
)]
async fn list_budgets(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<BudgetList>, Problem> {
    let items = app.ops.budgets(&by)?.into_iter().map(BudgetView::from).collect();
    Ok(axum::Json(BudgetList { items, next: None }))
}

/// The state of this process: whether it can work, and what keeps it from it.
#[utoipa::path(
    get,
    path = "/api/v1/system",
    operation_id = "getSystem",
    tag = "system",
    responses((status = 200, description = "Done", body = SystemView), Problem)
)]
async fn get_system(State(app): State<Arc<App>>, Reader(_): Reader) -> axum::Json<SystemView> {
    let readiness = (app.probe)().await;
    // Words of platforms and models stand in it.
    let clean = |value: serde_json::Value| {
        let text = value.to_string();
        serde_json::from_str(&app.redactor.clean(&text)).unwrap_or_default()
    };
    let json = |value| serde_json::to_value(value).unwrap_or_default();
    axum::Json(SystemView {
        version: app.version.version.to_owned(),
        commit: app.version.commit.map(str::to_owned),
        ready: readiness.ready,
        uptime: readiness.uptime,
        server_time: app.ops.clock().now().0,
        reasons: clean(json(&readiness.reasons)),
        remarks: clean(json(&readiness.remarks)),
    })
}
