//! A process that was paused past its leases resumes while another one does its work.

use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

use super::crowd::{Crowd, Node, spread};

/// On a slow machine a paused process may also miss a gateway heartbeat.
async fn crowd(rooms: usize) -> Crowd {
    let crowd = Crowd::of(rooms).await;
    crowd.discord.allow_violation("no heartbeat within its interval");
    crowd
}

/// Waits until no lease of a paused process is valid any more. Real time passes, because the
/// database's clock ends a lease.
async fn leases_to_end(crowd: &Crowd, paused: &Node) {
    let member = paused.member();
    let is_over = |lease: &Value| {
        lease["member"] != member.as_str()
            || (lease["left"]["secs"] == 0 && lease["left"]["nanos"] == 0)
    };
    let look = |status: &Value| status["leases"].as_array().unwrap().iter().all(is_over);
    crowd.wait_status("the paused process to lose its leases", look).await;
}

/// Waits until other processes have all work of a paused one.
async fn successors(crowd: &Crowd, paused: &Node) {
    leases_to_end(crowd, paused).await;
    crowd.wait_status("others to take over", |status| status["idle"] == json!([])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_paused_worker_wakes_up_and_says_nothing_twice() {
    let mut crowd = crowd(4).await;
    let _ingress = crowd.node("ingress").await;
    let workers = [crowd.node("worker").await, crowd.node("worker").await];
    crowd.discord.wait_connected(1).await;
    crowd.talk(3, Duration::from_millis(100)).await;
    workers[0].running.freeze();
    crowd.talk(3, Duration::from_millis(300)).await;
    successors(&crowd, &workers[0]).await;
    workers[0].running.thaw();
    crowd.talk(3, Duration::from_millis(300)).await;
    crowd.is_all_answered().await;
    crowd
        .wait_status("both at work again", |status| {
            spread(status).iter().filter(|n| **n == 32).count() == 2
        })
        .await;
    crowd.talk(1, Duration::ZERO).await;
    crowd.is_all_answered().await;
    crowd.is_accounted_for().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_paused_connector_wakes_up_and_sends_nothing_twice() {
    let mut crowd = crowd(4).await;
    let first = crowd.node("all").await;
    crowd.discord.wait_connected(1).await;
    crowd.talk(3, Duration::from_millis(100)).await;
    let second = crowd.node("all").await;
    crowd.talk(2, Duration::from_millis(100)).await;
    for node in [&first, &second, &first] {
        node.running.freeze();
        crowd.talk(3, Duration::from_millis(300)).await;
        successors(&crowd, node).await;
        node.running.thaw();
        crowd.talk(2, Duration::from_millis(300)).await;
        crowd.is_all_answered().await;
    }
    crowd.is_accounted_for().await;
}

/// Writes that were in flight when the process was paused must not be committed along with those it
/// makes afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_paused_process_without_a_successor_begins_anew() {
    let mut crowd = crowd(2).await;
    let alone = crowd.node("all").await;
    crowd.discord.wait_connected(1).await;
    crowd.talk(2, Duration::from_millis(100)).await;
    crowd.is_all_answered().await;
    let before = epochs(&crowd.status().await);
    alone.running.freeze();
    crowd.talk(2, Duration::from_millis(100)).await;
    leases_to_end(&crowd, &alone).await;
    alone.running.thaw();
    crowd.talk(2, Duration::from_millis(100)).await;
    crowd.is_all_answered().await;
    let after = crowd.wait_status("all at work again", |status| spread(status).contains(&64)).await;
    let after = epochs(&after);
    let unchanged: Vec<&String> = after
        .iter()
        .filter(|(part, epoch)| before.get(*part) == Some(epoch))
        .map(|(part, _)| part)
        .collect();
    assert!(unchanged.is_empty(), "leases as before: {unchanged:?}");
    crowd.is_accounted_for().await;
}

/// Epoch of each partition: how often it has changed its owner.
fn epochs(status: &Value) -> BTreeMap<String, u64> {
    let leases = status["leases"].as_array().unwrap().iter();
    leases
        .map(|l| {
            (l["lease"]["part"].as_str().unwrap().to_owned(), l["lease"]["epoch"].as_u64().unwrap())
        })
        .collect()
}
