//! Failed sends: what each error says about retrying and about whether the message was sent; and
//! the read-back.

use std::time::Duration;

use galatea_core::{
    Delivery, Error, ErrorKind, ReadBack, ReadBackContext, ReadBackResult, Retry, Sent,
};

use super::applies_if;
use crate::connector_suite::{ConnectorHarness, Outcome, PlatformFault, Said, Scene, Spot};

/// State after one received message, one successful send and one failed send.
struct Failed<H> {
    scene: Scene<H>,
    spot: Spot,
    delivery: Delivery,
    error: Error,
    context: ReadBackContext,
}

async fn failing<H: ConnectorHarness>(fault: PlatformFault) -> Failed<H> {
    let scene = Scene::<H>::start().await;
    let spot = scene
        .platform
        .spot(crate::connector_suite::SpotKind::Direct)
        .await
        .unwrap_or_else(|| panic!("every platform has direct messages"));
    scene.platform.say(&spot, Said::text("hello")).await;
    let received =
        scene.gateway.wait_messages(1).await.into_iter().map(|(_, message)| message.id).collect();
    // A send succeeds first, because the read-back starts from a known message.
    let sent = scene.send_text(&spot, "before").await;
    scene.platform.inject(&spot, fault).await;
    let (delivery, error) = scene.send_failing(&spot, "the one with the unknown outcome").await;
    let context = ReadBackContext {
        received,
        sent: vec![sent.clone()],
        ours: vec![sent],
        ..ReadBackContext::default()
    };
    Failed { scene, spot, delivery, error, context }
}

/// A rate limit becomes `RateLimited` with the platform's wait, and states that nothing was sent.
pub async fn slow_down_is_rate_limited_with_its_time<H: ConnectorHarness>() -> Outcome {
    let Failed { scene, spot, error, .. } =
        failing::<H>(PlatformFault::SlowDown(Duration::from_secs(2))).await;
    assert_eq!(
        (error.kind(), error.sent()),
        (ErrorKind::RateLimited, Sent::No),
        "{}",
        error.report()
    );
    match error.retry() {
        Retry::After(wait) => {
            assert!(wait >= Duration::from_secs(2) && wait < Duration::from_secs(10), "{wait:?}")
        }
        other => panic!("retry must be After, not {other:?}"),
    }
    assert_eq!(scene.platform.shown(&spot, 1).await.len(), 1);
    Outcome::Holds
}

/// A 5xx answer leaves the outcome of the send unknown.
pub async fn a_server_error_may_have_been_sent<H: ConnectorHarness>() -> Outcome {
    let Failed { scene: _scene, error, .. } = failing::<H>(PlatformFault::ServerError).await;
    assert_eq!(error.sent(), Sent::Maybe, "{}", error.report());
    assert_ne!(error.retry(), Retry::Never, "{}", error.report());
    Outcome::Holds
}

/// A lost answer leaves the outcome of the send unknown.
pub async fn a_lost_response_may_have_been_sent<H: ConnectorHarness>() -> Outcome {
    let Failed { scene, spot, error, .. } = failing::<H>(PlatformFault::LostResponse).await;
    assert_eq!(error.sent(), Sent::Maybe, "{}", error.report());
    assert_eq!(
        scene.platform.shown(&spot, 2).await.len(),
        2,
        "the handler makes one attempt, no more"
    );
    Outcome::Holds
}

/// Missing permission to write is a final error with its own kind.
pub async fn a_refusal_is_final<H: ConnectorHarness>() -> Outcome {
    let Failed { scene: _scene, error, .. } = failing::<H>(PlatformFault::Forbidden).await;
    assert_eq!(
        (error.kind(), error.retry(), error.sent()),
        (ErrorKind::Forbidden, Retry::Never, Sent::No),
        "{}",
        error.report()
    );
    Outcome::Holds
}

/// The read-back finds a message whose answer was lost and returns its id.
pub async fn finds_what_was_sent<H: ConnectorHarness>() -> Outcome {
    let Failed { scene, spot, delivery, context, .. } =
        failing::<H>(PlatformFault::LostResponse).await;
    applies_if!(scene.can().read_back == ReadBack::Find, "the platform has no read-back");
    scene.platform.say(&spot, Said::text("are you still there?")).await;
    scene.gateway.wait_messages(2).await;
    let found = scene
        .handler()
        .await
        .find(&delivery, &context)
        .await
        .unwrap_or_else(|e| panic!("find failed: {}", e.report()));
    let shown = scene.platform.shown(&spot, 2).await;
    match found {
        ReadBackResult::Sent(receipt) => assert_eq!(receipt.id.as_ref(), Some(&shown[1].id)),
        other => panic!("it is there, find says {other:?}"),
    }
    assert_eq!(
        (shown.len(), shown[1].text.as_str()),
        (2, "the one with the unknown outcome"),
        "the read-back sends nothing"
    );
    Outcome::Holds
}

/// The read-back does not find a message that was never sent.
pub async fn finds_nothing_where_nothing_was_sent<H: ConnectorHarness>() -> Outcome {
    let Failed { scene, spot, delivery, context, .. } =
        failing::<H>(PlatformFault::ServerError).await;
    applies_if!(scene.can().read_back == ReadBack::Find, "the platform has no read-back");
    scene.platform.say(&spot, Said::text("are you still there?")).await;
    scene.gateway.wait_messages(2).await;
    let found = scene
        .handler()
        .await
        .find(&delivery, &context)
        .await
        .unwrap_or_else(|e| panic!("find failed: {}", e.report()));
    assert_eq!(found, ReadBackResult::NotSent);
    assert_eq!(scene.platform.shown(&spot, 1).await.len(), 1);
    Outcome::Holds
}
