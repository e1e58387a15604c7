//! The chat script on other pages: only listed pages, anonymous visitors who are known again, and forgotten.

use axum::http::{Method, StatusCode};
use galatea_core::{
    MemoryKind, RoomId,
    store::{DeliveriesQuery, MemoriesOf, Place, TurnsQuery},
};
use galatea_host::ops::chat::VISITORS;
use serde_json::{Value, json};

use crate::{
    agents::House,
    support::{Ask, ask},
};

const PAGE: &str = "https://shop.example";

async fn house() -> House {
    let most = tokio::sync::Semaphore::MAX_PERMITS;
    let house = House::with(&["Ada"], most, &[("WEB_ORIGINS", PAGE)]).await;
    house.app.allow_pages(vec![PAGE.to_owned()]);
    house
}

fn from(page: &str, method: &str, path: &str) -> Ask {
    ask(method, path).header("origin", page)
}

/// Says something; gives the cookie that was set and what was answered.
async fn say(house: &House, cookie: Option<&str>, text: &str) -> (Option<String>, Vec<Value>) {
    let body = json!({"agent": "Ada", "text": text});
    let mut asked = from(PAGE, "POST", "/embed/messages").body(body);
    if let Some(cookie) = cookie {
        asked = asked.header("cookie", cookie);
    }
    let (cookie, mut stream) = house.stream_with_cookie(asked).await;
    let events = stream.rest().await.into_iter();
    (cookie, events.filter(|(name, _)| name == "message").map(|(_, data)| data).collect())
}

#[tokio::test]
async fn a_listed_page_shows_the_chat_and_every_other_page_is_refused() {
    let house = house().await;
    let answer = async |asked| house.server.answer(asked).await;
    let about = answer(from(PAGE, "GET", "/embed/agent?agent=ada")).await;
    assert_eq!((about.status, &about.json()["name"]), (StatusCode::OK, &json!("Ada")));
    assert_eq!(about.headers["access-control-allow-origin"], PAGE);
    assert_eq!(about.headers["access-control-allow-credentials"], "true");
    let preflight = from(PAGE, "OPTIONS", "/embed/messages")
        .header("access-control-request-method", Method::POST.as_str());
    assert_eq!(answer(preflight).await.status, StatusCode::NO_CONTENT);
    let script = answer(ask("GET", "/embed/chat.js")).await;
    assert_eq!(script.headers["cross-origin-resource-policy"], "cross-origin");
    for (page, path) in [
        ("https://evil.example", "/embed/agent?agent=ada"),
        ("https://evil.example", "/embed/messages"),
        ("null", "/embed/agent"),
        (PAGE, "/api/v1/agents"),
        (PAGE, "/v1/models"),
        (PAGE, "/"),
    ] {
        let refused = answer(from(page, "GET", path)).await;
        assert_eq!(refused.code(), "GAL-ORIGIN", "{page} {path}");
        assert!(!refused.headers.contains_key("access-control-allow-origin"), "{page} {path}");
    }
    let foreign = from(PAGE, "GET", "/embed/agent").header("host", "evil.example");
    assert_eq!(answer(foreign).await.code(), "GAL-HOST");
    house.end().await;
}

#[tokio::test]
async fn without_a_list_there_is_no_chat() {
    let house = House::of(&["Ada"]).await;
    for path in ["/embed/chat.js", "/embed/agent?agent=Ada", "/embed/messages?agent=Ada"] {
        assert_eq!(house.server.answer(ask("GET", path)).await.code(), "GAL-EMBED-OFF", "{path}");
    }
    house.end().await;
}

#[tokio::test]
async fn a_visitor_is_known_again_and_forgotten() {
    let house = house().await;
    let (cookie, answers) = say(&house, None, "plunderfish").await;
    assert_eq!(answers[0]["text"], "You said plunderfish. That is all.");
    let cookie = cookie.unwrap();
    let (again, _) = say(&house, Some(&cookie), "quaxolotl").await;
    assert_eq!(again, None, "known");
    let history = async |cookie: &str| {
        let asked = from(PAGE, "GET", "/embed/messages?agent=Ada").header("cookie", cookie);
        house.server.answer(asked).await.json()["items"].as_array().unwrap().clone()
    };
    let said = history(&cookie).await;
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!((&said[0]["own"], &said[0]["text"]), (&json!(true), &json!("plunderfish")));
    assert_eq!(history("galatea_visitor=00000000000000000000000000000000").await.len(), 0);

    let forget = from(PAGE, "DELETE", "/embed/visitor").header("cookie", &cookie);
    let gone = house.server.answer(forget).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT, "{}", gone.text);
    let left = left(&house).await;
    for canary in ["plunderfish", "quaxolotl"] {
        assert!(!left.contains(canary), "{left}");
    }
    house.end().await;
}

/// Everything that the store has of visitors.
async fn left(house: &House) -> String {
    let store = &house.server.store;
    let rooms = store.list_rooms(None, Some(&VISITORS), None, 10).await.unwrap();
    let mut left = format!("{rooms:?}");
    for listed in rooms {
        let room: RoomId = listed.room.id;
        for kind in [MemoryKind::Messages, MemoryKind::Facts, MemoryKind::Summaries] {
            let of = MemoriesOf::Room(room);
            let page = store.list_memories(of, &kind, Place::NEWEST, 100).await.unwrap();
            left.push_str(&format!("{page:?}"));
        }
    }
    let (agent, source) = (None, Some(VISITORS));
    let turns = TurnsQuery {
        agent,
        room: None,
        source: source.clone(),
        state: None,
        before: Place::NEWEST,
        limit: 100,
    };
    left.push_str(&format!("{:?}", store.list_turns(&turns).await.unwrap()));
    let parts = DeliveriesQuery {
        agent,
        room: None,
        source,
        state: None,
        before: Place::NEWEST,
        limit: 100,
    };
    left.push_str(&format!("{:?}", store.list_deliveries(&parts).await.unwrap()));
    left.push_str(&format!("{:?}", store.live_after(0, 10_000).await.unwrap()));
    left
}
