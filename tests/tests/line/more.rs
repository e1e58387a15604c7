//! The rest of a long answer: whose it is, and how people ask for it.

use galatea_core::{
    Addressed, Command, EntityId, Incoming, IncomingEvent, MemoryId, RemoteId, store::InboxState,
};
use galatea_store::Database;
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::{
    house::{House, Plan, Spot, dm, group},
    platform::Platform,
};

/// What was said but the lines that there is more, and the marks of the platform.
pub(crate) fn without_footers(texts: &[String]) -> String {
    let said: Vec<&str> =
        texts.iter().map(|text| text.split("[There is more").next().unwrap_or_default()).collect();
    said.concat().chars().filter(|c| !c.is_whitespace() && *c != '|').collect()
}

fn parts(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{name}{n}{}", name.repeat(60))).collect()
}

/// Answers "long X" with nine parts of X, and other words with themselves.
fn model() -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(|request| {
        let asked = crate::models::asked_texts(request);
        let name =
            asked.rsplit_once("long ").map(|(_, rest)| rest.chars().take(1).collect::<String>());
        Ok(ScriptedModel::text(match name {
            Some(name) if asked.rfind("long ") > asked.rfind("short") => parts(&name, 9).join("||"),
            _ => "short answer".to_owned(),
        }))
    }))
}

async fn house() -> House {
    Plan::new(model() as _).set("ANSWER_PARTS", "3").set("CONVERSATION_LENGTH", "1").build().await
}

fn presses(house: &House, at: &Spot, data: &str) -> Incoming {
    Incoming {
        connection: at.connection(),
        event: IncomingEvent::Pressed {
            id: RemoteId::new(format!("press-{}-{data}", at.person)),
            message: None,
            data: data.to_owned(),
        },
        at: house.clock.now(),
    }
}

async fn receives(house: &House, incoming: Incoming) {
    house.receive(vec![incoming]).await;
    house.quiet().await;
}

async fn says(house: &House, at: &Spot, text: &str) -> MemoryId {
    let id = house.say(at, text).await;
    house.quiet().await;
    id
}

fn with(house: &House, at: &Spot, text: &str, reply: bool, command: Option<&str>) -> Incoming {
    let mut message = house.message(at, text);
    if let IncomingEvent::Message(said) = &mut message.event {
        said.addressed = Addressed { mention: false, reply };
        said.command = command.map(|name| Command { name: name.into(), args: String::new() });
    }
    message
}

/// The rest that is held back in a Room: for whom, and of which answer.
async fn held(house: &House, at: &Spot) -> Vec<(EntityId, MemoryId)> {
    let room = house.store.room(house.room(at)).await.unwrap().unwrap();
    let held = room.metadata.get("continued").and_then(|held| held.as_array().cloned());
    held.unwrap_or_default()
        .iter()
        .map(|held| {
            let id = |value: &serde_json::Value| serde_json::from_value(value.clone()).unwrap();
            (EntityId(id(&held["asker"])), MemoryId(id(&held["answers"][0]["memory"])))
        })
        .collect()
}

#[tokio::test]
async fn in_a_group_the_word_alone_reads_on_for_the_person_who_asked_and_for_nobody_else() {
    let house = house().await;
    let (ada, bob) = (group("g", "1"), group("g", "2"));
    says(&house, &ada.clone().mentioning(), "long A").await;
    let said = house.platform.texts("g");
    assert_eq!(said.len(), 3, "the footer is no message of its own: {said:?}");
    assert!(said[2].contains("A") && said[2].contains("reply \"more\" to this"), "{said:?}");
    // Another person's question neither drops nor reads it.
    says(&house, &bob.clone().mentioning(), "short").await;
    let ignored = says(&house, &bob, "more").await;
    assert_eq!(house.explain(ignored).await.state, InboxState::Skipped);
    says(&house, &ada, "more").await;
    says(&house, &ada, "Mehr, bitte").await;
    let texts: Vec<String> =
        house.platform.texts("g").into_iter().filter(|text| text != "short answer").collect();
    assert_eq!(without_footers(&texts), parts("A", 9).concat());
    assert_eq!(held(&house, &ada).await, []);
    // The rest is no longer held back: the word addresses nobody.
    let after = says(&house, &ada, "more").await;
    assert_eq!(house.explain(after).await.state, InboxState::Skipped);
}

#[tokio::test]
async fn a_reply_the_command_and_the_button_read_on() {
    for way in ["reply", "command", "button"] {
        let house = house().await;
        let ada = group("g", "1");
        says(&house, &ada.clone().mentioning(), "long A").await;
        // Another answer in between: the word alone means that one.
        says(&house, &ada.clone().mentioning(), "short").await;
        let plain = says(&house, &ada, "more").await;
        assert_eq!(house.explain(plain).await.state, InboxState::Skipped, "{way}");
        for _ in 0..2 {
            let held = held(&house, &ada).await;
            let event = match way {
                "reply" => with(&house, &ada, "more", true, None),
                "command" => with(&house, &ada, "/more", false, Some("more")),
                _ => presses(&house, &ada, &format!("more:{}", held[0].1)),
            };
            // Each press has an id of its own.
            let event = match event {
                Incoming {
                    event: IncomingEvent::Pressed { message, data, .. },
                    connection,
                    at,
                } => {
                    let id = RemoteId::new(format!("{:?}-{}", at, house.platform.texts("g").len()));
                    Incoming { event: IncomingEvent::Pressed { id, message, data }, connection, at }
                }
                other => other,
            };
            receives(&house, event).await;
        }
        let texts: Vec<String> =
            house.platform.texts("g").into_iter().filter(|text| text != "short answer").collect();
        assert_eq!(without_footers(&texts), parts("A", 9).concat(), "{way}");
    }
}

#[tokio::test]
async fn anothers_button_and_an_old_one_say_nothing_in_the_room() {
    let house = house().await;
    let (ada, bob) = (group("g", "1"), group("g", "2"));
    says(&house, &ada.clone().mentioning(), "long A").await;
    let before = house.platform.texts("g");
    let answer = held(&house, &ada).await[0].1;
    receives(&house, presses(&house, &bob, &format!("more:{answer}"))).await;
    receives(&house, presses(&house, &ada, &format!("more:{}", MemoryId::fresh()))).await;
    assert_eq!(house.platform.texts("g"), before);
    assert_eq!(held(&house, &ada).await.len(), 1, "it is still there");
    // The command without anything held back says so.
    receives(&house, with(&house, &bob, "/more", false, Some("more"))).await;
    assert_eq!(house.platform.texts("g").last().unwrap(), "There is no more.");
}

#[tokio::test]
async fn two_people_read_on_in_their_own_answers_also_after_a_restart() {
    let store = Database::in_memory().await.unwrap();
    let plan = || {
        Plan::new(model() as _)
            .set("ANSWER_PARTS", "3")
            .set("CONVERSATION_LENGTH", "1")
            .store(&store)
    };
    let house = plan().build().await;
    let (ada, bob) = (group("g", "1"), group("g", "2"));
    says(&house, &ada.clone().mentioning(), "long A").await;
    says(&house, &bob.clone().mentioning(), "long B").await;
    let first = house.platform.texts("g");
    house.orchestrator.stop(std::time::Duration::from_secs(5)).await;
    let again = plan().on(Platform::new("1000")).build().await;
    for who in [&bob, &ada, &bob, &ada] {
        let mut more = again.message(who, "more");
        if let IncomingEvent::Message(said) = &mut more.event {
            said.id =
                RemoteId::new(format!("again-{}-{}", who.person, again.platform.texts("g").len()));
        }
        receives(&again, more).await;
    }
    let all = [first, again.platform.texts("g")].concat();
    for name in ["A", "B"] {
        let own: Vec<String> = all.iter().filter(|text| text.contains(name)).cloned().collect();
        assert_eq!(without_footers(&own), parts(name, 9).concat(), "{all:?}");
    }
}

#[tokio::test]
async fn private_chats_are_told_everything_at_once() {
    let house =
        Plan::new(model() as _).on(Platform::with("1000", |can| can.public = true)).build().await;
    says(&house, &dm("7"), "long A").await;
    assert_eq!(without_footers(&house.platform.texts("7")), parts("A", 9).concat());
    assert_eq!(house.platform.texts("7").len(), 9, "nothing is held back");
    says(&house, &group("g", "7").mentioning(), "long A").await;
    let texts = house.platform.texts("g");
    assert_eq!(texts.len(), 2, "8,000 characters are two messages of 4,096: {texts:?}");
}
