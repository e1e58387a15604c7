//! elizaOS's own clients from npm against the running program. They are installed into a temporary folder;
//! where they can't be had, the tests say so and end.

use std::{path::Path, process::Stdio, time::Duration};
use tokio::process::Command;

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
