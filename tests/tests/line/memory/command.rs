//! `/memory`: people see, correct and delete what is remembered of them, and nothing else.

use galatea_core::{
    Content, Derived, Memory, MemoryId, MemoryKind, MemoryScope,
    fact::{self, Origin},
    store::{DerivedChange, MemoryQuery, Superseded},
};

use super::stage::{Stage, club, private};

async fn facts(stage: &Stage) -> Vec<Derived> {
    let query = MemoryQuery::new(stage.house.agent, 100).kind(MemoryKind::Facts);
    let facts = stage.house.store.memories(&query).await.unwrap();
    let ids: Vec<MemoryId> = facts.iter().map(|fact| fact.id).collect();
    stage.house.store.derived(stage.house.agent, &ids).await.unwrap()
}

/// The agent's answer to a command.
async fn answer(stage: &Stage, at: &crate::house::Spot, command: &str) -> String {
    let before = stage.house.platform.texts(at.room).len();
    stage.say(at, command).await;
    stage.house.quiet().await;
    stage.house.platform.until_shown(at.room, before + 1).await[before..].join("\n")
}

#[tokio::test]
async fn people_see_correct_and_delete_what_is_remembered_of_them() {
    let stage = Stage::build(None).await;
    stage.say(&club(0).mentioning(), "I live in Ghent").await;
    stage.until_learnt("lives in Ghent").await;
    stage.say(&club(0).mentioning(), "I live in Lyon").await;
    stage.until_learnt("lives in Lyon").await;
    stage.say(&club(2).mentioning(), "My boat is leaking").await;
    stage.until_learnt("the boat is leaking").await;
    stage.say(&private(0), "My secret word is heliotrope").await;
    stage.until_learnt("heliotrope").await;

    // In the club: what may be shown there. In private: everything of oneself.
    let here = answer(&stage, &club(0), "/memory").await;
    assert!(
        here.contains("1. Anna: lives in Lyon (you said so on ")
            && here.contains("\"I live in Lyon\""),
        "{here}"
    );
    assert!(
        !here.contains("heliotrope") && !here.contains("boat") && !here.contains("Ghent"),
        "{here}"
    );
    let alone = answer(&stage, &private(0), "/memory").await;
    assert!(
        alone.contains("1. Anna: the secret word is heliotrope")
            && alone.contains("2. Anna: lives in Lyon"),
        "{alone}"
    );
    let bob = answer(&stage, &private(2), "/memory").await;
    assert!(bob.contains("boat") && !bob.contains("Lyon") && !bob.contains("heliotrope"), "{bob}");

    // A number means the list that was shown in that room.
    assert!(answer(&stage, &private(1), "/memory forget 1").await.contains("Send /memory first"));
    let corrected =
        answer(&stage, &private(0), "/memory correct 1 my secret word is marzipan").await;
    assert!(corrected.starts_with("Corrected: my secret word is marzipan"), "{corrected}");
    let stored = facts(&stage).await;
    let by_text =
        |text: &str| stored.iter().find(|fact| fact.memory.content.text.contains(text)).unwrap();
    assert_eq!(by_text("heliotrope").superseded_by, Some(by_text("marzipan").memory.id));
    assert_eq!(
        by_text("marzipan").scope,
        MemoryScope::Private,
        "what is said in private stays there"
    );

    assert!(!corrected.contains("private"), "no other room knew it: {corrected}");

    // A correction in private is not shown in the club, and the answer says so.
    let hint = "I no longer use the old note in \"";
    assert!(answer(&stage, &private(2), "/memory").await.contains("1. Bob: the boat is leaking"));
    let corrected = answer(&stage, &private(2), "/memory correct 1 my boat is sold").await;
    assert!(corrected.contains(hint), "{corrected}");
    assert_eq!(
        facts(&stage).await.iter().find(|f| f.memory.content.text.contains("sold")).unwrap().scope,
        MemoryScope::Private
    );
    let club_knows = answer(&stage, &club(2), "/memory").await;
    assert!(
        club_knows.starts_with("I remember nothing of you that may be shown here"),
        "{club_knows}"
    );

    // Deleting Lyon does not bring Ghent back.
    let deleted = answer(&stage, &club(0), "/memory forget 1").await;
    assert!(deleted.starts_with("Deleted: Anna: lives in Lyon"), "{deleted}");
    let left: Vec<String> =
        facts(&stage).await.into_iter().map(|fact| fact.memory.content.text).collect();
    assert!(!left.iter().any(|text| text.contains("Ghent") || text.contains("Lyon")), "{left:?}");
    assert!(answer(&stage, &club(0), "/memory forget 1").await.contains("gone already"));
    assert!(
        answer(&stage, &club(0), "/memory")
            .await
            .starts_with("I remember nothing of you that may be shown here")
    );
}

/// A merged fact names the messages that its facts stand on, and is deleted with them.
#[tokio::test]
async fn a_merged_fact_is_shown_and_deleted_as_a_whole() {
    let stage = Stage::build(None).await;
    stage.say(&club(0).mentioning(), "I live in Ghent").await;
    stage.until_learnt("lives in Ghent").await;
    stage.say(&club(0).mentioning(), "My boat is leaking").await;
    stage.until_learnt("the boat is leaking").await;
    let parts = facts(&stage).await;
    assert_eq!(parts.len(), 2, "{parts:?}");
    let mut memory = Memory {
        id: MemoryId::fresh(),
        content: Content::text("Anna lives in Ghent and has a boat that is leaking"),
        ..parts[1].memory.clone()
    };
    let (origin, subject) = (Origin::of(&memory), memory.entity_id);
    let all: Vec<&Derived> = parts.iter().collect();
    fact::note_merged(&mut memory.metadata, &origin, subject, &all);
    let ids = parts.iter().map(|part| part.memory.id);
    let sources = parts.iter().flat_map(|part| part.sources.clone()).chain(ids.clone()).collect();
    let (by, at) = (Some(memory.id), memory.created_at);
    let change = DerivedChange {
        new: vec![Derived::new(memory, parts[0].scope, sources)],
        superseded: ids.map(|id| Superseded { id, at, by }).collect(),
        ..DerivedChange::default()
    };
    stage.house.store.change_derived(stage.house.agent, &change).await.unwrap();
    let here = answer(&stage, &club(0), "/memory").await;
    assert!(here.contains("1. Anna lives in Ghent and has a boat that is leaking (you"), "{here}");
    assert!(here.contains(", 2 messages: \"") && !here.contains("2. Anna"), "{here}");
    assert!(here.contains("\"I live in Ghent\"") || here.contains("\"My boat is"), "{here}");
    let deleted = answer(&stage, &club(0), "/memory forget 1").await;
    assert!(deleted.starts_with("Deleted: Anna lives in Ghent and has a boat"), "{deleted}");
    assert!(facts(&stage).await.is_empty(), "no part holds again");
}

/// Anna states a fact about Bob before he has written. After his first message the fact is about him.
#[tokio::test]
async fn people_see_and_delete_what_was_said_of_them_before_they_wrote() {
    let stage = Stage::build(None).await;
    stage.say(&club(0).mentioning(), "I heard that Bob sings").await;
    stage.until_learnt("Bob sings").await;
    for at in [club(2), private(2)] {
        let listed = answer(&stage, &at, "/memory").await;
        assert!(listed.contains("1. Bob sings (Anna said so on "), "{listed}");
    }
    assert!(!answer(&stage, &club(1), "/memory").await.contains("sings"), "another person");
    let done = answer(&stage, &private(2), "/privacy forget me").await;
    assert!(done.starts_with("Done."), "{done}");
    assert!(facts(&stage).await.is_empty(), "{:?}", facts(&stage).await);
}
