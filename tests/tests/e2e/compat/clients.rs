//! elizaOS's own clients from npm against the running program. They are installed into a temporary folder;
//! where they can't be had, the tests say so and end.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

use super::{ADA, House, KEY};

/// What is installed.
const PACKAGES: [&str; 2] = ["socket.io-client@4.8.4", "@elizaos/api-client@1.7.2"];

/// Installs the clients. False where there is no npm, or it cannot reach its registry.
async fn install(folder: &Path) -> bool {
    std::fs::write(folder.join("package.json"), r#"{"type":"module"}"#).unwrap();
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=peer"])
        .args(["--legacy-peer-deps"])
        .args(PACKAGES)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status();
    match tokio::time::timeout(Duration::from_secs(120), npm).await {
        Ok(Ok(status)) if status.success() => true,
        _ => {
            eprintln!("skipped: npm cannot install {PACKAGES:?} here");
            false
        }
    }
}

/// Runs a script, and returns what it wrote.
async fn node(folder: &Path, script: &str, house: &House, agent: &str) -> String {
    std::fs::write(folder.join("script.mjs"), script).unwrap();
    let output = Command::new("node")
        .arg("script.mjs")
        .current_dir(folder)
        .env("URL", &house.url)
        .env("KEY", KEY)
        .env("AGENT", agent)
        .env("ADA", ADA)
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(90), output).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{errors}\n{}", house.running.output());
    text
}

#[tokio::test]
async fn elizaos_clients_talk_to_a_persona() {
    let folder = tempfile::tempdir().unwrap();
    if !install(folder.path()).await {
        return;
    }
    let house = House::start().await;
    let agent = house.agent().await;
    let text = node(folder.path(), include_str!("clients/sockets.mjs"), &house, &agent).await;
    assert!(text.ends_with("sockets: all held\n"), "{text}");
    let text = node(folder.path(), include_str!("clients/client.mjs"), &house, &agent).await;
    assert!(text.ends_with("api-client: all held\n"), "{text}");
    let text = node(folder.path(), include_str!("clients/live.mjs"), &house, &agent).await;
    assert!(text.ends_with("live: all held\n"), "{text}");
}

#[tokio::test]
async fn open_sockets_and_streams_do_not_keep_a_process_that_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    if !install(folder.path()).await {
        return;
    }
    let mut house = House::start().await;
    std::fs::write(folder.path().join("script.mjs"), include_str!("clients/hold.mjs")).unwrap();
    let mut holding = Command::new("node")
        .arg("script.mjs")
        .current_dir(folder.path())
        .env("URL", &house.url)
        .env("KEY", KEY)
        .env("ADA", ADA)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holding.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await.unwrap();
    assert_eq!(line.unwrap().as_deref(), Some("holding"));
    let began = Instant::now();
    house.running.terminate();
    let finished = house.running.finish().await;
    println!("ended {:?} after the signal, with 40 sockets and a stream open", began.elapsed());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await.unwrap();
    assert_eq!(line.unwrap().as_deref(), Some("all ended"));
}

#[tokio::test]
#[ignore = "a measurement: a thousand sockets on a machine at rest"]
async fn a_thousand_sockets_get_an_event_soon() {
    let folder = tempfile::tempdir().unwrap();
    if !install(folder.path()).await {
        return;
    }
    let house = House::start().await;
    let agent = house.agent().await;
    let text = node(folder.path(), include_str!("clients/crowd.mjs"), &house, &agent).await;
    println!("{text}");
    assert!(text.ends_with("crowd: all held\n"), "{text}");
}
