//! Messages to agents: answered, streamed, looked up later; rooms of one and of several agents.

use axum::http::StatusCode;
use galatea_core::store::{LIVE_KEPT, MESSAGE_SENT, OperatorRole, OutboxState};
use serde_json::{Value, json};

use crate::{
    agents::House,
    support::{Answer, ask},
};

async fn said(house: &House, token: &str, body: Value) -> Answer {
    house.server.answer(ask("POST", "/api/v1/messages").token(token).body(body)).await
}

fn texts(answer: &Value) -> Vec<&str> {
    let answers = answer["answers"].as_array().unwrap();
    let messages = answers.iter().flat_map(|one| one["messages"].as_array().unwrap());
    messages.map(|message| message["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_is_answered_and_its_commit_is_the_delivery() {
    let house = House::of(&["Ada"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let answer = said(&house, &token, json!({"agent": house.agents[0], "text": "hello"})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let body = answer.json();
    assert_eq!(texts(&body), ["You said hello. That is all."]);
    assert_eq!(body["answers"][0]["state"], "answered");
    assert_eq!(body["heard"][0]["new"], true);

    let id = body["answers"][0]["messages"][0]["id"].as_str().unwrap().parse().unwrap();
    let row = house.server.store.delivery(galatea_core::DeliveryId(id)).await.unwrap().unwrap();
    assert_eq!((row.state, row.delivery.attempt), (OutboxState::Sent, 0), "nothing was sent");
    assert_eq!(row.remote.unwrap().as_str(), row.delivery.key, "the key is its id");
    let limit = u32::try_from(LIVE_KEPT).unwrap();
    let events = house.server.store.live_after(0, limit).await.unwrap();
    let sent = events.iter().filter(|event| event.kind == MESSAGE_SENT);
    assert_eq!(sent.count(), 1, "one event in the same commit");

    let looked = ask("GET", &format!("/api/v1/messages/{}", body["id"].as_str().unwrap()));
    let looked = house.server.answer(looked.token(&token)).await.json();
    assert_eq!(looked["messages"], body["answers"][0]["messages"]);
    house.end().await;
}

#[tokio::test]
async fn drafts_come_while_the_model_writes_and_the_committed_answer_replaces_them() {
    let house = House::with(&["Ada"], 0, &[]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let body = json!({"agent": house.agents[0], "text": "hello"});
    let mut stream = house.stream(ask("POST", "/api/v1/messages").token(&token).body(body)).await;
    let accepted = stream.until("accepted").await;
    assert_eq!(stream.until("step").await["step"], "thinking");
    let draft = stream.until("draft").await;
    assert_eq!(draft["text"], "You said hello.");
    let stored = house.server.store.live_after(0, 1_000).await.unwrap();
    assert!(!format!("{stored:?}").contains("You said"), "no draft is stored");
    house.model.gate.add_permits(1);
    let message = stream.until("message").await;
    assert_eq!(message["text"], "You said hello. That is all.");
    assert_eq!((&message["turn"], &message["room"]), (&draft["turn"], &accepted["room"]));
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().0, "end", "{rest:?}");
    assert!(rest.iter().all(|(name, _)| name != "message"), "said once: {rest:?}");
    house.end().await;
}

#[tokio::test]
async fn a_message_with_a_known_id_is_stored_once_and_gets_the_same_answer() {
    let house = House::of(&["Ada"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let body = json!({"agent": house.agents[0], "text": "hello", "clientId": "a-1"});
    let first = said(&house, &token, body.clone()).await.json();
    let again = said(&house, &token, body.clone()).await.json();
    assert_eq!(first["answers"], again["answers"]);
    assert_eq!(again["heard"][0]["new"], false);
    let mut stream = house.stream(ask("POST", "/api/v1/messages").token(&token).body(body)).await;
    assert_eq!(stream.until("message").await, first["answers"][0]["messages"][0]);
    stream.until("end").await;
    house.end().await;
}

#[tokio::test]
async fn an_answer_can_be_looked_up_later() {
    let house = House::with(&["Ada"], 0, &[]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let body = json!({"agent": house.agents[0], "text": "hello"});
    let asked = ask("POST", "/api/v1/messages?wait=false").token(&token).body(body);
    let answer = house.server.answer(asked).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let path = format!("/api/v1/messages/{}", answer.json()["id"].as_str().unwrap());
    let look = || house.server.answer(ask("GET", &path).token(&token));
    assert_eq!(look().await.json()["state"], "waiting");
    house.model.gate.add_permits(1);
    while look().await.json()["state"] != "answered" {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    house.end().await;
}

#[tokio::test]
async fn two_agents_of_one_room_answer_and_hear_each_other() {
    let house = House::of(&["Ada", "Bob"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let body = json!({"agents": house.agents, "room": "garden", "text": "hello"});
    let answer = said(&house, &token, body).await.json();
    assert_eq!(texts(&answer), ["You said hello. That is all."; 2]);
    // Ada's Room of the channel holds what Bob said, too.
    let room = answer["heard"][0]["room"].as_str().unwrap();
    let path = format!("/api/v1/rooms/{room}/messages");
    loop {
        let list = house.server.answer(ask("GET", &path).token(&token)).await.json();
        let items = list["items"].as_array().unwrap();
        let words = items.iter().filter(|one| one["text"] == "You said hello. That is all.");
        let own: Vec<bool> = words.map(|one| one["own"].as_bool().unwrap()).collect();
        if own.len() == 2 {
            assert!(own.contains(&true) && own.contains(&false), "{list}");
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let chats = house.server.answer(ask("GET", "/api/v1/chat/rooms").token(&token)).await.json();
    let channels: Vec<_> =
        chats["items"].as_array().unwrap().iter().map(|c| &c["channel"]).collect();
    assert_eq!(channels, ["garden"; 2]);
    house.end().await;
}

#[tokio::test]
async fn silence_and_failure_have_a_reason() {
    let house = House::with(
        &["Ada"],
        tokio::sync::Semaphore::MAX_PERMITS,
        &[("WEB_DM_POLICY", "disabled")],
    )
    .await;
    let token = house.server.token(OperatorRole::Operator).await;
    let agent = house.agents[0];
    let silent = said(&house, &token, json!({"agent": agent, "text": "hello"})).await.json();
    assert_eq!(silent["answers"][0]["state"], "silent");
    assert!(silent["answers"][0]["reason"].as_str().unwrap().len() > 10, "{silent}");
    let body = json!({"agent": agent, "text": "hello"});
    let mut stream = house.stream(ask("POST", "/api/v1/messages").token(&token).body(body)).await;
    assert_eq!(stream.until("silent").await["decision"], "skip");
    assert_eq!(stream.rest().await.last().unwrap().0, "end");
    let failed = json!({"agent": agent, "room": "club", "group": true, "text": "fail"});
    let failed = said(&house, &token, failed).await.json();
    assert_eq!(failed["answers"][0]["state"], "failed", "{failed}");
    assert!(failed["answers"][0]["reason"].as_str().is_some(), "{failed}");
    house.end().await;
}

#[tokio::test]
async fn nobody_writes_into_anothers_private_room_or_in_anothers_name() {
    let house = House::of(&["Ada"]).await;
    let link = house.server.link().await;
    let cookie = house.server.sign_in(&link).await.cookie();
    let token = house.server.token(OperatorRole::Operator).await;
    let agent = house.agents[0];
    let session = |body: Value| {
        let asked = ask("POST", "/api/v1/messages").header("cookie", &cookie);
        house.server.answer(asked.header("origin", "http://localhost:3000").body(body))
    };
    let as_bob =
        |text: &str| json!({"agent": agent, "text": text, "sender": {"id": "1", "name": "Bob"}});
    let forged = session(as_bob("hello")).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN, "a browser speaks for its user alone");
    let spoken = said(&house, &token, as_bob("hello")).await;
    assert_eq!(spoken.status, StatusCode::OK, "{}", spoken.text);
    let room = &spoken.json()["room"];
    let other = session(json!({"room": room, "text": "hello"})).await;
    assert_eq!(other.status, StatusCode::FORBIDDEN, "{}", other.text);
    let again = json!({"room": room, "text": "again", "sender": {"id": "1"}});
    let again = said(&house, &token, again).await;
    assert_eq!(texts(&again.json()), ["You said again. That is all."]);
    house.end().await;
}

#[tokio::test]
async fn files_are_bounded() {
    let house = House::of(&["Ada"]).await;
    let token = house.server.token(OperatorRole::Operator).await;
    let file = |bytes: usize| json!({"name": "a.txt", "type": "text/plain", "data": "QUFB".repeat(bytes / 3)});
    let body =
        |files: Vec<Value>| json!({"agent": house.agents[0], "text": "look", "attachments": files});
    let small = said(&house, &token, body(vec![file(300)])).await;
    assert_eq!(small.status, StatusCode::OK, "{}", small.text);
    let large = said(&house, &token, body(vec![file(4_500_000)])).await;
    assert_eq!(
        (large.status, large.code()),
        (StatusCode::PAYLOAD_TOO_LARGE, "GAL-WEB-FILES".into())
    );
    let many = said(&house, &token, body(vec![file(3); 5])).await;
    assert_eq!(many.status, StatusCode::PAYLOAD_TOO_LARGE);
    house.end().await;
}
