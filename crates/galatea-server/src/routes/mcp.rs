//! MCP servers.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use galatea_host::ops::NewServer;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    auth::{Owner, Reader},
    error::Problem,
    extract::{Json, Path},
    view::{ServerList, ServerToolList, ServerToolView, ServerView},
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_servers, add_server))
        .routes(routes!(remove_server))
        .routes(routes!(try_server))
        .routes(routes!(approve_server))
}

/// An MCP server to add: a program, or an address.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AddServer {
    /// Its name, the beginning of its tools' names.
    #[schema(min_length = 1, max_length = 24)]
    name: String,
    /// Its program.
    #[schema(max_length = 1000)]
    command: Option<String>,
    /// Arguments of the program.
    #[serde(default)]
    args: Vec<String>,
    /// Variables of the program; best the name of another one, as `${NAME}`.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Its address (streamable HTTP).
    #[schema(max_length = 2000)]
    url: Option<String>,
    /// Headers of each request; best with a variable, as `${NAME}`.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Tools to approve.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ApproveServer {
    /// Names of tools; all if absent.
    #[schema(max_items = 500)]
    tools: Option<Vec<String>>,
}

impl AddServer {
    fn entry(self) -> Result<NewServer, Problem> {
        let mut entry = Map::new();
        match (self.command, self.url) {
            (Some(command), None) => {
                entry.insert("command".to_owned(), command.into());
                entry.insert("args".to_owned(), self.args.into());
            }
            (None, Some(url)) => {
                entry.insert("type".to_owned(), "http".into());
                entry.insert("url".to_owned(), url.into());
            }
            _ => {
                let detail = "a server has either a command or a url";
                return Err(Problem::input(StatusCode::BAD_REQUEST, detail));
            }
        }
        for (key, map) in [("env", self.env), ("headers", self.headers)] {
            if !map.is_empty() {
                let map = map.into_iter().map(|(name, value)| (name, Value::from(value)));
                entry.insert(key.to_owned(), Value::Object(map.collect()));
            }
        }
        Ok(NewServer { name: self.name, entry })
    }
}

/// MCP servers of the agents of this process, by name.
#[utoipa::path(
    get,
    path = "/api/v1/mcp",
    operation_id = "listServers",
    tag = "mcp",
    responses((status = 200, description = "Done", body = ServerList), Problem)
)]
async fn list_servers(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<ServerList>, Problem> {
    let items = app.ops.servers(&by)?.into_iter().map(ServerView::from).collect();
    Ok(axum::Json(ServerList { items, next: None }))
}

/// Adds a server to the file of the folder. Nothing of it runs until it is approved.
#[utoipa::path(
    post,
    path = "/api/v1/mcp",
    operation_id = "addServer",
    tag = "mcp",
    request_body = AddServer,
    responses((status = 201, description = "Done", body = ServerView), Problem)
)]
async fn add_server(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Json(body): Json<AddServer>,
) -> Result<Response, Problem> {
    let added = app.ops.add_server(&by, body.entry()?).await?;
    Ok((StatusCode::CREATED, axum::Json(ServerView::from(added))).into_response())
}

/// Removes a server from the file of the folder, and forgets what was approved of it.
#[utoipa::path(
    delete,
    path = "/api/v1/mcp/{name}",
    operation_id = "removeServer",
    tag = "mcp",
    params(("name" = String, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_server(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_server(&by, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Connects a server once and shows its tools. This starts its program, or calls its address.
#[utoipa::path(
    post,
    path = "/api/v1/mcp/{name}/test",
    operation_id = "testServer",
    tag = "mcp",
    params(("name" = String, Path)),
    responses((status = 200, description = "Done", body = ServerToolList), Problem)
)]
async fn try_server(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(name): Path<String>,
) -> Result<axum::Json<ServerToolList>, Problem> {
    let items = app.ops.try_server(&by, &name).await?;
    let items = items.into_iter().map(ServerToolView::from).collect();
    Ok(axum::Json(ServerToolList { items, next: None }))
}

/// Approves a server's command or address, and its tools as they are now.
#[utoipa::path(
    post,
    path = "/api/v1/mcp/{name}/approve",
    operation_id = "approveServer",
    tag = "mcp",
    params(("name" = String, Path)),
    request_body = ApproveServer,
    responses((status = 200, description = "Done", body = ServerToolList), Problem)
)]
async fn approve_server(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(name): Path<String>,
    Json(body): Json<ApproveServer>,
) -> Result<axum::Json<ServerToolList>, Problem> {
    let items = app.ops.approve_server(&by, &name, body.tools).await?;
    let items = items.into_iter().map(ServerToolView::from).collect();
    Ok(axum::Json(ServerToolList { items, next: None }))
}
