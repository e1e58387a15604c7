//! Tasks, blocks, grants and pairing over a database without agents that run.

use axum::http::StatusCode;
use galatea_core::{
    AgentId, Character, Task, TaskId, Timestamp,
    schedule::Schedule,
    store::{OperatorRole, TaskRun},
};
use serde_json::json;

use crate::support::{Server, ask};

fn task(agent: AgentId) -> Task {
    Task {
        id: TaskId::fresh(),
        agent_id: agent,
        name: "REMINDER".to_owned(),
        description: "water the plants".to_owned(),
        room_id: None,
        world_id: None,
        entity_id: None,
        tags: Vec::new(),
        metadata: serde_json::Map::new(),
        due: Timestamp(4_102_444_800_000),
        run: Some(Box::new(TaskRun::by(Schedule::default()))),
    }
}

async fn agent(server: &Server) -> AgentId {
    let character = Character { name: "Ada".into(), ..Character::default() };
    let id = character.identity().id();
    server.store.save_agent(id, &character).await.unwrap();
    id
}

#[tokio::test]
async fn tasks_are_listed_paused_run_and_removed() {
    let server = Server::new().await;
    let (agent, worker) = (agent(&server).await, server.token(OperatorRole::Operator).await);
    let task = task(agent);
    server.store.save_task(&task).await.unwrap();
    let get = || ask("GET", "/api/v1/tasks").token(&worker);
    let listed = server.answer(get()).await.json();
    assert_eq!(listed["items"][0]["agentName"], "Ada", "{listed}");
    assert_eq!(listed["items"][0]["state"], "waiting");
    let act = |verb: &str| ask("POST", &format!("/api/v1/tasks/{}/{verb}", task.id)).token(&worker);
    assert_eq!(server.answer(act("pause")).await.json()["state"], "paused");
    assert_eq!(server.answer(get()).await.json()["items"][0]["state"], "paused");
    let run = server.answer(act("run")).await.json();
    assert_eq!(run["state"], "waiting");
    assert!(run["due"].as_i64().unwrap() < task.due.0, "now");
    let remove = || ask("DELETE", &format!("/api/v1/tasks/{}", task.id)).token(&worker);
    assert_eq!(server.answer(remove()).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.answer(remove()).await.code(), "GAL-TASK-UNKNOWN");
    let owner = server.token(OperatorRole::Owner).await;
    let changes = server.answer(ask("GET", "/api/v1/changes").token(&owner)).await.text;
    for operation in ["task.pause", "task.run", "task.remove"] {
        assert!(changes.contains(operation), "{operation}: {changes}");
    }
}

#[tokio::test]
async fn blocks_have_names_and_are_lifted() {
    let server = Server::new().await;
    let (agent, worker) = (agent(&server).await, server.token(OperatorRole::Operator).await);
    let block =
        json!({ "source": "telegram", "kind": "person", "remote": "@Spam", "reason": "raid" });
    let made = server.answer(ask("POST", "/api/v1/blocks").token(&worker).body(block)).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let listed = server.answer(ask("GET", "/api/v1/blocks").token(&worker)).await.json();
    assert_eq!(listed["items"][0]["remote"], "@spam");
    assert_eq!(listed["items"][0]["agent"], agent.to_string());
    assert_eq!(made.json()["items"][0]["id"], listed["items"][0]["id"]);
    let path = format!("/api/v1/blocks/{}", listed["items"][0]["id"].as_str().unwrap());
    assert_eq!(server.answer(ask("DELETE", &path).token(&worker)).await.status, 204);
    assert_eq!(
        server.answer(ask("DELETE", &path).token(&worker)).await.code(),
        "GAL-BLOCK-UNKNOWN"
    );
    let bad = json!({ "source": "irc", "kind": "person", "remote": "1" });
    let bad = server.answer(ask("POST", "/api/v1/blocks").token(&worker).body(bad)).await;
    assert_eq!(bad.code(), "GAL-BLOCK-PLATFORM");
}

#[tokio::test]
async fn grants_of_known_tools_are_given_and_taken_back() {
    let server = Server::new().await;
    let (agent, owner) = (agent(&server).await, server.token(OperatorRole::Owner).await);
    let known = json!([{ "owner": "weather", "name": "forecast", "action": "FORECAST", "scope": "speaker" }]);
    server.store.cache(agent, "tools", &known, None).await.unwrap();
    let tools = server.answer(ask("GET", "/api/v1/tools").token(&owner)).await.json();
    assert_eq!(tools["items"][0]["tool"], "weather/forecast", "{tools}");
    let path = format!("/api/v1/agents/{agent}/grants");
    let add = |tools: &str| {
        let body = json!({ "tools": tools, "from": "member", "ask": "never" });
        ask("POST", &path).token(&owner).body(body)
    };
    assert_eq!(server.answer(add("weather/rain")).await.code(), "GAL-GRANT-TOOL");
    let made = server.answer(add("weather/forecast")).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let listed = server.answer(ask("GET", &path).token(&owner)).await.json();
    assert_eq!(listed["items"][0]["ask"], "never");
    let one = format!("{path}/{}", listed["items"][0]["id"].as_str().unwrap());
    assert_eq!(server.answer(ask("DELETE", &one).token(&owner)).await.status, 204);
    assert_eq!(server.answer(ask("DELETE", &one).token(&owner)).await.code(), "GAL-GRANT-UNKNOWN");
}

#[tokio::test]
async fn invitations_are_shown_once_and_expire() {
    let server = Server::new().await;
    let (agent, worker) = (agent(&server).await, server.token(OperatorRole::Operator).await);
    let body = json!({ "agent": agent, "days": 1 });
    let made = server.answer(ask("POST", "/api/v1/invitations").token(&worker).body(body)).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let code = made.json()["code"].as_str().unwrap().to_owned();
    assert_eq!(code.len(), 12);
    let owner = server.token(OperatorRole::Owner).await;
    let changes = server.answer(ask("GET", "/api/v1/changes").token(&owner)).await.text;
    assert!(changes.contains("pairing.invite") && !changes.contains(&code));
}
