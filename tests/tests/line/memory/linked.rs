//! `/link`: one person on two platforms. What is private to them follows them to their other direct
//! chat, nowhere else, and only while both sides want it. `linked/` has the codes and the questions.

mod codes;
mod questions;

use galatea_core::{Source, export::Record};
use galatea_store::Database;
use std::{sync::Arc, time::Duration};

use super::stage::{CLUB, Stage, club, private};
use crate::{
    house::{Spot, dm, group},
    platform::Platform,
};

const SECRET: &str = "heliotrope";

fn there() -> Spot {
    dm("abroad-anna")
}

fn platform() -> Arc<Platform> {
    Platform::of(Source::new("abroad"), "2000", |_| {})
}

/// Anna has told a secret in her direct chat here.
async fn stage() -> Stage {
    let stage = Stage::of(None, Some(platform()), None).await;
    stage.say(&private(0), "My secret word is heliotrope").await;
    stage.until_learnt(SECRET).await;
    stage
}

/// The code that `/link` shows.
async fn code(stage: &Stage, at: &Spot) -> String {
    let said = stage.answer(at, "/link").await;
    let (_, rest) = said.split_once("Your code is ").unwrap_or_else(|| panic!("{said}"));
    rest.split_once('.').unwrap().0.to_owned()
}

/// Sends a code abroad and agrees; then it is asked here.
async fn send(stage: &Stage, code: &str) -> String {
    let before = stage.house.platform.texts("5001").len();
    let said = stage.answer(&there(), &format!("/link {code}")).await;
    assert!(
        said.starts_with("This is a code of Anna (stage). Is Anna (stage) the same person as "),
        "{said}"
    );
    assert!(
        said.contains("Anna (stage) would then see what userabroad-anna (abroad) told me"),
        "{said}"
    );
    let said = stage.answer(&there(), "/link yes").await;
    assert!(said.starts_with("I have asked Anna (stage) to confirm"), "{said}");
    stage.house.platform.until_shown("5001", before + 1).await[before].clone()
}

async fn link(stage: &Stage) {
    let code = code(stage, &private(0)).await;
    let question = send(stage, &code).await;
    assert!(
        question.starts_with("userabroad-anna (abroad) sent the code of Anna (stage)"),
        "{question}"
    );
    assert!(question.contains("userabroad-anna (abroad) would then see"), "{question}");
    let done = stage.answer(&private(0), "/link yes").await;
    assert!(done.contains("userabroad-anna (abroad) are one person to me"), "{done}");
}

async fn knows(stage: &Stage, at: &Spot) -> bool {
    stage.ask(at, "What is my secret word?").await.contains(SECRET)
}

#[tokio::test]
async fn private_facts_follow_a_linked_person_and_no_other() {
    let stage = stage().await;
    assert!(knows(&stage, &private(0)).await);
    assert!(!knows(&stage, &there()).await, "another person, as long as they did not say more");
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    assert!(!knows(&stage, &there()).await, "not before the other side has confirmed");
    stage.answer(&private(0), "/link yes").await;
    let abroad = stage.abroad.as_ref().unwrap();
    abroad
        .until("the confirmation", |p| {
            p.texts("abroad-anna").last().unwrap().starts_with("Anna (stage) has confirmed")
        })
        .await;

    let prompt = stage.ask(&there(), "What is my secret word?").await;
    let (_, known) = prompt.split_once("About userabroad-anna it is known:").unwrap();
    assert!(known.contains(SECRET), "under the name that speaks: {prompt}");
    let listed = stage.answer(&there(), "/memory").await;
    assert!(listed.contains("1. Anna: the secret word is heliotrope"), "{listed}");
    // The way back.
    stage.say(&there(), "My second word is marzipan").await;
    stage.until_learnt("marzipan").await;
    assert!(stage.ask(&private(0), "What is my second word?").await.contains("marzipan"));
    // No room of several people, no other person.
    let crowd = group("abroad-crowd", "abroad-anna").mentioning();
    assert!(!knows(&stage, &crowd).await);
    assert!(!knows(&stage, &club(0).mentioning()).await);
    assert!(!knows(&stage, &private(1)).await, "another Anna");
    assert!(!knows(&stage, &dm("abroad-bob")).await);
    assert!(!stage.answer(&crowd, "/memory").await.contains(SECRET));

    // Either side ends it, at once and for both.
    let ended = stage.answer(&there(), "/unlink").await;
    assert!(ended.contains("no longer Anna (stage)"), "{ended}");
    assert!(!knows(&stage, &there()).await);
    assert!(!stage.answer(&there(), "/memory").await.contains(SECRET));
    assert!(knows(&stage, &private(0)).await, "what was told here stays here");
    assert!(!stage.ask(&private(0), "What is my second word?").await.contains("marzipan"));
}

#[tokio::test]
async fn facts_of_a_world_stay_in_its_rooms() {
    let stage = stage().await;
    stage.say(&club(0).mentioning(), "I live in Ghent").await;
    stage.until_learnt("lives in Ghent").await;
    link(&stage).await;
    for at in [private(0), there(), group("abroad-crowd", "abroad-anna").mentioning()] {
        let prompt = stage.ask(&at, "Where do I live?").await;
        assert!(!prompt.contains("lives in Ghent"), "{}: {prompt}", at.room);
    }
    assert!(stage.ask(&club(0).mentioning(), "Where do I live?").await.contains("lives in Ghent"));
    // In private `/memory` lists what is known of the person in Rooms they take part in.
    for at in [private(0), there()] {
        assert!(stage.answer(&at, "/memory").await.contains("lives in Ghent"));
    }
    assert_eq!(CLUB, club(0).room);
}

#[tokio::test]
async fn groups_do_not_read_which_accounts_were_linked() {
    let stage = stage().await;
    let crowd = group("abroad-crowd", "abroad-anna").mentioning();
    for (command, begin) in [("/unlink", "Done: here you are"), ("/privacy forget me", "Done. I")] {
        link(&stage).await;
        let said = stage.answer(&crowd, command).await;
        assert!(said.starts_with(begin) && !said.contains("Anna"), "{said}");
        assert!(!knows(&stage, &there()).await, "{command}");
    }
}

#[tokio::test]
async fn forgetting_one_side_ends_the_link_and_names_the_other() {
    let stage = stage().await;
    link(&stage).await;
    let said = stage.answer(&there(), "/privacy forget me").await;
    assert!(said.contains("You were linked with Anna (stage); that has ended."), "{said}");
    assert!(!knows(&stage, &there()).await);
    assert!(knows(&stage, &private(0)).await, "the other side is forgotten there");
    let here = stage.answer(&private(0), "/privacy forget me").await;
    assert!(here.starts_with("Done.") && !here.contains("linked"), "{here}");
    assert!(!knows(&stage, &private(0)).await);
}

#[tokio::test]
async fn a_link_outlives_the_program() {
    let store = Database::in_memory().await.unwrap();
    let stage = Stage::of(None, Some(platform()), Some(&store)).await;
    stage.say(&private(0), "My secret word is heliotrope").await;
    stage.until_learnt(SECRET).await;
    let first = code(&stage, &private(0)).await;
    assert!(stage.house.orchestrator.stop(Duration::from_secs(10)).await);
    drop(stage);

    // The code is good in the next run, in other direct chats of the same people.
    let again = |person: &'static str, room: &'static str| Spot { room, ..dm(person) };
    let here = again("5001", "5001-second-run");
    let stage = Stage::of(None, Some(platform()), Some(&store)).await;
    let abroad = again("abroad-anna", "abroad-2");
    let said = stage.answer(&abroad, &format!("/link {first}")).await;
    assert!(said.starts_with("This is a code of"), "{said}");
    let said = stage.answer(&abroad, "/link yes").await;
    assert!(said.starts_with("I have asked"), "{said}");
    stage.house.platform.until_shown("5001", 1).await;
    let elsewhere = stage.answer(&here, "/link yes").await;
    assert!(elsewhere.starts_with("I have not asked you"), "not in this room: {elsewhere}");
    let home = Spot { room: "5001", ..dm("5001") };
    for _ in 0..8 {
        // Numbers of messages begin again with each run; those of the first are duplicates.
        stage.say(&home, "/link yes").await;
    }
    assert!(stage.house.orchestrator.stop(Duration::from_secs(10)).await);
    drop(stage);

    let stage = Stage::of(None, Some(platform()), Some(&store)).await;
    assert!(knows(&stage, &again("abroad-anna", "abroad-3")).await);
    assert!(!knows(&stage, &again("abroad-bob", "abroad-4")).await);
}

#[tokio::test]
async fn an_export_says_which_accounts_are_linked_and_since_when() {
    let stage = stage().await;
    link(&stage).await;
    let agent = stage.house.agent;
    let (here, abroad) = (stage.house.entity(&private(0)), stage.house.entity(&there()));
    let [stored] = stage.house.store.links_of(agent, here).await.unwrap().try_into().unwrap();
    assert_eq!(stored.linked_id, abroad);
    let said = stage.answer(&private(0), "/privacy export").await;
    let records: Vec<Record> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let links: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Link(link) => Some(*link),
            _ => None,
        })
        .collect();
    assert_eq!(links, [stored]);
    assert!(stored.linked_at <= stage.house.clock.now() && stored.linked_at.0 > 0);
}
