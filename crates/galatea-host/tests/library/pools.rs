//! Instances of an agent: from one to eight and back, without a lost turn.

use galatea_host::AgentLimits;
use std::{sync::atomic::Ordering, time::Duration};

use crate::model::{Echo, builder, character};

const SOON: Duration = Duration::from_secs(60);
const PEOPLE: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_grow_to_eight_and_shrink_to_one_without_a_lost_turn() {
    let folder = tempfile::tempdir().unwrap();
    let model = Echo::gated();
    let galatea =
        builder(folder.path(), &model).setting("INSTANCES_WAIT_MS", "20").build().await.unwrap();
    let ada = galatea
        .add_agent(character("Ada"))
        .limits(AgentLimits::new().instances(1, 8))
        .await
        .unwrap();
    let instances = async || ada.health().await.unwrap().instances.unwrap();
    assert_eq!(instances().await, 1);
    let asked: Vec<_> = (0..PEOPLE)
        .map(|n| {
            let ada = ada.clone();
            tokio::spawn(
                async move { ada.ask(format!("person-{n}"), format!("question {n}")).await },
            )
        })
        .collect();
    // No model answers: turns wait, and instances come one after another.
    until(async || instances().await == 8).await;
    until(async || model.busy.load(Ordering::SeqCst) == 8).await;
    model.gate.close();
    for (n, asked) in asked.into_iter().enumerate() {
        assert_eq!(asked.await.unwrap().unwrap(), format!("You said question {n}"));
    }
    assert_eq!(model.most.load(Ordering::SeqCst), 8, "never more turns than instances");
    until(async || instances().await == 1).await;
    assert_eq!(ada.ask("late", "still there?").await.unwrap(), "You said still there?");
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn a_limit_of_turns_holds() {
    let folder = tempfile::tempdir().unwrap();
    let model = Echo::gated();
    let galatea = builder(folder.path(), &model).build().await.unwrap();
    let ada = galatea
        .add_agent(character("Ada"))
        .limits(AgentLimits::new().turns_at_once(2).answers_per_minute(500).cents_per_day(5))
        .await
        .unwrap();
    let asked: Vec<_> = (0..6)
        .map(|n| {
            let ada = ada.clone();
            tokio::spawn(async move { ada.ask(format!("p{n}"), "hello").await })
        })
        .collect();
    until(async || ada.health().await.unwrap().turns == 6).await;
    until(async || model.busy.load(Ordering::SeqCst) == 2).await;
    model.gate.close();
    for asked in asked {
        asked.await.unwrap().unwrap();
    }
    assert_eq!(model.most.load(Ordering::SeqCst), 2);
    galatea.shutdown(SOON).await;
}

async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(SOON, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect("it never came true");
}
