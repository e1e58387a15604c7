//! Secrets never reach the tables through the texts of errors.

use galatea_core::{
    Memory, MemoryKind, StepOutcome,
    redact::Redactor,
    store::{InboxStore, OutboxState, OutboxStore, Settlement, TurnRecord},
};
use galatea_testkit::store_suite::fixtures::{Scene, settlement};

use crate::{Database, SqliteOptions};

/// A configured secret without any shape, and a token that another system echoed.
const KNOWN: &str = "correct-horse-battery";

fn echoed() -> String {
    format!("{}:AA{}", 987_654_321, "q7".repeat(17))
}

/// Every byte of the database's files.
fn bytes(folder: &std::path::Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap();
    files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[tokio::test]
async fn errors_are_stored_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let redactor = Redactor::default();
    redactor.learn(KNOWN);
    let options = SqliteOptions { redactor, ..SqliteOptions::default() };
    let store = Database::sqlite(folder.path().join("a.db"), options).await.unwrap();
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let message = scene.message("hello", 1);
    store.ingest(Scene::batch(std::slice::from_ref(&message))).await.unwrap();

    let words = format!("refused {KNOWN} at /bot{}/sendMessage", echoed());
    let mut record: TurnRecord = scene.turn(&[&message]);
    // As a plugin may write it, past `Verdict::step`.
    let verdict = &mut record.finished[0].verdict;
    verdict.step("model", StepOutcome::Failed, "x");
    verdict.steps.last_mut().unwrap().reason = words.clone().into();
    let mut result = Memory { entity_id: scene.itself(), ..scene.memory("", 2) };
    result.kind = MemoryKind::ActionResult;
    result.content.text.clone_from(&words);
    let said = Memory { entity_id: scene.itself(), ..scene.memory("the horse is correct", 3) };
    record.memories = vec![result.clone(), said.clone()];
    let delivery = record.deliveries[0].delivery.id;
    store.finish_turn(record).await.unwrap();
    for state in [OutboxState::Sending, OutboxState::Dead] {
        let error = Some(words.clone());
        let settled = Settlement { error, ..settlement(delivery, state) };
        store.settle(vec![settled]).await.unwrap();
    }

    let clean = "refused [secret] at /bot[secret]/sendMessage";
    let row = store.outbox_item(delivery).await.unwrap().unwrap();
    assert_eq!(row.error.as_deref(), Some(clean));
    let item = store.inbox_item(message.memory.id).await.unwrap().unwrap();
    assert_eq!(item.verdict.unwrap().steps.last().unwrap().reason, clean);
    let stored = store.store().memory(result.id).await.unwrap().unwrap();
    assert_eq!(stored.content.text, clean);
    let stored = store.store().memory(said.id).await.unwrap().unwrap();
    assert_eq!(stored.content.text, "the horse is correct", "words of people stay");
    store.close().await;
    let all = bytes(folder.path());
    for secret in [KNOWN.to_owned(), echoed()] {
        assert!(!all.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
    }
}
