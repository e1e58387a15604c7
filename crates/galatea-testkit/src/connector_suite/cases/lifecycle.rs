//! Starting, stopping, outages, and secrets in output.

use std::time::Duration;

use galatea_core::Health;

use super::scene_with_spot;
use crate::connector_suite::{
    CapturedLog, ConnectorHarness, Outcome, PlatformFault, Said, Scene, SpotKind,
};

/// Limit for stopping. It must not wait for a long poll (up to 50 s on Telegram); 10 s is far below
/// that and far above any scheduling delay.
const PROMPT: Duration = Duration::from_secs(10);

/// `run` returns Ok soon after it is stopped.
pub async fn stops_promptly<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    scene.platform.say(&spot, Said::text("hello")).await;
    scene.gateway.wait_messages(1).await;
    scene.platform.wait_acknowledged().await;
    let stopped = tokio::time::timeout(PROMPT, scene.stop()).await;
    let (outcome, ..) =
        stopped.unwrap_or_else(|_| panic!("run() did not return within {PROMPT:?} of stop"));
    outcome.unwrap_or_else(|e| panic!("stopping must not be an error: {}", e.report()));
    Outcome::Holds
}

/// A connector that receives events reports `Up` with a text for the operator.
pub async fn reports_its_health<H: ConnectorHarness>() -> Outcome {
    let scene = Scene::<H>::start().await;
    let up = |h: &Health| match h {
        Health::Up { detail } => Some(detail.clone()),
        _ => None,
    };
    let detail = scene.gateway.wait_for(|g| g.health().iter().find_map(up)).await;
    assert!(!detail.trim().is_empty());
    let findings = scene.connector().check().await;
    assert!(
        !findings.is_empty()
            && findings.iter().all(|f| f.severity != galatea_core::Severity::Error),
        "{findings:?}"
    );
    Outcome::Holds
}

/// An outage of the platform loses no message.
pub async fn survives_an_unreachable_platform<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    scene.platform.say(&spot, Said::text("before")).await;
    scene.gateway.wait_messages(1).await;
    scene.platform.set_reachable(false);
    let second = scene.platform.say(&spot, Said::text("meanwhile")).await;
    let bad = |h: &Health| {
        matches!(h, Health::Retrying { .. } | Health::Degraded { .. } | Health::Down { .. })
    };
    scene
        .gateway
        .wait_for(|g| {
            (g.health().iter().any(bad) || !scene.failures().is_empty() || g.messages().len() > 1)
                .then_some(())
        })
        .await;
    scene.platform.set_reachable(true);
    let heard = scene.gateway.wait_messages(2).await;
    assert_eq!(heard[1].1.id, second);
    Outcome::Holds
}

/// No secret appears in errors, health, findings or logs, whatever fails.
pub async fn tells_no_secret<H: ConnectorHarness>() -> Outcome {
    let (log, guard) = CapturedLog::start();
    let (scene, spot) = scene_with_spot!(H, Direct);
    let mut said = Vec::new();
    scene.platform.say(&spot, Said::text("hello")).await;
    scene.gateway.wait_messages(1).await;
    for fault in [PlatformFault::ServerError, PlatformFault::LostResponse] {
        scene.platform.inject(&spot, fault).await;
        let (_, error) = scene.send_failing(&spot, "x").await;
        said.push(format!("{} {error:?}", error.report()));
    }
    scene.platform.set_reachable(false);
    let (_, error) = scene.send_failing(&spot, "x").await;
    said.push(format!("{} {error:?}", error.report()));
    said.push(format!("{:?}", scene.connector().check().await));
    if let Err(error) = scene.handler().await.typing(&scene.address(&spot)).await {
        said.push(format!("{} {error:?}", error.report()));
    }
    if let Some(thread) = scene.platform.spot(SpotKind::Thread).await {
        said.push(format!("{:?}", scene.address(&thread)));
    }
    said.push(format!("{:?} {:?}", scene.gateway.health(), scene.gateway.batches()));
    said.push(scene.failures().join("\n"));
    let (outcome, platform, _) = scene.stop().await;
    said.push(format!("{outcome:?}"));
    drop(guard);
    said.push(log.text());
    for canary in platform.canaries() {
        for text in &said {
            let at = text.find(&canary);
            assert!(
                at.is_none(),
                "a secret is shown: {}",
                text[at.unwrap_or(0).saturating_sub(200)..]
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .replace(&canary, "<SECRET>")
            );
        }
    }
    Outcome::Holds
}
