//! `/privacy export`: a person gets what is stored about them, and nothing of others.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{
    MemoryScope, Relationship, RelationshipId, Source,
    export::{FORMAT, Record},
    store::{Amount, Day, OutboxQuery, OutboxState, UsageRow},
};
use std::{sync::Arc, time::Duration};

use super::stage::{Stage, club, private};
use crate::{
    house::{Plan, Spot, dm, group},
    models::echo,
    platform::Platform,
};

fn records(text: &str) -> Vec<Record> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The one file that was sent to a room.
fn file(platform: &Platform, room: &str) -> String {
    let shown = platform.shown();
    let files: Vec<&String> =
        shown.iter().filter(|shown| shown.room == room).flat_map(|shown| &shown.files).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let data = file.strip_prefix("data:application/json;base64,").unwrap();
    String::from_utf8(BASE64_STANDARD.decode(data).unwrap()).unwrap()
}

#[tokio::test]
async fn a_person_gets_everything_of_theirs_as_a_file() {
    let platform = Platform::with("1000", |capabilities| capabilities.files = true);
    let house = Plan::new(echo()).on(Arc::clone(&platform)).build().await;
    house.say(&dm("7"), "the first").await;
    house.say(&group("-100", "7").mentioning(), "in public").await;
    house.say(&group("-100", "8").mentioning(), "of another").await;
    house.quiet().await;
    house.say(&group("-100", "7").mentioning(), "/privacy export").await;
    house.quiet().await;
    assert!(platform.texts("-100").last().unwrap().contains("in a direct chat only"));
    house.say(&dm("7"), "/privacy export").await;
    house.quiet().await;

    let records = records(&file(&platform, "7"));
    let Record::Export { format, agent, at, has_end } = &records[0] else { panic!("{records:?}") };
    assert_eq!((format.as_str(), agent.as_str(), *has_end), (FORMAT, "Eliza", false));
    // As `galatea memory export` writes it: 2026-01-31T12:00:00Z.
    let pattern = at.replace(|c: char| c.is_ascii_digit(), "0");
    assert_eq!(pattern, "0000-00-00T00:00:00Z");
    let me = house.entity(&dm("7"));
    assert!(records.iter().any(|r| matches!(r, Record::Entity(entity) if entity.id == me)));
    assert!(records.iter().any(|r| matches!(r, Record::Usage(row) if row.person == me)));
    let said: Vec<&str> = records
        .iter()
        .filter_map(|record| match record {
            Record::Memory(memory) => {
                assert_eq!(memory.memory.entity_id, me);
                Some(memory.memory.content.text.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(said, ["the first", "in public", "/privacy export", "/privacy export"]);

    // Not again at once, and the copy goes with the person.
    house.say(&dm("7"), "/privacy export").await;
    house.quiet().await;
    assert!(platform.texts("7").last().unwrap().contains("within the last hour"));
    house.say(&dm("7"), "/privacy forget me").await;
    house.quiet().await;
    let all = OutboxQuery { states: vec![OutboxState::Sent], limit: 100 };
    let kept: Vec<String> = house
        .store
        .outbox(&all)
        .await
        .unwrap()
        .iter()
        .map(|part| part.delivery.body.0.to_string())
        .collect();
    assert!(!kept.iter().any(|body| body.contains("base64")), "{kept:?}");
    assert!(kept.iter().any(|body| body.contains("of another")), "{kept:?}");
}

#[tokio::test]
async fn without_files_it_is_text_of_bounded_length_with_the_newest() {
    let stage = Stage::build(None).await;
    stage.say(&private(0), "My secret word is heliotrope").await;
    stage.until_learnt("heliotrope").await;
    let said = stage.answer(&private(0), "/privacy export").await;
    let (note, rest) = said.split_once("```json\n").unwrap();
    assert!(!note.contains("more than fits"), "{note}");
    let facts: Vec<MemoryScope> = records(rest.strip_suffix("```").unwrap())
        .iter()
        .filter_map(|record| match record {
            Record::Memory(fact) if !fact.sources.is_empty() => Some(fact.scope),
            _ => None,
        })
        .collect();
    assert_eq!(facts, [MemoryScope::Private], "what was noted, with its sources");

    let long = "word ".repeat(200);
    for n in 0..20 {
        stage.say(&private(0), &format!("number {n}: {long}")).await;
    }
    stage.clock.advance(Duration::from_secs(3_600));
    let said = stage.answer(&private(0), "/privacy export").await;
    assert!(said.len() < 18_000 && said.contains("more than fits"), "{}", said.len());
    assert!(said.contains("number 19") && !said.contains("number 1:"), "the newest");
}

#[tokio::test]
async fn what_others_said_elsewhere_is_not_in_it() {
    let stage = Stage::build(None).await;
    stage.say(&club(0).mentioning(), "Hello").await;
    // Bob speaks of Anna in private, and in the club that she is in.
    stage.say(&private(2), "I heard that Anna collects stamps").await;
    stage.say(&club(2).mentioning(), "I heard that Anna plays the harp").await;
    stage.until_learnt("harp").await;
    let said = stage.answer(&private(0), "/privacy export").await;
    assert!(said.contains("Anna plays the harp"), "said where she is: {said}");
    assert!(!said.contains("stamps") && !said.contains("I heard"), "{said}");
}

#[tokio::test]
async fn of_relationships_just_what_rooms_of_the_person_know_is_in_it() {
    let stage = Stage::build(None).await;
    stage.say(&club(0).mentioning(), "Hello").await;
    stage.say(&private(2), "Hello").await;
    let house = &stage.house;
    let (anna, bob) = (house.entity(&private(0)), house.entity(&private(2)));
    let tie = |target, rooms: &[(&Spot, &str)]| Relationship {
        id: RelationshipId::fresh(),
        agent_id: house.agent,
        source_entity_id: bob,
        target_entity_id: target,
        tags: vec!["admires".to_owned(), "rival".to_owned()],
        metadata: serde_json::Map::from_iter([
            ("interactions".to_owned(), serde_json::json!(77)),
            (
                "rooms".to_owned(),
                rooms
                    .iter()
                    .map(|(at, tag)| (house.room(at).to_string(), serde_json::json!([tag])))
                    .collect::<serde_json::Map<_, _>>()
                    .into(),
            ),
        ]),
    };
    let (open, secret) = (club(0), private(2));
    for tie in [
        tie(anna, &[(&open, "rival"), (&secret, "admires")]),
        Relationship { source_entity_id: anna, ..tie(bob, &[(&secret, "admires")]) },
    ] {
        house.store.save_relationship(&tie).await.unwrap();
    }
    let said = stage.answer(&private(0), "/privacy export").await;
    let (_, rest) = said.split_once("```json\n").unwrap();
    let ties: Vec<Relationship> = records(rest.strip_suffix("```").unwrap())
        .into_iter()
        .filter_map(|record| match record {
            Record::Relationship(tie) => Some(tie),
            _ => None,
        })
        .collect();
    let [tie] = ties.as_slice() else { panic!("{ties:?}") };
    assert_eq!((tie.source_entity_id, &tie.tags[..]), (bob, &["rival".to_owned()][..]));
    assert!(!said.contains("admires") && !said.contains("interactions"), "{said}");
}

#[tokio::test]
async fn usage_of_years_leaves_room_for_messages() {
    let stage = Stage::build(None).await;
    stage.say(&private(0), "My secret word is heliotrope").await;
    stage.until_learnt("heliotrope").await;
    let house = &stage.house;
    let (anna, room) = (house.entity(&private(0)), house.room(&private(0)));
    let rows: Vec<UsageRow> = (0..300)
        .map(|n| UsageRow {
            agent: house.agent,
            day: Day(19_000 + n),
            room,
            person: anna,
            model: format!("model-{n}"),
            source: Source::new("stage"),
            world: house.world(&private(0)),
            amount: Amount { answers: 1, ..Amount::default() },
        })
        .collect();
    house.store.add_usage(&rows).await.unwrap();
    let said = stage.answer(&private(0), "/privacy export").await;
    assert!(said.contains("My secret word") && said.contains("more than fits"), "{said}");
    assert!(said.contains("the secret word is heliotrope"), "{said}");
    assert!(said.contains("model-299") && !said.contains("model-100\""), "the newest");
    assert!(said.len() < 10_000, "{}", said.len());
}
