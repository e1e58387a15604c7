//! Profiles are made when a room is quiet, shown where their facts may be seen, and gone with each
//! of them.

use galatea_core::{
    Derived, MemoryId, MemoryKind, MemoryScope,
    store::{DerivedChange, MemoryQuery, Superseded},
};
use std::time::Duration;

use super::stage::{Stage, club, private};
use crate::platform::PATIENCE;

async fn profiles(stage: &Stage) -> Vec<Derived> {
    let query = MemoryQuery::new(stage.house.agent, 100).kind(MemoryKind::Profiles);
    let found = stage.house.store.memories(&query).await.unwrap();
    let ids: Vec<MemoryId> = found.iter().map(|profile| profile.id).collect();
    stage.house.store.derived(stage.house.agent, &ids).await.unwrap()
}

async fn until_made(stage: &Stage) -> Derived {
    let wait = async {
        loop {
            if let Some(profile) = profiles(stage).await.pop() {
                return profile;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("no profile was made")
}

#[tokio::test]
async fn a_profile_is_shown_in_its_scope_and_goes_with_each_fact() {
    let stage = Stage::build(None).await;
    let things = ["boat", "cat", "house", "garden", "secret word"];
    for thing in &things[..4] {
        stage.say(&private(0), &format!("My {thing} is green")).await;
        stage.until_learnt(&format!("the {thing} is green")).await;
    }
    assert_eq!(profiles(&stage).await, [], "four facts are few");
    stage.say(&private(0), "My secret word is green").await;
    let made = until_made(&stage).await;
    assert_eq!((made.scope, made.sources.len()), (MemoryScope::Private, 5));
    for thing in things {
        assert!(made.memory.content.text.contains(thing), "{made:?}");
    }
    let prompt = stage.ask(&private(0), "Who am I?").await;
    assert!(prompt.contains("About Anna it is known: “Known in short: "), "{prompt}");
    for at in [private(1), private(2), club(0).mentioning()] {
        assert!(!stage.ask(&at, "Who am I?").await.contains("Known in short"), "{}", at.room);
    }
    let listed = stage.answer(&private(0), "/memory").await;
    assert!(listed.contains("\nIn short: Known in short: ") && listed.contains("1. Anna: the"));
    assert!(!stage.answer(&club(0), "/memory").await.contains("In short"));

    // One fact less: the profile said it, so it goes at once.
    assert!(stage.answer(&private(0), "/memory forget 1").await.starts_with("Deleted"));
    assert_eq!(profiles(&stage).await, []);
    assert!(!stage.ask(&private(0), "Who am I?").await.contains("Known in short"));
}

#[tokio::test]
async fn the_list_shows_no_profile_with_a_fact_that_was_replaced() {
    let stage = Stage::build(None).await;
    for thing in ["boat", "cat", "house", "garden", "secret word"] {
        stage.say(&private(0), &format!("My {thing} is green")).await;
        stage.until_learnt(&format!("the {thing} is green")).await;
    }
    let made = until_made(&stage).await;
    assert!(stage.answer(&private(0), "/memory").await.contains("\nIn short: "));
    let (agent, at) = (stage.house.agent, stage.house.clock.now());
    let superseded = vec![Superseded { id: made.sources[0], at, by: None }];
    let change = DerivedChange { superseded, ..DerivedChange::default() };
    stage.house.store.change_derived(agent, &change).await.unwrap();
    let listed = stage.answer(&private(0), "/memory").await;
    assert!(listed.contains("4. Anna: the") && !listed.contains("In short"), "{listed}");
}
