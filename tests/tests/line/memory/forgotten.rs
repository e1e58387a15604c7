//! A person who is forgotten leaves no trace in facts and summaries; what others said stays, and is
//! summarised again.

use galatea_core::{Memory, MemoryKind, store::MemoryQuery};
use std::time::Duration;

use super::stage::{Stage, club, private};
use crate::platform::PATIENCE;

async fn of_kind(stage: &Stage, kind: MemoryKind) -> Vec<Memory> {
    let query = MemoryQuery::new(stage.house.agent, 1_000).kind(kind);
    stage.house.store.memories(&query).await.unwrap()
}

/// Thirty messages of both Annas, with something remarkable in the first.
async fn chat(stage: &Stage, remark: &str) {
    stage.say(&club(0).mentioning(), remark).await;
    for n in 0..29 {
        let at = club(n % 2);
        let at = if n % 4 == 3 { at.mentioning() } else { at };
        stage.say(&at, &format!("well, we shall see, {n}")).await;
    }
}

/// Waits until a summary holds a word.
async fn until_summarised(stage: &Stage, word: &str) {
    let wait = async {
        loop {
            let all = of_kind(stage, MemoryKind::Summaries).await;
            if all.iter().any(|summary| summary.content.text.contains(word)) {
                return;
            }
            // Another turn, whose evaluators look again.
            stage.say(&club(1).mentioning(), "go on").await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "never summarised: {word}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_person_leaves_facts_and_summaries_and_the_rest_is_summarised_again() {
    let stage = Stage::build(None).await;
    chat(&stage, "Decided: the party is at the lighthouse").await;
    until_summarised(&stage, "lighthouse").await;
    stage.say(&club(2).mentioning(), "Decided: Bob orders the timber").await;
    stage.say(&club(2).mentioning(), "My boat is leaking").await;
    stage.say(&club(0).mentioning(), "I heard that Bob sings").await;
    chat(&stage, "Decided: the fee is 12 euros").await;
    until_summarised(&stage, "12 euros").await;
    let before = of_kind(&stage, MemoryKind::Summaries).await;
    assert!(before.iter().any(|summary| summary.content.text.contains("timber")));
    assert!(
        of_kind(&stage, MemoryKind::Facts).await.iter().any(|f| f.content.text.contains("sings"))
    );

    stage.say(&club(2), "/privacy forget me").await;
    stage.house.quiet().await;
    for kind in [MemoryKind::Summaries, MemoryKind::Facts, MemoryKind::Messages] {
        for memory in of_kind(&stage, kind).await {
            let text = &memory.content.text;
            let of_bob = ["timber", "boat", "sings"].iter().any(|word| text.contains(word));
            // Another person's words about Bob are that person's message.
            assert!(!of_bob || text == "I heard that Bob sings", "{kind:?}: {text}");
        }
    }
    let left = of_kind(&stage, MemoryKind::Summaries).await;
    assert!(left.iter().any(|summary| summary.content.text.contains("lighthouse")), "it is older");
    until_summarised(&stage, "12 euros").await;
    let again = of_kind(&stage, MemoryKind::Summaries).await;
    assert!(again.iter().all(|summary| !summary.content.text.contains("timber")));
}

/// The people of a room are kept in memory, and a person without a name is not listed.
#[tokio::test]
async fn the_next_prompt_does_not_name_a_forgotten_person() {
    let stage = Stage::build(None).await;
    stage.say(&club(2), "Hello").await;
    let before = stage.ask(&club(0).mentioning(), "who is here?").await;
    assert!(before.contains("Bob"), "{before}");
    assert!(stage.answer(&private(2), "/privacy forget me").await.starts_with("Done."));
    let after = stage.ask(&club(0).mentioning(), "who is here now?").await;
    assert!(!after.contains("Bob") && !after.contains("silent lately"), "{after}");
}
