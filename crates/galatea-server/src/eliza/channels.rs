//! Channels and who is in them, with their older name `central-channels`.

use axum::{
    Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::{delete, get, patch, post},
};
use galatea_core::{ids::string_to_uuid, store::Channel};
use galatea_host::ops::channels::{ChannelUpdate, DEFAULT_SERVER, NewChannel};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

use super::{
    envelope::{
        Answer, Body, Refusal, failed_plainly, iso, nothing, plain, success, success_as, text_in,
        uuid, uuid_in,
    },
    runs::Asked,
    who::Who,
};
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    const BASE: &str = "/api/messaging";
    let mut router = Router::new()
        .route("/api/messaging/dm-channel", get(direct))
        .route("/api/messaging/message-servers/{server}/channels", get(of_server))
        .route("/api/messaging/central-servers/{server}/channels", get(of_server));
    for name in ["channels", "central-channels"] {
        let path = |rest: &str| format!("{BASE}/{name}{rest}");
        router = router
            .route(&path(""), post(make))
            .route(&path("/{channel}"), patch(change).delete(remove))
            .route(&path("/{channel}/details"), get(details))
            .route(&path("/{channel}/participants"), get(participants))
            .route(&path("/{channel}/agents"), get(agents).post(add_agent))
            .route(&path("/{channel}/agents/{agent}"), delete(remove_agent));
    }
    router
}

/// A channel as elizaOS shows it.
pub(super) fn view(channel: &Channel) -> Value {
    json!({
        "id": channel.id,
        "messageServerId": channel.server,
        "name": channel.name,
        "type": channel.kind,
        "sourceType": channel.source_type,
        "sourceId": channel.source_id,
        "topic": channel.topic,
        "metadata": channel.metadata,
        "createdAt": iso(channel.created_at.0),
        "updatedAt": iso(channel.updated_at.0),
    })
}

/// The channel of a path.
pub(super) fn channel_id(text: &str) -> Result<Uuid, Refusal> {
    uuid(text).ok_or_else(|| plain(400, "Invalid channelId"))
}

/// A channel that is there.
async fn known(app: &App, who: &Who, id: Uuid) -> Result<Channel, Refusal> {
    let found = app.ops.channel(&who.by, id).await;
    found.map_err(|error| match failed_plainly(error) {
        refusal if refusal.status == StatusCode::NOT_FOUND => plain(404, "Channel not found"),
        refusal => refusal,
    })
}

async fn of_server(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let server = uuid(&id).ok_or_else(|| plain(400, "Invalid messageServerId"))?;
    let channels = app.ops.channels(&who.by, server).await.map_err(failed_plainly)?;
    success(json!({ "channels": channels.iter().map(view).collect::<Vec<_>>() }))
}

/// The direct channel of two. Its id is derived from theirs, so that two requests make one channel.
async fn direct(State(app): State<Arc<App>>, who: Who, Query(asked): Asked) -> Answer {
    let id = |key: &str| asked.get(key).and_then(|text| uuid(text));
    let (Some(target), Some(current)) = (id("targetUserId"), id("currentUserId")) else {
        return Err(plain(400, "Missing targetUserId or currentUserId"));
    };
    if target == current {
        return Err(plain(400, "Cannot create DM channel with oneself"));
    }
    let servers = app.ops.channel_servers(&who.by).await.map_err(failed_plainly)?;
    let server = id("dmServerId").filter(|id| servers.iter().any(|server| server.id == *id));
    let server = server.unwrap_or(DEFAULT_SERVER);
    let (first, second) = (target.min(current), target.max(current));
    let name = format!("DM-{first}-{second}");
    let new = NewChannel {
        id: string_to_uuid(&format!("{name}@{server}")).parse().ok(),
        server,
        name,
        kind: "DM".to_owned(),
        source_type: None,
        metadata: json!({ "user1": first, "user2": second }),
        people: vec![first, second],
    };
    let channel = app.ops.make_channel(&who.by, new).await.map_err(failed_plainly)?;
    success(view(&channel))
}

/// The ids in a list of a body; none if one of them cannot be an id.
fn people(body: &Value) -> Option<Vec<Uuid>> {
    let list = body.get("participantCentralUserIds")?.as_array()?;
    list.iter().map(|id| uuid(id.as_str()?)).collect()
}

async fn make(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    let server = uuid_in(&body, "message_server_id").or_else(|| uuid_in(&body, "server_id"));
    let server = server.ok_or_else(|| plain(400, "Invalid message_server_id format"))?;
    let (Some(name), Some(people)) = (text_in(&body, "name"), people(&body)) else {
        return Err(plain(
            400,
            "Invalid payload. Required: name, message_server_id (UUID), participantCentralUserIds (array of UUIDs). Optional: type, metadata.",
        ));
    };
    let new = NewChannel {
        id: None,
        server,
        name: name.to_owned(),
        kind: text_in(&body, "type").unwrap_or("GROUP").to_owned(),
        source_type: None,
        metadata: body.get("metadata").cloned().unwrap_or_default(),
        people,
    };
    let channel = app.ops.make_channel(&who.by, new).await.map_err(failed_plainly)?;
    success_as(StatusCode::CREATED, view(&channel))
}

async fn details(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    success(view(&known(&app, &who, channel_id(&id)?).await?))
}

async fn participants(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let channel = channel_id(&id)?;
    success(app.ops.channel_people(&who.by, channel).await.map_err(failed_plainly)?)
}

async fn agents(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let channel = uuid(&id).ok_or_else(|| plain(400, "Invalid channelId format"))?;
    let people = app.ops.channel_people(&who.by, channel).await.map_err(failed_plainly)?;
    success(json!({ "channelId": channel, "participants": people }))
}

async fn add_agent(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Body(body): Body,
) -> Answer {
    let bad = || plain(400, "Invalid channelId or agentId format");
    let (channel, agent) = (uuid(&id).ok_or_else(bad)?, uuid_in(&body, "agentId").ok_or_else(bad)?);
    known(&app, &who, channel).await?;
    app.ops.join_channel(&who.by, channel, &[agent]).await.map_err(failed_plainly)?;
    let message = "Agent added to channel successfully";
    let data = json!({ "channelId": channel, "agentId": agent, "message": message });
    success_as(StatusCode::CREATED, data)
}

async fn remove_agent(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, agent)): Path<(String, String)>,
) -> Answer {
    let bad = || plain(400, "Invalid channelId or agentId format");
    let (channel, agent) = (uuid(&id).ok_or_else(bad)?, uuid(&agent).ok_or_else(bad)?);
    known(&app, &who, channel).await?;
    let mut people = app.ops.channel_people(&who.by, channel).await.map_err(failed_plainly)?;
    if !people.contains(&agent) {
        return Err(plain(404, "Agent is not a participant in this channel"));
    }
    people.retain(|person| *person != agent);
    let update = ChannelUpdate { people: Some(people), ..ChannelUpdate::default() };
    app.ops.change_channel(&who.by, channel, update).await.map_err(failed_plainly)?;
    let message = "Agent removed from channel successfully";
    success(json!({ "channelId": channel, "agentId": agent, "message": message }))
}

async fn change(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Body(body): Body,
) -> Answer {
    let channel = channel_id(&id)?;
    if body.get("participantCentralUserIds").is_some() && people(&body).is_none() {
        return Err(plain(400, "Invalid participantCentralUserIds"));
    }
    known(&app, &who, channel).await?;
    let update = ChannelUpdate {
        name: text_in(&body, "name").map(str::to_owned),
        people: people(&body),
        metadata: body.get("metadata").cloned(),
    };
    let changed = app.ops.change_channel(&who.by, channel, update).await.map_err(failed_plainly)?;
    let shown = view(&changed);
    let told = json!({ "channelId": channel, "updates": shown });
    app.told.tell(channel, "channelUpdated", told);
    success(shown)
}

async fn remove(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let channel = channel_id(&id)?;
    known(&app, &who, channel).await?;
    app.ops.remove_channel(&who.by, channel).await.map_err(failed_plainly)?;
    app.told.tell(channel, "channelDeleted", json!({ "channelId": channel }));
    nothing()
}
