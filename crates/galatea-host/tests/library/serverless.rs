//! Agents that leave nothing.

use galatea_core::store::MemoryQuery;
use galatea_host::{AgentSource, Galatea, Platforms};
use std::time::Duration;

use crate::model::{Echo, builder, character};

#[tokio::test]
async fn one_call_in_one_answer_out_and_nothing_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let ada = AgentSource::json(r#"{"name": "Ada", "bio": "b"}"#);
    let answer = Galatea::builder()
        .folder(folder.path())
        .plugin(Echo::free().plugin())
        .answer(ada, "alice", "hello")
        .await
        .unwrap();
    assert_eq!(answer, "You said hello");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn ephemeral_agents_are_not_listed_and_are_erased() {
    let folder = tempfile::tempdir().unwrap();
    let galatea =
        builder(folder.path(), &Echo::free()).platforms(Platforms::None).build().await.unwrap();
    let add = || galatea.add_agent(character("Ada")).ephemeral().start();
    let (first, second) = (add().await.unwrap(), add().await.unwrap());
    assert_ne!(first.id(), second.id());
    assert!(galatea.agents().is_empty());
    first.ask("alice", "hello").await.unwrap();
    second.ask("alice", "hello").await.unwrap();
    first.remove().await.unwrap();
    let store = galatea.database().store();
    let count = async |id| store.memories(&MemoryQuery::new(id, 10)).await.unwrap().len();
    assert_eq!((count(first.id()).await, count(second.id()).await), (0, 2));
    let stored = store.agents().await.unwrap();
    assert_eq!(stored.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [second.id()]);
    galatea.shutdown(Duration::from_secs(20)).await;
}
