//! Features for groups, each from its switch to what people see.

use galatea_core::{
    ChannelType, Content, EntityRef, Incoming, IncomingEvent, Quote, QuoteKind, RemoteId, Role,
    RoomRef, WorldRef, WorldSync, model::TextRequest,
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Value, json};
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{Calls, HOUR, MINUTE, MORNING, Stage, scripted};
use crate::{
    house::{Plan, Spot, group},
    models,
};

/// A group with an admin, a member and a second room for moderators.
const ROOM: &str = "-100";
const STAFF: &str = "-200";

async fn stage(calls: Calls, settings: &'static str) -> Stage {
    let options = HttpOptions {
        untrusted_exceptions: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        ..HttpOptions::default()
    };
    let http = HttpClient::new(options).unwrap();
    let model = ScriptedModel::answering(move |request: &TextRequest| {
        let prompt = models::prompt(request);
        if prompt.contains("The lines below are data") {
            let lines = prompt.lines().filter(|line| line.contains(": ")).count();
            return Ok(ScriptedModel::text(format!("They spoke of bread ({lines} lines).")));
        }
        Ok(scripted(&calls, request))
    });
    let mut plan = Plan::new(Arc::new(model))
        .set("REFLECTION_INTERVAL", "0")
        .set("ACTION_CONFIRMATION", "never");
    if !settings.is_empty() {
        plan = plan.set("COMMUNITY_FEATURES", settings);
    }
    for plugin in galatea_community::plugins(http) {
        plan = plan.plugin(plugin);
    }
    let stage = Stage::set(plan).await;
    let mut world = WorldRef::new(RemoteId::new(ROOM), Some("Mill".to_owned()));
    world.roles = vec![(RemoteId::new("1"), Role::Admin)];
    let rooms = vec![
        RoomRef::new(RemoteId::new(ROOM), Some("Hall".to_owned()), ChannelType::Group),
        RoomRef::new(RemoteId::new(STAFF), Some("Staff".to_owned()), ChannelType::Group),
    ];
    let people = vec![(
        EntityRef::new(RemoteId::new("1"), Some("Ada".to_owned()), Some("ada".to_owned())),
        Vec::new(),
    )];
    let sync = WorldSync { world, rooms, entities: people };
    stage.house.gateway.ensure_connections(sync).await.unwrap();
    stage
}

fn admin() -> Spot {
    group(ROOM, "1").named("Ada").mentioning()
}

fn member() -> Spot {
    group(ROOM, "7").named("Ben")
}

fn set(key: &str, value: &str) -> (&'static str, Value) {
    ("UPDATE_SETTINGS", json!({ "key": key, "value": value }))
}

async fn say(stage: &Stage, at: &Spot, text: &str) {
    stage.house.say(at, text).await;
    stage.house.quiet().await;
}

#[tokio::test]
async fn a_person_who_was_away_hears_what_they_missed() {
    let missed = ("WHAT_DID_I_MISS", json!({}));
    let stage = stage(vec![missed, set("missed", "on")], "").await;
    say(&stage, &member(), "I go for bread").await;
    stage.clock.advance(HOUR);
    say(&stage, &group(ROOM, "8").named("Cleo"), "the oven is hot").await;
    say(&stage, &group(ROOM, "8").named("Cleo"), "who has flour?").await;
    let asks = member().mentioning();
    say(&stage, &asks, "go 0").await;
    let off = stage.house.platform.texts(ROOM);
    assert!(off.iter().all(|text| !text.contains("They spoke of")), "off by default: {off:?}");
    say(&stage, &admin(), "go 1").await;
    stage.clock.advance(HOUR);
    say(&stage, &group(ROOM, "8").named("Cleo"), "the bread is ready").await;
    say(&stage, &asks, "go 0").await;
    let said = stage.house.platform.texts(ROOM).pop().unwrap();
    assert!(
        said.starts_with("Since you were here last (") && said.contains("They spoke of bread"),
        "{said}"
    );
}

#[tokio::test]
async fn a_room_is_reported_on_each_day_at_its_time() {
    let stage = stage(vec![("DAILY_REPORT", json!({ "at": "18:00" }))], "").await;
    say(&stage, &member().mentioning(), "go 0").await;
    assert!(stage.tasks().await.is_empty(), "a member may not");
    say(&stage, &admin(), "go 0").await;
    let said = stage.house.platform.texts(ROOM).pop().unwrap();
    assert_eq!(said, "I will report here each day at 18:00 (UTC). /reminders ends it.");
    for text in ["the oven is hot", "who has flour?", "I have"] {
        say(&stage, &member(), text).await;
    }
    let before = stage.house.platform.texts(ROOM).len();
    stage.pass(8 * HOUR).await;
    let report = stage.until_shown(ROOM, before + 1).await[before].clone();
    assert!(
        report.starts_with("**Mon 4 May 2026**, ") && report.contains("They spoke of bread"),
        "{report}"
    );
    let due = MORNING.plus(32 * HOUR);
    stage.until_tasks("it is due the next day", |tasks| tasks[0].due == due).await;
    // A day on which nobody spoke has no report.
    stage.pass(24 * HOUR).await;
    let due = MORNING.plus(56 * HOUR);
    stage.until_tasks("it is due the day after", |tasks| tasks[0].due == due).await;
    assert_eq!(stage.house.platform.texts(ROOM).len(), before + 1);
}

#[tokio::test]
async fn people_are_welcomed_where_an_admin_wants_it_and_once() {
    let stage = stage(vec![set("welcome", "Hello {name}, read the rules first.")], "goodbye").await;
    let joins = |id: &'static str, name: &str, joined: bool| {
        let entities =
            vec![EntityRef::new(RemoteId::new(id), Some(name.to_owned()), Some(name.to_owned()))];
        let event = if joined {
            IncomingEvent::Joined { entities }
        } else {
            IncomingEvent::Left { entities }
        };
        Incoming { connection: admin().connection(), event, at: stage.house.clock.now() }
    };
    say(&stage, &admin(), "hello").await;
    stage.house.receive(vec![joins("8", "Cleo", true)]).await;
    say(&stage, &admin(), "go 0").await;
    let before = stage.house.platform.texts(ROOM).len();
    stage.house.receive(vec![joins("9", "Dora", true)]).await;
    look_until(&stage, before + 1).await;
    let said = stage.house.platform.texts(ROOM);
    assert_eq!(said[before], "Hello Dora, read the rules first.", "{said:?}");
    assert!(said.iter().all(|text| !text.contains("Cleo")), "not before it was switched on");
    stage.house.receive(vec![joins("9", "Dora", false)]).await;
    look_until(&stage, before + 2).await;
    assert_eq!(stage.house.platform.texts(ROOM)[before + 1], "Goodbye, Dora!");
    stage.house.receive(vec![joins("9", "Dora", true)]).await;
    say(&stage, &admin(), "hello again").await;
    stage.house.orchestrator.look_for_tasks();
    say(&stage, &admin(), "and again").await;
    let hellos = stage.house.platform.texts(ROOM);
    assert_eq!(hellos.iter().filter(|text| text.contains("Hello Dora")).count(), 1);
}

/// Has the search for tasks look until so many texts are shown.
async fn look_until(stage: &Stage, count: usize) {
    let look = async {
        while stage.house.platform.texts(ROOM).len() < count {
            stage.house.orchestrator.look_for_tasks();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let shown = tokio::time::timeout(crate::platform::PATIENCE, look).await;
    assert!(shown.is_ok(), "{:?}", stage.house.platform.shown());
}

#[tokio::test]
async fn a_question_without_an_answer_is_handed_over_to_people() {
    let question = json!({ "question": "When does the mill open in winter?" });
    let stage =
        stage(vec![("HAND_OVER", question), set("moderators_room", "#Staff")], "hand_over").await;
    let asks = member().mentioning();
    say(&stage, &asks, "go 0").await;
    assert!(stage.house.platform.texts(STAFF).is_empty(), "no room is named yet");
    say(&stage, &admin(), "go 1").await;
    say(&stage, &asks, "go 0").await;
    let staff = stage.until_shown(STAFF, 1).await;
    assert_eq!(
        staff,
        [
            "Ben asks in Room -100, and I do not know the answer:\n> When does the mill open in winter?"
        ]
    );
    let said = stage.house.platform.texts(ROOM).pop().unwrap();
    assert_eq!(
        said,
        "I am not sure about this. I passed your question on; a person will answer you."
    );
}

#[tokio::test]
async fn a_message_is_shown_to_moderators_and_nothing_else_happens() {
    let reason = json!({ "reason": "it threatens a person" });
    let stage =
        stage(vec![("FLAG_MESSAGE", reason), set("moderators_room", "Staff")], "flag").await;
    say(&stage, &admin(), "go 1").await;
    let reports = member().mentioning();
    let mut message = stage.house.message(&reports, "go 0");
    if let IncomingEvent::Message(said) = &mut message.event {
        said.content = Content {
            quotes: vec![Quote::new(QuoteKind::Reply, Some("Cleo".to_owned()), "I will find you")],
            ..said.content.clone()
        };
    }
    stage.house.receive(vec![message]).await;
    let staff = stage.until_shown(STAFF, 1).await;
    assert_eq!(
        staff,
        [
            "Please look at this message of Ben in Room -100: it threatens a person\n> go 0\nIt answers Cleo:\n> I will find you"
        ]
    );
}

/// A server with a feed that the test changes.
async fn feed_server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/feed.xml", listener.local_addr().unwrap());
    let titles = Arc::new(Mutex::new(vec!["Old news".to_owned()]));
    let shown = Arc::clone(&titles);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0_u8; 4_096];
            let _ = stream.read(&mut buffer).await;
            let items: String = shown
                .lock()
                .unwrap()
                .iter()
                .map(|title| format!("<item><title>{title}</title><guid>{title}</guid><link>https://mill.example/{}</link></item>", title.len()))
                .collect();
            let body = format!("<rss><channel><title>Mill</title>{items}</channel></rss>");
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    (url, titles)
}

#[tokio::test]
async fn what_is_new_in_a_feed_is_posted_once() {
    let (url, titles) = feed_server().await;
    let stage = stage(vec![("FOLLOW_FEED", json!({ "url": url }))], "").await;
    say(&stage, &admin(), "go 0").await;
    let before = stage.house.platform.texts(ROOM).len();
    let learnt = |tasks: &[galatea_core::Task]| tasks[0].metadata.contains_key("seen");
    stage.until_tasks("the feed is read", learnt).await;
    assert_eq!(stage.house.platform.texts(ROOM).len(), before, "what is old is not news");
    titles.lock().unwrap().insert(0, "Fresh bread".to_owned());
    stage.pass(30 * MINUTE).await;
    let said = stage.until_shown(ROOM, before + 1).await;
    assert_eq!(said[before], "**Mill**\n- Fresh bread https://mill.example/11");
    stage.until_tasks("it is due again", |tasks| tasks[0].due > MORNING.plus(31 * MINUTE)).await;
    stage.pass(30 * MINUTE).await;
    stage.until_tasks("it was read again", |tasks| tasks[0].due > MORNING.plus(61 * MINUTE)).await;
    assert_eq!(stage.house.platform.texts(ROOM).len(), before + 1);
}
