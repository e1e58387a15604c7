//! Message servers, with their older names `servers` and `central-servers`.

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{delete, get, post},
};
use galatea_core::{AgentId, store::ChannelServer};
use galatea_host::ops::channels::DEFAULT_SERVER;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

use super::{
    envelope::{
        Answer, Body, Refusal, failed_plainly, iso, plain, success, success_as, text_in, uuid,
        uuid_in,
    },
    who::Who,
};
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    const BASE: &str = "/api/messaging";
    let mut router = Router::new()
        .route("/api/messaging/message-server/current", get(current))
        .route("/api/messaging/message-servers", get(list).post(add))
        .route("/api/messaging/servers", post(add))
        .route("/api/messaging/central-servers", get(list_by_old_name))
        .route("/api/messaging/agents/{agent}/message-servers", get(of_agent))
        .route("/api/server/debug/servers", get(debug));
    for name in ["message-servers", "servers"] {
        router = router
            .route(&format!("{BASE}/{name}/{{server}}/agents"), get(agents).post(add_agent))
            .route(&format!("{BASE}/{name}/{{server}}/agents/{{agent}}"), delete(remove_agent));
    }
    router
}

/// A message server as elizaOS shows it.
fn view(server: &ChannelServer) -> Value {
    json!({
        "id": server.id,
        "name": server.name,
        "sourceType": server.source_type,
        "sourceId": server.source_id,
        "metadata": server.metadata,
        "createdAt": iso(server.created_at.0),
        "updatedAt": iso(server.updated_at.0),
    })
}

async fn all(app: &App, who: &Who) -> Result<Vec<Value>, Refusal> {
    let servers = app.ops.channel_servers(&who.by).await.map_err(failed_plainly)?;
    Ok(servers.iter().map(view).collect())
}

async fn current(_: Who) -> Answer {
    success(json!({ "messageServerId": DEFAULT_SERVER }))
}

async fn list(State(app): State<Arc<App>>, who: Who) -> Answer {
    success(json!({ "messageServers": all(&app, &who).await? }))
}

async fn list_by_old_name(State(app): State<Arc<App>>, who: Who) -> Answer {
    success(json!({ "servers": all(&app, &who).await? }))
}

async fn debug(State(app): State<Arc<App>>, who: Who) -> Answer {
    let servers = all(&app, &who).await?;
    let body = json!({ "success": true, "count": servers.len(), "servers": servers });
    super::envelope::bare(StatusCode::OK, body)
}

async fn add(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    let (Some(name), Some(source)) = (text_in(&body, "name"), text_in(&body, "sourceType")) else {
        return Err(plain(400, "Missing required fields: name, sourceType"));
    };
    let id = text_in(&body, "sourceId").map(str::to_owned);
    let metadata = body.get("metadata").cloned().unwrap_or_default();
    let made = app.ops.add_channel_server(&who.by, name, source, id, metadata).await;
    let made = made.map_err(failed_plainly)?;
    success_as(StatusCode::CREATED, json!({ "server": view(&made) }))
}

/// A message server whose agents may be asked for: each server of ours is this installation's.
fn server(text: &str) -> Result<Uuid, Refusal> {
    uuid(text).ok_or_else(|| plain(400, "Invalid messageServerId format"))
}

async fn agents(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let server = server(&id)?;
    let agents = app.ops.channel_server_agents(&who.by, server).await.map_err(failed_plainly)?;
    success(json!({ "messageServerId": server, "agents": agents }))
}

async fn add_agent(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Body(body): Body,
) -> Answer {
    let bad = || plain(400, "Invalid messageServerId or agentId format");
    let server = uuid(&id).ok_or_else(bad)?;
    let agent = uuid_in(&body, "agentId").map(AgentId).ok_or_else(bad)?;
    app.ops.set_server_agent(&who.by, server, agent, true).await.map_err(failed_plainly)?;
    let message = "Agent added to message server successfully";
    let data = json!({ "messageServerId": server, "agentId": agent, "message": message });
    success_as(StatusCode::CREATED, data)
}

async fn remove_agent(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, agent)): Path<(String, String)>,
) -> Answer {
    let bad = || plain(400, "Invalid messageServerId or agentId format");
    let server = uuid(&id).ok_or_else(bad)?;
    let agent = uuid(&agent).map(AgentId).ok_or_else(bad)?;
    app.ops.set_server_agent(&who.by, server, agent, false).await.map_err(failed_plainly)?;
    let message = "Agent removed from message server successfully";
    success(json!({ "messageServerId": server, "agentId": agent, "message": message }))
}

async fn of_agent(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let agent = uuid(&id).map(AgentId).ok_or_else(|| plain(400, "Invalid agentId format"))?;
    let servers = app.ops.servers_of_agent(&who.by, agent).await.map_err(failed_plainly)?;
    success(json!({ "agentId": agent, "messageServers": servers }))
}
