//! Guarantee G1: the connector acknowledges only stored events, loses none, and duplicates do no
//! harm.

use super::{applies_if, scene_with_spot};
use crate::connector_suite::{ConnectorHarness, Outcome, RecordingGateway, Said, Scene};

/// While `receive` is pending, the connector acknowledges nothing to the platform.
pub async fn acknowledges_only_what_is_stored<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.platform.unacknowledged().is_some(), "the platform has no acknowledgement");
    scene.handler().await;
    scene.platform.wait_acknowledged().await;
    scene.gateway.hold();
    scene.platform.say(&spot, Said::text("keep me")).await;
    scene.gateway.wait_for(|g| (g.held() > 0).then_some(())).await;
    assert!(scene.platform.unacknowledged() > Some(0), "acknowledged before it was stored");
    scene.gateway.release();
    scene.gateway.wait_messages(1).await;
    scene.platform.wait_acknowledged().await;
    Outcome::Holds
}

/// After a failed `receive` the connector delivers the same events again and skips none.
pub async fn brings_again_what_was_not_stored<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.platform.unacknowledged().is_some(), "the platform has no acknowledgement");
    scene.handler().await;
    scene.platform.wait_acknowledged().await;
    scene.gateway.fail_receives(1);
    let first = scene.platform.say(&spot, Said::text("one")).await;
    scene.gateway.wait_for(|g| (!g.refused().is_empty()).then_some(())).await;
    let second = scene.platform.say(&spot, Said::text("two")).await;
    let until_second = |g: &RecordingGateway| {
        Some(g.messages()).filter(|all| all.iter().any(|(_, m)| m.id == second))
    };
    let heard: Vec<_> =
        scene.gateway.wait_for(until_second).await.into_iter().map(|(_, m)| m.id).collect();
    assert_eq!(heard, [first, second]);
    Outcome::Holds
}

/// Events that the platform delivers twice change nothing and do not stop the connector.
pub async fn duplicates_are_harmless<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    let first = scene.platform.say(&spot, Said::text("one")).await;
    scene.gateway.wait_messages(1).await;
    scene.platform.wait_acknowledged().await;
    scene.platform.redeliver().await;
    let second = scene.platform.say(&spot, Said::text("two")).await;
    let heard: Vec<_> =
        scene.gateway.wait_messages(2).await.into_iter().map(|(_, m)| m.id).collect();
    assert_eq!(heard, [first, second]);
    Outcome::Holds
}

/// Messages sent while the connector was stopped arrive once when it is back.
pub async fn brings_what_was_said_while_away<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(
        scene.platform.queues_while_away(),
        "the platform does not keep messages for a stopped connector"
    );
    let first = scene.platform.say(&spot, Said::text("before")).await;
    scene.gateway.wait_messages(1).await;
    let (_, platform, gateway) = scene.stop().await;
    let second = platform.say(&spot, Said::text("meanwhile")).await;
    let scene = Scene::with(platform, gateway);
    let heard: Vec<_> =
        scene.gateway.wait_messages(2).await.into_iter().map(|(_, m)| m.id).collect();
    assert_eq!(heard, [first, second]);
    Outcome::Holds
}
