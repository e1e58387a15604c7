//! Probes of agents and of their keys.

use galatea_host::{Galatea, Platforms};
use galatea_runtime::AgentState;
use galatea_testkit::models::OpenAiServer;
use std::time::Duration;

use crate::model::{Echo, builder, character};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_running_agent_is_responsive_and_a_stopped_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let bob = galatea.add_agent(character("Bob")).await.unwrap();
    bob.stop(SOON).await.unwrap();
    let health = galatea.health().await;
    let (up, down) = (&health[&ada.id()], &health[&bob.id()]);
    assert!(up.alive && up.responsive, "{up:?}");
    assert!(!down.alive && !down.responsive && down.reason.is_some(), "{down:?}");
    assert_eq!(down.state, AgentState::Stopped);
    let status = galatea.status();
    assert_eq!((status.total_agents, status.active_agents), (2, 1));
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn keys_are_checked_with_the_provider() {
    let server = OpenAiServer::start("sk-right").await.unwrap();
    for (key, valid) in [("sk-right", true), ("sk-wrong", false)] {
        let folder = tempfile::tempdir().unwrap();
        let galatea = Galatea::builder()
            .folder(folder.path())
            .database("sqlite::memory:")
            .platforms(Platforms::None)
            .setting("OPENAI_API_KEY", key)
            .setting("OPENAI_BASE_URL", &server.base_url())
            .build()
            .await
            .unwrap();
        let ada = galatea.add_agent(character("Ada")).create().await.unwrap();
        let before = server.count();
        let check = galatea.validate_api_keys().await.remove(&ada.id()).unwrap();
        assert_eq!(check.valid, valid, "{check:?}");
        assert!(server.count() > before, "the provider was asked");
        assert!(!format!("{check:?}").contains(key), "no key is shown");
        galatea.shutdown(SOON).await;
    }
    server.take_violations();
}
