//! Health, for supervisors and `galatea status`: open to every program of this machine, and without
//! anything about people.

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{app::App, error::Problem};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/healthz", get(async || Json(json!({ "status": "alive" }))))
        .route("/readyz", get(ready))
        .route("/version", get(version))
        .route("/metrics", get(metrics))
}

async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let page = super::metrics::page(&app).await?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], page).into_response())
}

async fn version(State(app): State<Arc<App>>) -> Json<Value> {
    let version = app.version;
    Json(json!({ "name": "galatea", "version": version.version, "commit": version.commit }))
}

async fn ready(State(app): State<Arc<App>>) -> Response {
    let readiness = (app.probe)().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(&readiness) {
        Ok(text) => {
            let headers = [(header::CONTENT_TYPE, "application/json")];
            (status, headers, app.redactor.clean(&text).into_owned()).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
