//! Calls: in both eras, with a deadline, a bound, files, and failures.

use crate::stage::{Stage, call, memory, offered, ready_again, until};
use galatea_core::MediaKind;
use galatea_mcp::Phase;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_called_in_both_eras_and_the_era_is_remembered() {
    for (flag, version) in [("--modern", "2026-07-28"), ("--legacy", "2025-11-25")] {
        let stage = Stage::new();
        let config = stage.fixture(&["serve", flag]);
        let server = stage.start(&config).await;
        assert!(server.view().detail.contains(version), "{:?}", server.view());
        assert_eq!(
            stage.around.places.read(&config.key()).unwrap().version.as_deref(),
            Some(version)
        );
        let outcome = call(&server, "add", json!({ "a": 2, "b": 3 })).await;
        assert_eq!((outcome.success, outcome.text.as_str()), (true, "5"));
        server.stop().await;
        assert_eq!(server.view().phase, Phase::Stopped);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_a_tool_are_told_and_those_of_the_protocol_keep_their_words() {
    let stage = Stage::new();
    let server = stage.start(&stage.fixture(&["serve"])).await;
    let failed = call(&server, "fail", json!({})).await;
    assert_eq!((failed.success, failed.text.as_str()), (false, "the kettle is empty"));
    let broken = call(&server, "broken", json!({})).await;
    assert!(!broken.success && !broken.text.contains("secret"), "{}", broken.text);
    let picture = call(&server, "picture", json!({})).await;
    assert_eq!(picture.files[0].content_type, MediaKind::Image);
    assert!(!picture.text.contains("iVBOR"), "{}", picture.text);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_fifty_megabytes_is_left_out_while_it_is_read() {
    let stage = Stage::new();
    for flag in ["--modern", "--legacy"] {
        let entry =
            json!({ "command": crate::stage::FIXTURE, "args": ["serve", flag], "timeout": 60 });
        let server = stage.start(&stage.entry(&entry)).await;
        let small = call(&server, "big", json!({ "megabytes": 1 })).await;
        assert!(
            small.success && small.text.contains("left out"),
            "{}",
            &small.text[small.text.len() - 200..]
        );
        let before = memory();
        let large = call(&server, "big", json!({ "megabytes": 50 })).await;
        let grown = memory().saturating_sub(before);
        assert!(!large.success && large.text.contains("52428"), "{}", large.text);
        assert!(grown < 20 << 10, "{grown} KiB more");
        println!("an answer of 50 MB took {grown} KiB");
        // The connection stays.
        assert_eq!(call(&server, "echo", json!({ "text": "still here" })).await.text, "still here");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_tool_ends_at_its_deadline_and_one_with_progress_goes_on() {
    let stage = Stage::new();
    let server = stage.start(&stage.fixture(&["serve"])).await;
    let hung = call(&server, "hang", json!({})).await;
    assert!(!hung.success && hung.text.contains("did not answer within 2 s"), "{}", hung.text);
    // Eight steps of 400 ms: longer than the deadline.
    let slow = call(&server, "slow", json!({ "steps": 8 })).await;
    assert_eq!(slow.text, "done");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_server_is_started_again_and_the_call_is_not_repeated() {
    let stage = Stage::new();
    let server = stage.start(&stage.fixture(&["serve"])).await;
    let crashed = call(&server, "crash", json!({})).await;
    assert!(
        !crashed.success && crashed.text.contains("not known what it has done"),
        "{}",
        crashed.text
    );
    until(|| !server.is_ready()).await;
    ready_again(&server).await;
    let calls = call(&server, "calls", json!({})).await;
    assert_eq!(calls.text, "1", "the crash is not repeated by the new server");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_clean_and_the_folder_its_own() {
    // SAFETY-free: the variable is that of the test runner, which always sets it.
    let ours = std::env::var("CARGO_PKG_NAME").is_ok() || std::env::var("NEXTEST").is_ok();
    let stage = Stage::new();
    let config = stage.entry(
        &json!({ "command": crate::stage::FIXTURE, "args": ["serve"], "env": { "GIVEN": "yes" } }),
    );
    let server = stage.start(&config).await;
    let said = call(&server, "environment", json!({})).await.text;
    assert!(
        said.contains("GIVEN=yes") && said.contains("HOME=") && said.contains("PATH="),
        "{said}"
    );
    assert!(ours && !said.contains("CARGO_PKG_NAME=") && !said.contains("NEXTEST"), "{said}");
    let home = stage.folder.path().join(format!("mcp/homes/{}", config.key()));
    assert!(said.contains(&format!("HOME={}", home.display())), "{said}");
    server.stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn files_are_confined_or_the_state_says_that_they_are_not() {
    let stage = Stage::new();
    let secret = stage.folder.path().join("secret.env");
    std::fs::write(&secret, "KEY=1").unwrap();
    let server = stage.start(&stage.fixture(&["serve"])).await;
    let read = call(&server, "file", json!({ "path": secret })).await.text;
    match server.view().not_enforced {
        None => assert!(read.starts_with("refused"), "{read}"),
        Some(words) => {
            println!("this machine: {words}");
            assert!(words.contains("Landlock"), "{words}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_delays_nothing_and_is_down() {
    let stage = Stage::new();
    let config = stage.entry(&json!({ "command": "/nowhere/at/all" }));
    let error = galatea_mcp::probe(&config, &stage.around).await.unwrap_err();
    assert!(error.report().contains("could not be reached"), "{}", error.report());
    let unapproved = galatea_mcp::Server::start(stage.fixture(&["serve"]), stage.around.clone());
    until(|| unapproved.view().phase == Phase::NeedsApproval).await;
    assert!(offered(&unapproved).is_empty());
    assert!(unapproved.view().detail.contains("galatea mcp approve fixture"));
    unapproved.stop().await;
}
