//! Two agents meet in a Room without a platform.

use std::time::Duration;

use crate::model::{Echo, builder, character};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn two_agents_talk_to_each_other_until_the_hop_limit() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let bob = galatea.add_agent(character("Bob")).await.unwrap();
    let garden = galatea.meeting("garden");
    garden.join(&ada).unwrap();
    garden.join(&bob).unwrap();
    garden.say("alice", "roses").await.unwrap();
    // Both answer Alice, and each other, until a person has to speak.
    let spoke = |name: &str| garden.transcript().iter().filter(|(who, _)| who == name).count();
    tokio::time::timeout(SOON, async {
        while spoke("Ada") < 2 || spoke("Bob") < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("{:?}", garden.transcript()));
    let health = async || {
        let health = galatea.health().await;
        health.values().map(|health| health.turns).sum::<usize>()
    };
    while health().await > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let transcript = garden.transcript();
    // Each agent makes one answer to Alice and three to bots at most.
    assert!(transcript.len() <= 9, "{transcript:?}");
    assert_eq!(transcript[0], ("alice".to_owned(), "roses".to_owned()));
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn a_stopped_member_hears_what_it_missed() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let garden = galatea.meeting("garden");
    garden.join(&ada).unwrap();
    assert!(ada.stop(SOON).await.unwrap());
    garden.say("alice", "anybody?").await.unwrap();
    assert_eq!(garden.transcript().len(), 1);
    ada.start().await.unwrap();
    let heard = tokio::time::timeout(SOON, async {
        while garden.transcript().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    heard.await.unwrap();
    assert_eq!(garden.transcript()[1], ("Ada".to_owned(), "You said anybody?".to_owned()));
    galatea.shutdown(SOON).await;
}
