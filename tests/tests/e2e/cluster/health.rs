//! Cluster health: each process reports work without a live owner, and processes with a different
//! configuration.

use galatea_testkit::process::Home;
use serde_json::{Value, json};

use super::crowd::{Crowd, Node};

/// Reasons why a process reports not ready.
fn reasons(status: &Value) -> Vec<&str> {
    status["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|reason| reason["message"].as_str())
        .collect()
}

/// Waits until the process reports this reason, and returns its status.
async fn says(crowd: &Crowd, node: &Node, what: &str) -> Value {
    let begun = std::time::Instant::now();
    loop {
        let status = node.status(crowd).await;
        if reasons(&status).iter().any(|reason| reason.contains(what)) {
            return status;
        }
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(60),
            "it never said {what:?}: {status:#}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_process_reports_work_that_no_process_does() {
    let crowd = Crowd::of(1).await;
    let api = crowd.node("api").await;
    let status = says(&crowd, &api, "no live process answers for").await;
    assert!(
        status["ready"] == false
            && reasons(&status).iter().any(|r| r.contains("no live process connects telegram")),
        "{status:#}"
    );
    let reported = crowd.program(&Home::new()).args(["cluster", "status"]).run().await;
    assert!(
        reported.code == Some(7) && reported.stdout.contains("no live process answers for"),
        "no process has ever answered: {}{}",
        reported.stdout,
        reported.stderr
    );

    let (mut ingress, mut worker) = (crowd.node("ingress").await, crowd.node("worker").await);
    crowd.discord.wait_connected(1).await;
    crowd.wait_status("every agent at work", |status| status["idle"] == json!([])).await;
    assert_eq!(api.status(&crowd).await["ready"], true);
    ingress.running.kill_9().await;
    let status = says(&crowd, &worker, "no live process connects discord").await;
    assert!(
        status["ready"] == false && status["reasons"][0]["code"] == "GAL-CLUSTER-IDLE",
        "{status:#}"
    );
    says(&crowd, &api, "no live process connects telegram").await;
    worker.running.kill_9().await;
    says(&crowd, &api, "no live process answers for").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_with_other_settings_is_named() {
    let crowd = Crowd::of(1).await;
    let one = crowd.node("all").await;
    let home = Home::new();
    let other = crowd
        .program(&home)
        .env("BUSY_POLICY", "collect")
        .env("SERVER_PORT", "0")
        .args(["start"])
        .spawn();
    other.wait_for_line("ready in").await;
    one.running.wait_for_line("GAL-CLUSTER-UNLIKE").await;
    other.wait_for_line("GAL-CLUSTER-UNLIKE").await;
    let status = crowd.status().await;
    let notes: Vec<&str> =
        status["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        notes.len() == 1 && notes[0].ends_with(": BUSY_POLICY"),
        "only that differs: {notes:?}"
    );
    let reported = one.status(&crowd).await;
    assert!(
        reported["cluster"]["notes"][0]["message"].as_str().unwrap().ends_with(": BUSY_POLICY"),
        "{reported:#}"
    );
    assert_eq!(
        (reported["ready"].as_bool(), reported["cluster"]["alive"].as_u64()),
        (Some(true), Some(2)),
        "{reported:#}"
    );
}

/// At most seven per process, whatever its load, as docs/operating.md states.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_processes_need_twenty_one_connections_at_most() {
    let mut crowd = Crowd::of(8).await;
    let _nodes = [crowd.node("all").await, crowd.node("ingress").await, crowd.node("worker").await];
    crowd.discord.wait_connected(1).await;
    let mut most = 0;
    for _ in 0..10 {
        crowd.ask();
        most = most.max(crowd.database.sessions().await);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    crowd.is_all_answered().await;
    assert!((3..=21).contains(&most), "{most}");
}
