//! The gateway: greeting, identify, heartbeats, resume, close codes.

use futures::{SinkExt, StreamExt};
use galatea_testkit::{
    discord::{DiscordApi, Options},
    load::LoadPlan,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(api: &DiscordApi) -> Socket {
    let (mut socket, _) =
        connect_async(format!("{}/?v=10&encoding=json", api.url().replacen("http", "ws", 1)))
            .await
            .unwrap();
    assert_eq!(payload(&mut socket).await.unwrap()["op"], 10);
    socket
}

/// The next payload, or the close code.
async fn payload(socket: &mut Socket) -> Result<Value, u16> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(Some(frame)))) => return Err(frame.code.into()),
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn send(socket: &mut Socket, op: u8, data: Value) {
    socket.send(Message::text(json!({ "op": op, "d": data }).to_string())).await.unwrap();
}

fn identify(api: &DiscordApi, intents: u64) -> Value {
    json!({ "token": api.token(), "intents": intents, "properties": { "os": "x", "browser": "x", "device": "x" } })
}

async fn close_code(api: &DiscordApi, op: u8, data: Value) -> u16 {
    let mut socket = connect(api).await;
    send(&mut socket, op, data).await;
    payload(&mut socket).await.unwrap_err()
}

#[tokio::test]
async fn wrong_payloads_are_closed_with_discords_codes() {
    let api = DiscordApi::with(Options { content: false, ..Options::default() }).await;
    assert_eq!(
        close_code(
            &api,
            2,
            json!({ "token": "x", "intents": 1, "properties": { "os": "x", "browser": "x" } })
        )
        .await,
        4004
    );
    assert_eq!(close_code(&api, 2, identify(&api, 1 << 15)).await, 4014);
    assert!(api.violations().is_empty(), "a wrong token and a missing intent are not violations");
    api.allow_violation("gateway");
    assert_eq!(close_code(&api, 2, identify(&api, 1 << 40)).await, 4013);
    assert_eq!(close_code(&api, 3, json!({})).await, 4003);
    assert_eq!(close_code(&api, 99, json!({})).await, 4001);
    let mut sharded = identify(&api, 1);
    sharded["shard"] = json!([2, 2]);
    assert_eq!(close_code(&api, 2, sharded).await, 4010);
}

#[tokio::test]
async fn a_resume_replays_unacknowledged_events() {
    let api = DiscordApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let mut socket = connect(&api).await;
    send(&mut socket, 2, identify(&api, 1 << 12)).await;
    let ready = payload(&mut socket).await.unwrap();
    assert_eq!((ready["t"].as_str(), ready["s"].as_u64()), (Some("READY"), Some(1)));
    for text in ["one", "two"] {
        ann.says(&ann.direct(), text).send();
        assert_eq!(payload(&mut socket).await.unwrap()["d"]["content"], text);
    }
    send(&mut socket, 1, json!(2)).await;
    assert_eq!(payload(&mut socket).await.unwrap()["op"], 11);
    drop(socket);
    let mut again = connect(&api).await;
    let session = ready["d"]["session_id"].clone();
    send(&mut again, 6, json!({ "token": api.token(), "session_id": session, "seq": 2 })).await;
    assert_eq!(payload(&mut again).await.unwrap()["d"]["content"], "two");
    assert_eq!(payload(&mut again).await.unwrap()["t"], "RESUMED");
    drop(again);
    // Acknowledged events are dropped, so this resume fails: a client that acknowledges before it
    // stores would lose them.
    let mut late = connect(&api).await;
    send(&mut late, 6, json!({ "token": api.token(), "session_id": session, "seq": 1 })).await;
    assert_eq!(payload(&mut late).await.unwrap(), json!({ "op": 9, "d": false }));
}

#[tokio::test]
async fn identifying_again_at_once_is_noticed() {
    let api = DiscordApi::start().await;
    let mut first = connect(&api).await;
    send(&mut first, 2, identify(&api, 1)).await;
    payload(&mut first).await.unwrap();
    let mut second = connect(&api).await;
    send(&mut second, 2, identify(&api, 1)).await;
    assert_eq!(payload(&mut second).await.unwrap()["op"], 9);
    assert!(api.violations()[0].contains("five seconds"));
    api.allow_violation("five seconds");
}

#[tokio::test]
async fn a_load_is_said_answered_and_measured() {
    let api = DiscordApi::with(Options::fast()).await;
    let mut socket = connect(&api).await;
    // Direct messages come with their content.
    send(&mut socket, 2, identify(&api, 1 << 12 | 1 << 15)).await;
    assert_eq!(payload(&mut socket).await.unwrap()["t"], "READY");
    api.load(LoadPlan::new(250, 10));
    let (client, mut rooms, mut echoes) = (reqwest::Client::new(), BTreeSet::new(), 0);
    let (bot, mut answered) = (json!(api.bot_id().to_string()), 0);
    while answered < 250 || echoes < 250 {
        let event = payload(&mut socket).await.unwrap();
        assert_eq!(event["t"], "MESSAGE_CREATE");
        if event["d"]["author"]["id"] == bot {
            assert_eq!((&event["d"]["content"], &event["d"]["nonce"]), (&json!("re"), &json!("n")));
            echoes += 1;
            continue;
        }
        let room = event["d"]["channel_id"].as_str().unwrap();
        rooms.insert(room.to_owned());
        let url = format!("{}/api/v10/channels/{room}/messages", api.url());
        let sent = client
            .post(url)
            .json(&json!({ "content": "re", "nonce": "n", "enforce_nonce": true }))
            .send()
            .await
            .unwrap();
        assert!(
            sent.headers()["x-ratelimit-remaining"].to_str().unwrap().parse::<u64>().unwrap()
                > 1_000
        );
        assert_eq!(sent.json::<Value>().await.unwrap()["channel_id"], room);
        answered += 1;
    }
    let trips = api.wait_load().await;
    assert_eq!((trips.len(), rooms.len()), (250, 10));
    assert!(trips.iter().all(|t| t.answered.unwrap() >= t.handed_out.unwrap() && t.handed_out.unwrap() >= t.due));
    assert!(api.calls().is_empty(), "nothing is remembered");
}
