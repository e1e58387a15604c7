//! Live events: numbered, replayed, and only for those who may read.

use axum::body::BodyDataStream;
use futures::StreamExt as _;
use galatea_core::{AgentId, Event, store::OperatorRole};
use serde_json::Value;

use crate::support::{Server, ask};

/// Reads events of a stream.
struct Reader {
    body: BodyDataStream,
    text: String,
}

impl Reader {
    async fn open(server: &Server, token: &str, query: &str) -> Self {
        let response = server.raw(ask("GET", &format!("/api/v1/events{query}")).token(token)).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut reader =
            Self { body: response.into_body().into_data_stream(), text: String::new() };
        while !reader.text.contains("retry:") {
            reader.more().await;
        }
        reader.text.clear();
        reader
    }

    async fn more(&mut self) {
        let piece = self.body.next().await.unwrap().unwrap();
        self.text.push_str(std::str::from_utf8(&piece).unwrap());
    }

    /// The next events.
    async fn events(&mut self, n: usize) -> Vec<Value> {
        loop {
            let found: Vec<Value> = self
                .text
                .split("\n\n")
                .filter_map(|event| event.split("data: ").nth(1))
                .filter_map(|data| serde_json::from_str(data).ok())
                .collect();
            if found.len() >= n {
                self.text.clear();
                return found;
            }
            self.more().await;
        }
    }
}

fn started(agent: AgentId) -> Event {
    Event::AgentStarted { agent }
}

#[tokio::test]
async fn events_are_followed_and_replayed() {
    let server = Server::new().await;
    let token = server.token(OperatorRole::Viewer).await;
    let agents: Vec<AgentId> = (0..4).map(|_| AgentId::fresh()).collect();
    let mut reader = Reader::open(&server, &token, "").await;
    server.events.publish(started(agents[0]));
    server.events.publish(Event::AgentStopped { agent: agents[1] });
    let first = reader.events(2).await;
    assert_eq!(
        (&first[0]["kind"], &first[1]["kind"]),
        (&"agent_started".into(), &"agent_stopped".into())
    );
    assert_eq!(first[0]["agent"], agents[0].to_string());
    let seq = first[0]["seq"].as_i64().unwrap();
    drop(reader);
    server.events.publish(started(agents[2]));
    let mut back = Reader::open(&server, &token, &format!("?after={seq}")).await;
    server.events.publish(started(agents[3]));
    let rest = back.events(3).await;
    let seen: Vec<&str> = rest.iter().map(|event| event["agent"].as_str().unwrap()).collect();
    assert_eq!(seen, agents[1..].iter().map(ToString::to_string).collect::<Vec<_>>());
    let numbers: Vec<i64> = rest.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [seq + 1, seq + 2, seq + 3], "none is lost, none comes twice");
    let mut some = Reader::open(&server, &token, "?after=0&kinds=agent_stopped").await;
    assert_eq!(some.events(1).await[0]["agent"], agents[1].to_string());
}

#[tokio::test]
async fn a_reader_that_fell_behind_is_told_what_it_missed() {
    use galatea_core::{
        Timestamp,
        store::{LIVE_KEPT, LiveEvent, OperatorRole as Role},
    };
    use galatea_host::ops::{Operator, live::Followed};
    let server = Server::new().await;
    let event = |n: i64| LiveEvent {
        seq: 0,
        at: Timestamp(n),
        agent: None,
        kind: "turn_finished".to_owned(),
        data: Value::Object(serde_json::Map::new()),
    };
    server.store.add_live(&[event(0)]).await.unwrap();
    let by = Operator { role: Role::Viewer, ..Operator::command_line() };
    let mut reader = server.live.follow(&by, Some(0)).await.unwrap();
    let Some(Followed::Event(first)) = reader.next().await.unwrap() else { panic!("an event") };
    // More than the store keeps, while nobody reads.
    for batch in 0..(LIVE_KEPT / 500 + 2) {
        let events: Vec<LiveEvent> = (0..500).map(|n| event(batch * 500 + n)).collect();
        server.store.add_live(&events).await.unwrap();
    }
    let mut missed = None;
    for _ in 0..2_000 {
        match reader.next().await.unwrap() {
            Some(Followed::Missed(seq)) => {
                missed = Some(seq);
                break;
            }
            Some(Followed::Event(_)) => {}
            None => break,
        }
    }
    assert!(missed.is_some_and(|seq| seq > first.seq), "{missed:?}");
    let Some(Followed::Event(next)) = reader.next().await.unwrap() else { panic!("an event") };
    assert_eq!(Some(next.seq - 1), missed, "it goes on right after what is gone");
}
