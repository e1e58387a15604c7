//! Tests that read-back waits until all pending updates are received, because before that its
//! answer would be wrong.

use futures::poll;
use galatea_core::{Content, Outgoing, ReadBackContext, ReadBackResult, RemoteId, Retry};
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Effect, ErrorBody, Fault},
};
use std::{pin::pin, time::Duration};

use super::support::{config, deliveries, gateway, with};

#[tokio::test]
async fn looking_for_a_send_waits_for_what_was_not_received() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let asked = ann.says(&ann.direct(), "hi").send();
    api.fault(Fault::new(Effect::ServerError(502, ErrorBody::Html)).on("getUpdates"));
    let clock = ManualClock::new();
    let running = with(config(&api), gateway(), clock.shared());
    // Between a failed poll and the next one.
    clock.wait_for_sleepers(1).await;
    let handler = running.connector.send_handler();
    let outgoing = Outgoing::Message {
        content: Content::text("only once"),
        reply_to: Some(RemoteId(format!("{}:{asked}", ann.id))),
    };
    let delivery = deliveries(&*handler, &ann.id.to_string(), &outgoing).swap_remove(0);
    api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    handler.send(&delivery).await.unwrap_err();
    let context = ReadBackContext::default();
    let mut looking = pin!(handler.find(&delivery, &context));
    assert!(poll!(&mut looking).is_pending());
    clock.advance(Duration::from_secs(60));
    let error = looking.await.unwrap_err();
    assert!(
        matches!(error.retry(), Retry::After(_)),
        "the context was read before the updates: {error}"
    );
    assert!(api.calls_of("editMessageReplyMarkup").is_empty(), "no number was probed");
    assert!(matches!(handler.find(&delivery, &context).await.unwrap(), ReadBackResult::Sent(_)));
    assert_eq!(api.shown(ann.id).len(), 1);
}
