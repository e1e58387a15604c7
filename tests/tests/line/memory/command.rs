//! `/memory`: people see, correct and delete what is remembered of them, and nothing else.

use galatea_core::{Derived, MemoryId, MemoryKind, MemoryScope, store::MemoryQuery};

use super::stage::{Stage, club, private};

async fn facts(stage: &Stage) -> Vec<Derived> {
    let query = MemoryQuery::new(stage.house.agent, 100).kind(MemoryKind::Facts);
    let facts = stage.house.store.memories(&query).await.unwrap();
    let ids: Vec<MemoryId> = facts.iter().map(|fact| fact.id).collect();
    stage.house.store.derived(stage.house.agent, &ids).await.unwrap()
}

/// What the agent says to a command.
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
