//! Processes join and leave under load, planned and unplanned.

use std::time::Duration;

use super::crowd::{Crowd, spread};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn from_one_to_five_to_two_under_load() {
    let mut crowd = Crowd::of(5).await;
    let mut nodes = vec![crowd.node("all").await];
    crowd.discord.wait_connected(1).await;
    crowd.talk(3, Duration::from_millis(200)).await;
    nodes.extend((0..4).map(|_| crowd.begin("all")));
    crowd.talk(10, Duration::from_millis(400)).await;
    crowd
        .wait_status("five members with a fair share each", |status| {
            let mut spread = spread(status);
            spread.sort_unstable();
            spread.len() == 5 && spread.iter().sum::<usize>() == 64 && spread[0] >= 12
        })
        .await;
    crowd.talk(3, Duration::from_millis(200)).await;
    for mut node in nodes.drain(..3) {
        node.running.terminate();
        crowd.talk(2, Duration::from_millis(200)).await;
        let ended = node.running.finish().await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    crowd.wait_status("two members with half each", |status| spread(status) == [32, 32]).await;
    crowd.talk(2, Duration::from_millis(200)).await;
    crowd.is_all_answered().await;
    crowd.is_accounted_for().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_workers_and_connectors_are_replaced() {
    let mut crowd = Crowd::of(4).await;
    let (mut ingress, mut workers) =
        (vec![crowd.node("ingress").await, crowd.node("ingress").await], Vec::new());
    for _ in 0..3 {
        workers.push(crowd.node("worker").await);
    }
    crowd.discord.wait_connected(1).await;
    crowd
        .wait_status("every agent at work", |status| {
            status["idle"] == serde_json::json!([]) && spread(status).iter().sum::<usize>() == 64
        })
        .await;
    crowd.talk(3, Duration::from_millis(200)).await;
    let mut silences = Vec::new();
    for worker in &mut workers[..2] {
        worker.running.kill_9().await;
        silences.extend(crowd.silence().await);
        crowd.talk(2, Duration::from_millis(300)).await;
    }
    for n in 0..2 {
        ingress[n].running.kill_9().await;
        silences.extend(crowd.silence().await);
        ingress.push(crowd.node("ingress").await);
        crowd.talk(2, Duration::from_millis(300)).await;
    }
    crowd.is_all_answered().await;
    silences.sort_unstable();
    let at = |percent: usize| silences[(silences.len() * percent).div_ceil(100) - 1];
    eprintln!(
        "takeover, from kill -9 to the next answer in a room: p50 {:?}, p99 {:?} of {}",
        at(50),
        at(99),
        silences.len()
    );
    crowd.is_accounted_for().await;
}
