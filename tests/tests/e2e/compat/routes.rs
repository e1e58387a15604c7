//! Every route of elizaOS 1.7.2 that there is: its status, the keys of its answer, and that nobody gets
//! anything without the key.

use serde_json::{Value, json};

use super::{ADA, BOB, House, KEY, SERVER};

/// A request, its status, and where keys stand in the answer.
type Row = (&'static str, String, Option<Value>, u16, &'static [&'static str]);

/// Ids that the rows name.
struct Ids {
    agent: String,
    channel: String,
    session: String,
    job: String,
    message: String,
    world: String,
    room: String,
    memory: String,
}

/// The value at a path such as `data.agents.0.id`.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| match key.parse::<usize>() {
        Ok(n) => &value[n],
        Err(_) => &value[key],
    })
}

fn text(value: &Value, path: &str) -> String {
    at(value, path).as_str().unwrap_or_else(|| panic!("{path} in {value}")).to_owned()
}

async fn made(house: &House) -> Ids {
    let agent = house.agent().await;
    let group = json!({
        "name": "Kitchen", "type": "GROUP", "message_server_id": SERVER,
        "participantCentralUserIds": [ADA, agent],
    });
    let post = async |path: &str, body: Value| {
        let answer = house.ask("POST", path, Some(&body)).await;
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text);
        answer.json()
    };
    let channel = text(&post("/api/messaging/channels", group).await, "data.id");
    let session = post("/api/messaging/sessions", json!({ "agentId": agent, "userId": ADA })).await;
    let job = json!({ "userId": ADA, "agentId": agent, "content": "Q5, please" });
    let job = text(&post("/api/messaging/jobs", job).await, "jobId");
    let said = json!({
        "author_id": ADA, "content": "Q6, please", "message_server_id": SERVER, "transport": "http",
        "metadata": { "targetAgentId": agent },
    });
    let path = format!("/api/messaging/channels/{channel}/messages");
    let message = text(&post(&path, said).await, "userMessage.id");
    let world = post(&format!("/api/agents/{agent}/worlds"), json!({ "name": "Earth" })).await;
    let room = post(&format!("/api/agents/{agent}/rooms"), json!({ "name": "Hall" })).await;
    let memories = house.ask("GET", &format!("/api/agents/{agent}/memories"), None).await.json();
    Ids {
        channel,
        session: text(&session, "sessionId"),
        job,
        message,
        world: text(&world, "data.world.id"),
        room: text(&room, "data.id"),
        memory: text(&memories, "data.memories.0.id"),
        agent,
    }
}

fn reads(ids: &Ids) -> Vec<Row> {
    let Ids { agent, channel, session, job, room, .. } = ids;
    let get = |path: String, keys: &'static [&'static str]| ("GET", path, None, 200, keys);
    let mut rows = vec![
        get("/api/agents".into(), &["data.agents.0.characterName", "data.agents.0.status"]),
        get(format!("/api/agents/{agent}"), &["data.id", "data.name", "data.status"]),
        get("/api/agents/worlds".into(), &["data.worlds.0.agentId"]),
        get(format!("/api/agents/{agent}/panels"), &["data"]),
        get(format!("/api/agents/{agent}/logs"), &["data.0.body.runId", "data.0.createdAt"]),
        get(format!("/api/agents/{agent}/runs"), &["data.runs.0.runId", "data.hasMore"]),
        get("/api/messaging/message-server/current".into(), &["data.messageServerId"]),
        get("/api/messaging/message-servers".into(), &["data.messageServers.0.sourceType"]),
        get("/api/messaging/central-servers".into(), &["data.servers.0.id"]),
        get(format!("/api/messaging/message-servers/{SERVER}/agents"), &["data.agents.0"]),
        get(format!("/api/messaging/servers/{SERVER}/agents"), &["data.agents.0"]),
        get(format!("/api/messaging/agents/{agent}/message-servers"), &["data.messageServers.0"]),
        get(format!("/api/messaging/message-servers/{SERVER}/channels"), &["data.channels.0.id"]),
        get(format!("/api/messaging/central-servers/{SERVER}/channels"), &["data.channels.0.id"]),
        get(
            format!("/api/messaging/dm-channel?targetUserId={agent}&currentUserId={ADA}"),
            &["data.id", "data.type"],
        ),
        get("/api/messaging/sessions".into(), &["sessions.0.sessionId", "stats.totalSessions"]),
        get("/api/messaging/sessions/health".into(), &["status", "activeSessions", "uptime"]),
        get(
            format!("/api/messaging/sessions/{session}"),
            &["timeRemaining", "timeoutConfig.timeoutMinutes", "renewalCount"],
        ),
        get(format!("/api/messaging/sessions/{session}/messages"), &["messages", "hasMore"]),
        get("/api/messaging/jobs".into(), &["jobs.0.jobId", "total", "filtered"]),
        get(
            "/api/messaging/jobs/health".into(),
            &["statusCounts.processing", "metrics", "maxJobs"],
        ),
        get(format!("/api/messaging/jobs/{job}"), &["status", "prompt", "expiresAt"]),
        get("/api/server/ping".into(), &["pong", "timestamp"]),
        get("/api/server/hello".into(), &["message"]),
        get("/api/server/status".into(), &["status", "agentCount"]),
        get("/api/server/health".into(), &["status", "dependencies.agents"]),
        get("/api/server/debug/servers".into(), &["servers.0.id", "count"]),
        get("/api/system/version".into(), &["version", "source", "uptime"]),
    ];
    for base in ["/api/agents", "/api/memory"] {
        rows.push(get(format!("{base}/{agent}/memories"), &["data.memories.0.content.text"]));
        rows.push(get(
            format!("{base}/{agent}/rooms/{channel}/memories"),
            &["data.memories.0.roomId", "data.memories.0.createdAt"],
        ));
        rows.push(get(format!("{base}/{agent}/rooms"), &["data.rooms.0.channelId"]));
        rows.push(get(format!("{base}/{agent}/rooms/{room}"), &["data.name", "data.worldName"]));
    }
    for name in ["channels", "central-channels"] {
        let path = |rest: &str| format!("/api/messaging/{name}/{channel}/{rest}");
        rows.push(get(
            path("messages"),
            &["data.messages.0.authorId", "data.messages.0.created_at"],
        ));
        rows.push(get(path("details"), &["data.messageServerId", "data.createdAt"]));
        rows.push(get(path("participants"), &["data.0"]));
        rows.push(get(path("agents"), &["data.participants.0"]));
    }
    rows
}

fn writes(ids: &Ids) -> Vec<Row> {
    let Ids { agent, channel, session, message, world, memory, .. } = ids;
    let posted = json!({
        "channel_id": channel, "message_server_id": SERVER, "author_id": BOB, "content": "From afar",
        "source_type": "bridge", "raw_message": { "text": "From afar" },
    });
    vec![
        (
            "POST",
            "/api/messaging/message-servers".into(),
            Some(json!({ "name": "Guild", "sourceType": "discord" })),
            201,
            &["data.server.id"],
        ),
        (
            "POST",
            format!("/api/messaging/message-servers/{SERVER}/agents"),
            Some(json!({ "agentId": agent })),
            201,
            &["data.message"],
        ),
        (
            "DELETE",
            format!("/api/messaging/message-servers/{SERVER}/agents/{agent}"),
            None,
            200,
            &["data.message"],
        ),
        (
            "POST",
            "/api/messaging/submit".into(),
            Some(posted.clone()),
            201,
            &["data.id", "data.sourceType"],
        ),
        (
            "POST",
            "/api/messaging/action".into(),
            Some(posted.clone()),
            201,
            &["data.rawMessage.text"],
        ),
        (
            "PATCH",
            format!("/api/messaging/action/{message}"),
            Some(json!({ "content": "Q6, changed" })),
            200,
            &["data.content"],
        ),
        ("POST", "/api/messaging/ingest-external".into(), Some(posted), 202, &["data.messageId"]),
        (
            "POST",
            "/api/messaging/complete".into(),
            Some(json!({ "channel_id": channel, "message_server_id": SERVER })),
            200,
            &["message"],
        ),
        (
            "POST",
            format!("/api/messaging/channels/{channel}/agents"),
            Some(json!({ "agentId": agent })),
            201,
            &["data.message"],
        ),
        (
            "PATCH",
            format!("/api/messaging/channels/{channel}"),
            Some(json!({ "name": "Pantry", "metadata": { "a": 1 } })),
            200,
            &["data.name", "data.metadata.a"],
        ),
        ("POST", format!("/api/messaging/sessions/{session}/renew"), None, 200, &["renewalCount"]),
        (
            "POST",
            format!("/api/messaging/sessions/{session}/heartbeat"),
            None,
            200,
            &["lastActivity"],
        ),
        (
            "PATCH",
            format!("/api/messaging/sessions/{session}/timeout"),
            Some(json!({ "timeoutMinutes": 60 })),
            200,
            &["timeoutConfig.timeoutMinutes"],
        ),
        (
            "PATCH",
            format!("/api/agents/{agent}/worlds/{world}"),
            Some(json!({ "name": "Mars" })),
            200,
            &["data.world.name"],
        ),
        (
            "POST",
            format!("/api/memory/groups/{channel}"),
            Some(json!({ "name": "All", "agentIds": [agent] })),
            201,
            &["data.0.id"],
        ),
        (
            "PATCH",
            format!("/api/memory/{agent}/memories/{memory}"),
            Some(json!({ "content": { "text": "rewritten" } })),
            200,
            &["data.id"],
        ),
        ("DELETE", format!("/api/agents/{agent}/memories/{memory}"), None, 200, &["data.message"]),
        ("DELETE", format!("/api/messaging/channels/{channel}/messages/{message}"), None, 204, &[]),
        (
            "DELETE",
            format!("/api/messaging/channels/{channel}/agents/{agent}"),
            None,
            200,
            &["data.message"],
        ),
        ("DELETE", format!("/api/memory/{agent}/memories/all/{channel}"), None, 204, &[]),
        ("DELETE", format!("/api/memory/groups/{channel}/memories"), None, 204, &[]),
        ("DELETE", format!("/api/memory/groups/{channel}"), None, 204, &[]),
        ("DELETE", format!("/api/messaging/channels/{channel}/messages"), None, 204, &[]),
        ("DELETE", format!("/api/messaging/channels/{channel}"), None, 204, &[]),
        ("DELETE", format!("/api/messaging/sessions/{session}"), None, 200, &["message"]),
        ("DELETE", format!("/api/agents/{agent}/memories"), None, 200, &["data.deleted"]),
        ("POST", format!("/api/agents/{agent}/stop"), None, 200, &["data.message"]),
        ("POST", format!("/api/agents/{agent}/start"), None, 200, &["data.status"]),
    ]
}

fn refusals(ids: &Ids) -> Vec<Row> {
    let Ids { agent, channel, .. } = ids;
    let nobody = BOB;
    vec![
        ("GET", "/api/agents/x".into(), None, 400, &["error.code", "error.message"]),
        ("GET", format!("/api/agents/{nobody}"), None, 404, &["error.code"]),
        ("DELETE", format!("/api/agents/{agent}/logs/{nobody}"), None, 409, &["error.code"]),
        ("GET", format!("/api/agents/{agent}/runs/{nobody}"), None, 404, &["error.code"]),
        ("GET", "/api/messaging/channels/x/messages".into(), None, 400, &["error"]),
        ("GET", format!("/api/messaging/channels/{nobody}/details"), None, 404, &["error"]),
        ("POST", "/api/messaging/submit".into(), Some(json!({})), 400, &["error"]),
        ("POST", "/api/messaging/channels".into(), Some(json!({})), 400, &["error"]),
        (
            "POST",
            format!("/api/messaging/channels/{channel}/messages"),
            Some(json!({ "transport": "pigeon" })),
            400,
            &["error"],
        ),
        (
            "POST",
            "/api/messaging/sessions".into(),
            Some(json!({ "agentId": agent })),
            400,
            &["error.code", "error.timestamp"],
        ),
        (
            "POST",
            "/api/messaging/sessions".into(),
            Some(json!({ "agentId": nobody, "userId": ADA })),
            404,
            &["error.message"],
        ),
        ("GET", format!("/api/messaging/sessions/{nobody}"), None, 404, &["error.code"]),
        ("POST", "/api/messaging/jobs".into(), Some(json!({ "userId": ADA })), 400, &["error"]),
        (
            "POST",
            "/api/messaging/jobs".into(),
            Some(json!({ "userId": ADA, "content": "x", "timeoutMs": 5 })),
            400,
            &["error"],
        ),
        ("GET", format!("/api/messaging/jobs/{nobody}"), None, 404, &["error"]),
        ("GET", "/api/system/env/local".into(), None, 403, &["error.code"]),
        ("POST", "/api/system/env/local".into(), Some(json!({})), 403, &["error.code"]),
    ]
}

async fn check(house: &House, rows: &[Row]) {
    for (method, path, body, status, keys) in rows {
        for stranger in [None, Some("wrong"), Some("")] {
            let answer = house.ask_as(stranger, method, path, body.as_ref()).await;
            assert_eq!(answer.status, 401, "{method} {path} by {stranger:?}: {}", answer.text);
            assert_eq!(answer.json()["error"], "API key required", "{method} {path}");
        }
        let answer = house.ask_as(Some(KEY), method, path, body.as_ref()).await;
        assert_eq!(answer.status, *status, "{method} {path}: {}", answer.text);
        let json = answer.json();
        for key in *keys {
            assert!(!at(&json, key).is_null(), "{method} {path}: {key} in {json}");
        }
        let bare = ["sessions", "jobs", "/api/server", "/api/system/version"];
        if *status < 300 && *status != 204 && !bare.iter().any(|part| path.contains(part)) {
            assert_eq!(json["success"], true, "{method} {path}: {json}");
        }
    }
}

#[tokio::test]
async fn every_route_answers_as_elizaos_does_and_nobody_gets_in_without_the_key() {
    let house = House::start().await;
    let ids = made(&house).await;
    check(&house, &reads(&ids)).await;
    check(&house, &refusals(&ids)).await;
    check(&house, &writes(&ids)).await;
    assert_eq!(house.ask_as(None, "GET", "/health", None).await.json()["status"], "OK");
    let config = house.ask_as(None, "GET", "/api/system/config", None).await.json();
    assert_eq!(config, json!({ "success": true, "data": { "requiresAuth": false } }));
}
