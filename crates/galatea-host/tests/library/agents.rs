//! Adding, finding, starting, stopping, changing, resetting and removing agents.

use galatea_core::{ErrorKind, Event, store::MemoryQuery};
use galatea_host::{AgentSource, Galatea};
use galatea_runtime::AgentState;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::model::{Echo, builder, character};

const SOON: Duration = Duration::from_secs(20);

async fn galatea(folder: &std::path::Path) -> Galatea {
    builder(folder, &Echo::free()).build().await.unwrap()
}

#[tokio::test]
async fn agents_come_from_files_json_and_values_and_are_found() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ada.json"), r#"{"name": "Ada", "bio": "b"}"#).unwrap();
    let galatea = galatea(folder.path()).await;
    let ada = galatea.add_agent("ada.json").await.unwrap();
    let bob = galatea.add_agent(character("Bob")).create().await.unwrap();
    let json = serde_json::json!({"name": "Cleo", "bio": "b"});
    galatea.add_agent(json).await.unwrap();
    galatea.add_agent(AgentSource::json(r#"{"name": "Dan", "bio": "b"}"#)).await.unwrap();

    let names: Vec<_> = galatea.agents().into_iter().map(|info| info.name).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(galatea.agent_by_name(" ada").unwrap().id(), ada.id());
    assert_eq!(galatea.agent(bob.id()).unwrap().state().unwrap(), AgentState::Created);
    assert_eq!(galatea.agents_in(&[AgentState::Created]).len(), 1);
    galatea.start().unwrap();
    assert!(galatea.agents_in(&[AgentState::Created]).is_empty());
    assert!(galatea.agent_by_name("nobody").is_none());
    assert_eq!(
        galatea.agent(galatea_core::AgentId::fresh()).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let twice = galatea.add_agent(character("Bob")).await.unwrap_err();
    assert_eq!(twice.code(), Some("GAL-CHAR-SAME"));
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn an_agent_stops_starts_again_and_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = galatea(folder.path()).await;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    let listener = galatea.on(move |event| match event {
        Event::AgentStarted { .. } => log.lock().unwrap().push("started".to_owned()),
        Event::AgentStopped { .. } => log.lock().unwrap().push("stopped".to_owned()),
        _ => {}
    });
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    assert_eq!(ada.ask("alice", "hello").await.unwrap(), "You said hello");
    assert!(ada.stop(SOON).await.unwrap());
    assert_eq!(ada.state().unwrap(), AgentState::Stopped);
    ada.start().await.unwrap();
    assert_eq!(ada.ask("alice", "again").await.unwrap(), "You said again");
    while seen.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*seen.lock().unwrap(), ["started", "stopped", "started"]);
    listener.off();
    ada.remove().await.unwrap();
    assert_eq!(ada.ask("alice", "hm").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(galatea.agents().is_empty());
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn a_character_is_replaced_while_the_agent_runs() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = galatea(folder.path()).await;
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let mut changed = character("Ada");
    changed.system = Some("Be brief.".to_owned());
    ada.update_to(changed).await.unwrap();
    let other = ada.update_to(character("Bob")).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Conflict);
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn there_are_no_more_agents_than_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).max_agents(2).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    galatea.add_agent(character("Bob")).await.unwrap();
    let third = galatea.add_agent(character("Cleo")).await.unwrap_err();
    assert_eq!((third.kind(), third.code()), (ErrorKind::Exhausted, Some("GAL-AGENT-LIMIT")));
    ada.remove().await.unwrap();
    galatea.add_agent(character("Cleo")).await.unwrap();
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn a_reset_clears_what_the_agent_remembers_and_nothing_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = galatea(folder.path()).await;
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let bob = galatea.add_agent(character("Bob")).await.unwrap();
    ada.ask("alice", "remember me").await.unwrap();
    bob.ask("alice", "remember me").await.unwrap();
    ada.reset().await.unwrap();
    let store = galatea.database().store();
    let count = async |id| store.memories(&MemoryQuery::new(id, 10)).await.unwrap().len();
    assert_eq!((count(ada.id()).await, count(bob.id()).await), (0, 2));
    assert_eq!(ada.ask("alice", "who am I?").await.unwrap(), "You said who am I?");
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn the_data_folder_is_free_after_a_shutdown_and_keeps_what_was_said() {
    let folder = tempfile::tempdir().unwrap();
    for round in 1..=2_usize {
        let database = format!("sqlite:{}", folder.path().join("deep/agents.db").display());
        let galatea =
            builder(folder.path(), &Echo::free()).database(&database).build().await.unwrap();
        let ada = galatea.add_agent(character("Ada")).await.unwrap();
        ada.ask("alice", "hello").await.unwrap();
        let store = galatea.database().store();
        let memories = store.memories(&MemoryQuery::new(ada.id(), 10)).await.unwrap();
        assert_eq!(memories.len(), 2 * round);
        galatea.shutdown(SOON).await;
        // The handle outlives the shutdown; the folder does not wait for it.
        drop(ada);
    }
    assert!(folder.path().join("deep/agents.db").exists());
}
