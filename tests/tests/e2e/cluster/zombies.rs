//! Zombies: a process that was paused past its lease wakes up while another one does its work.

use std::time::Duration;

use super::crowd::{Crowd, spread};

/// Longer than a lease.
const PAUSED: Duration = Duration::from_secs(9);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_paused_worker_wakes_up_and_says_nothing_twice() {
    let mut crowd = Crowd::of(4).await;
    let _ingress = crowd.node("ingress").await;
    let workers = [crowd.node("worker").await, crowd.node("worker").await];
    crowd.discord.wait_connected(1).await;
    crowd.talk(3, Duration::from_millis(100)).await;
    workers[0].running.freeze();
    crowd.talk(3, Duration::from_millis(300)).await;
    tokio::time::sleep(PAUSED).await;
    workers[0].running.thaw();
    crowd.talk(3, Duration::from_millis(300)).await;
    crowd.is_all_answered().await;
    crowd.wait_status("both at work again", |status| spread(status).iter().filter(|n| **n == 32).count() == 2).await;
    crowd.talk(1, Duration::ZERO).await;
    crowd.is_all_answered().await;
    crowd.is_accounted_for().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_paused_connector_wakes_up_and_sends_nothing_twice() {
    let mut crowd = Crowd::of(4).await;
    let first = crowd.node("all").await;
    crowd.discord.wait_connected(1).await;
    crowd.talk(3, Duration::from_millis(100)).await;
    let second = crowd.node("all").await;
    crowd.talk(2, Duration::from_millis(100)).await;
    for node in [&first, &second, &first] {
        node.running.freeze();
        crowd.talk(3, Duration::from_millis(300)).await;
        tokio::time::sleep(PAUSED).await;
        node.running.thaw();
        crowd.talk(2, Duration::from_millis(300)).await;
        crowd.is_all_answered().await;
    }
    crowd.is_accounted_for().await;
}
