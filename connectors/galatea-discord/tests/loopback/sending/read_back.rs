//! Lost answers of Discord: no message is posted twice.

use super::*;

/// Injects a fault into the first attempt, repeats the delivery as the runtime does, and asserts
/// that the message is shown once.
async fn survives(effect: Effect, sent: Sent) {
    let (api, _, general, running) = stage().await;
    let handler = running.connector.send_handler();
    api.fault(Fault::new(effect.clone()).on(CREATE));
    let mut delivery = deliveries(&*handler, &general.id.to_string(), &text("once")).swap_remove(0);
    let error = handler.send(&delivery).await.unwrap_err();
    assert_eq!(error.sent(), sent, "{effect:?}: {}", error.report());
    assert_ne!(error.retry(), Retry::Never, "{effect:?}");
    api.apply_late();
    delivery.attempt = 1;
    let receipt = match handler.find(&delivery, &ReadBackContext::default()).await.unwrap() {
        ReadBackResult::Sent(receipt) => receipt,
        _ => handler.send(&delivery).await.unwrap(),
    };
    let shown = api.shown(general.id);
    assert_eq!((shown.len(), receipt.id), (1, Some(RemoteId::new(shown[0].id))), "{effect:?}");
}

#[tokio::test]
async fn nothing_is_said_twice() {
    for effect in [
        Effect::ServerError(502, ErrorBody::Html),
        Effect::ApplyThenError(500),
        Effect::LoseResponse,
        Effect::ApplyLate,
        Effect::CutAfter(0),
        Effect::CutAfter(40),
        Effect::CutAfter(400),
        Effect::Garbage,
    ] {
        survives(effect, Sent::Maybe).await;
    }
}

#[tokio::test]
async fn the_history_tells_after_the_nonce_is_forgotten() {
    // Two connectors run at once, and each begins a session.
    let (api, ann, general, running) =
        stage_with(Options { own_time: true, ..Options::default() }).await;
    let handler = running.connector.send_handler();
    let asked = ann.says(&general, "well?").send();
    for words in ["first", "first", "second"] {
        send(&*handler, &general.id.to_string(), &text(words)).await.pop().unwrap().unwrap();
    }
    let outgoing = Outgoing::Message {
        content: Content::text("  the answer "),
        reply_to: Some(RemoteId::new(asked)),
    };
    let delivery = deliveries(&*handler, &general.id.to_string(), &outgoing).swap_remove(0);
    assert_eq!(
        handler.find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::NotSent
    );
    handler.send(&delivery).await.unwrap();
    api.forget_nonces();
    // Another process knows neither the receipt nor the echo.
    let other = start(config(&api));
    let found =
        other.connector.send_handler().find(&delivery, &ReadBackContext::default()).await.unwrap();
    let shown = api.shown(general.id);
    assert_eq!(
        found,
        ReadBackResult::Sent(galatea_core::Receipt {
            id: Some(RemoteId::new(shown[3].id)),
            moved_to: None
        })
    );
    let mut old = delivery.clone();
    (old.attempt, old.created_at.0) = (1, old.created_at.0 - 300_000);
    other.connector.send_handler().send(&old).await.unwrap();
    assert_eq!(api.shown(general.id).len(), 4, "an old attempt is read back before it is repeated");
    general.allows(1 << 10 | 1 << 11);
    // While Discord remembers the nonce, a repeat is harmless. After that the outcome is unknown,
    // because an empty history proves nothing without Read Message History.
    let mut lost = deliveries(&*handler, &general.id.to_string(), &text("x")).swap_remove(0);
    let finds = async |delivery: &galatea_core::Delivery| {
        other.connector.send_handler().find(delivery, &ReadBackContext::default()).await.unwrap()
    };
    assert_eq!(finds(&lost).await, ReadBackResult::NotSent);
    lost.created_at.0 -= 300_000;
    assert_eq!(finds(&lost).await, ReadBackResult::Unknown);
    general.allows(1 << 10 | 1 << 11 | 1 << 16);
    assert_eq!(
        finds(&lost).await,
        ReadBackResult::NotSent,
        "the history can be read, and the message is not there"
    );
}
