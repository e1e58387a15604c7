//! Lists that change while the agent runs: new, poisoned and renamed tools stay off.

use crate::stage::{Stage, call, offered, until};
use galatea_mcp::{Pinned, probe};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn poisoned_renamed_and_new_tools_are_off_until_they_are_approved() {
    for flag in ["--modern", "--legacy"] {
        let stage = Stage::new();
        let config = stage.fixture(&["serve", flag]);
        let server = stage.start(&config).await;
        assert!(offered(&server).contains(&"echo".to_owned()));
        let state = |name: &str| {
            let offer = server.offer();
            offer.tools.iter().find(|(tool, _)| tool.name == name).map(|(_, pinned)| pinned.clone())
        };
        // Poisoned.
        call(&server, "face", json!({ "face": 1 })).await;
        until(|| matches!(state("echo"), Some(Pinned::Changed(_)))).await;
        assert!(!offered(&server).contains(&"echo".to_owned()));
        assert!(
            !call(&server, "echo", json!({ "text": "x" })).await.success,
            "a poisoned tool ran"
        );
        assert!(offered(&server).contains(&"add".to_owned()), "the others stay");
        // Renamed.
        call(&server, "face", json!({ "face": 2 })).await;
        until(|| state("repeat") == Some(Pinned::Renamed("echo".into()))).await;
        assert_eq!(server.offer().gone, ["echo"]);
        // New.
        call(&server, "face", json!({ "face": 3 })).await;
        until(|| state("new") == Some(Pinned::New)).await;
        assert_eq!(state("echo"), Some(Pinned::Approved), "as it was");
        assert_eq!(server.view().waiting, 1);
        // Approved by another process, through the file.
        let changed = stage.fixture(&["serve", flag, "--face", "3"]);
        let probed = probe(&changed, &stage.around).await.unwrap();
        probed.approve(&config, &stage.around.places, None).unwrap();
        until(|| state("new") == Some(Pinned::Approved)).await;
        assert!(offered(&server).contains(&"new".to_owned()));
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_command_under_the_same_name_is_not_started() {
    let stage = Stage::new();
    let server = stage.start(&stage.fixture(&["serve"])).await;
    server.stop().await;
    let other =
        galatea_mcp::Server::start(stage.fixture(&["serve", "--legacy"]), stage.around.clone());
    until(|| other.view().phase == galatea_mcp::Phase::NeedsApproval).await;
    other.stop().await;
}
