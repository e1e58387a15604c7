//! No process is left: after restarts, after a crash, and after this program is killed.
#![cfg(target_os = "linux")]

use crate::stage::{FIXTURE, Stage, processes, until};
use galatea_mcp::probe;
use serde_json::json;
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// A server behind a wrapper like `npx`, which ends by no polite means, and leaves strays. `mark` is in
/// the environment of every process of it.
fn wrapped(stage: &Stage, mark: &str) -> galatea_mcp::config::ServerConfig {
    stage.entry(&json!({ "command": FIXTURE, "args": ["wrap", "serve"], "env": { "MARK": mark } }))
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_restarts_leave_no_process() {
    let stage = Stage::new();
    let mark = format!("restarts-{}", std::process::id());
    let config = wrapped(&stage, &mark);
    let began = Instant::now();
    for _ in 0..10 {
        let probes = (0..5).map(|_| probe(&config, &stage.around));
        for probed in futures::future::join_all(probes).await {
            assert_eq!(probed.unwrap().listing.tools.len(), 14);
        }
    }
    println!("50 restarts took {:?}", began.elapsed());
    assert_eq!(processes(&mark), [0_u32; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_kills_leave_no_process() {
    let mark = format!("kills-{}", std::process::id());
    for round in 0..5 {
        let stages: Vec<Stage> = (0..4).map(|_| Stage::new()).collect();
        let mut owners = Vec::new();
        for stage in &stages {
            let mut owner = Command::new(FIXTURE)
                .arg("owner")
                .arg(stage.folder.path())
                .args([FIXTURE, "wrap", "serve", &mark])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line.trim(), "ready");
            owners.push(owner);
        }
        assert!(processes(&mark).len() >= 12, "keepers, wrappers and servers run");
        for owner in &mut owners {
            owner.kill().unwrap();
            owner.wait().unwrap();
        }
        until(|| processes(&mark).is_empty()).await;
        println!("round {round}: nothing is left");
    }
    // Strays have no mark of their own.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let strays: Vec<u32> = processes("sleep\x00600");
    let ours = strays.iter().filter(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/environ"))
            .unwrap_or_default()
            .contains("mcp/homes/fixture")
    });
    assert_eq!(ours.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_keeper_takes_its_server_along() {
    let stage = Stage::new();
    let mark = format!("keeper-{}", std::process::id());
    let config =
        stage.entry(&json!({ "command": FIXTURE, "args": ["serve"], "env": { "MARK": mark } }));
    let server = stage.start(&config).await;
    let keeper = processes(&mark)
        .into_iter()
        .find(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .unwrap_or_default()
                .contains("keep")
        })
        .unwrap();
    Command::new("kill").args(["-9", &keeper.to_string()]).status().unwrap();
    until(|| !processes(&mark).contains(&keeper)).await;
    until(|| !server.is_ready()).await;
    crate::stage::ready_again(&server).await;
    assert_eq!(processes(&mark).len(), 2, "one keeper and one server");
    server.stop().await;
    assert_eq!(processes(&mark), [0_u32; 0]);
}
