//! Conversations through elizaOS's API: each transport, sessions, jobs, and one history of all.

use serde_json::{Value, json};
use std::time::Duration;

use super::{ADA, House, SERVER};

/// A channel that a person shares with the agent.
async fn channel(house: &House, agent: &str) -> String {
    let path = format!("/api/messaging/dm-channel?targetUserId={agent}&currentUserId={ADA}");
    let made = house.ask("GET", &path, None).await.json();
    made["data"]["id"].as_str().unwrap().to_owned()
}

fn said(text: &str, transport: &str) -> Value {
    json!({ "author_id": ADA, "content": text, "message_server_id": SERVER, "transport": transport })
}

/// Texts of the channel, the oldest first.
async fn history(house: &House, channel: &str) -> Vec<String> {
    let path = format!("/api/messaging/channels/{channel}/messages");
    let answer = house.ask("GET", &path, None).await.json();
    let list = answer["data"]["messages"].as_array().unwrap().clone();
    list.iter().rev().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_transport_answers_and_a_channel_has_one_history() {
    let house = House::start().await;
    let agent = house.agent().await;
    let channel = channel(&house, &agent).await;
    let path = format!("/api/messaging/channels/{channel}/messages");

    let answer = house.ask("POST", &path, Some(&said("Q1, please", "http"))).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body["agentResponse"]["text"], "A1", "{body}");
    assert_eq!(body["agentResponse"]["inReplyTo"], body["userMessage"]["id"]);
    assert_eq!(body["userMessage"]["author_id"], ADA);

    let stream = house.ask("POST", &path, Some(&said("Q2, please", "sse"))).await;
    let events: Vec<&str> =
        stream.text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(events.first(), Some(&"user_message"), "{}", stream.text);
    assert_eq!(events.last(), Some(&"done"), "the stream ends: {}", stream.text);
    assert!(events.contains(&"chunk") && stream.text.contains("A2"), "{}", stream.text);

    let answer = house.ask("POST", &path, Some(&said("Q3, please", "websocket"))).await;
    assert_eq!(answer.status, 201);
    assert!(answer.json()["agentResponse"].is_null());
    let mut texts = Vec::new();
    for _ in 0..100 {
        texts = history(&house, &channel).await;
        if texts.last().is_some_and(|text| text == "A3") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(texts, ["Q1, please", "A1", "Q2, please", "A2", "Q3, please", "A3"]);
}

#[tokio::test]
async fn a_session_talks_and_a_job_is_answered_across_a_restart() {
    let mut house = House::start().await;
    let agent = house.agent().await;
    let begin = json!({ "agentId": agent, "userId": ADA });
    let session = house.ask("POST", "/api/messaging/sessions", Some(&begin)).await.json();
    let path =
        format!("/api/messaging/sessions/{}/messages", session["sessionId"].as_str().unwrap());
    let say = json!({ "content": "Q7, please", "transport": "http" });
    let answer = house.ask("POST", &path, Some(&say)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let body = answer.json();
    assert_eq!(
        (&body["agentResponse"]["text"], &body["sessionStatus"]["wasRenewed"]),
        (&json!("A7"), &json!(true))
    );

    house.stage.model_hangs();
    let job = json!({ "userId": ADA, "content": "Q8, please", "timeoutMs": 300_000 });
    let job = house.ask("POST", "/api/messaging/jobs", Some(&job)).await.json();
    assert_eq!(job["status"], "processing");
    house.running.kill_9().await;
    house.stage.model_wakes();
    let house = House::again(house.stage).await;
    let path_of_job = format!("/api/messaging/jobs/{}", job["jobId"].as_str().unwrap());
    let mut ended = Value::Null;
    for _ in 0..200 {
        ended = house.ask("GET", &path_of_job, None).await.json();
        if ended["status"] != "processing" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["message"]["content"], "A8");
    assert_eq!(ended["prompt"], "Q8, please");

    let messages = house.ask("GET", &path, None).await.json();
    let texts: Vec<&str> = messages["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["A7", "Q7, please"], "newest first, after a restart");
    assert_eq!(messages["messages"][0]["isAgent"], true);
}
