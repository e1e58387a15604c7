//! Webhooks.

use galatea_core::{AgentId, Store, Timestamp, store::Webhook};
use std::sync::Arc;
use uuid::Uuid;

/// One process at a time takes a webhook that is due, and what it settles is read back.
pub async fn a_webhook_is_claimed_once_and_settled(store: Arc<dyn Store>) {
    let webhook = Webhook {
        id: Uuid::now_v7(),
        url: "https://example.org/events".to_owned(),
        secret: "v1:sealed".to_owned(),
        kinds: vec!["turn_finished".to_owned()],
        agent: Some(AgentId::fresh()),
        seq: 7,
        next_at: Timestamp(10),
        failures: 0,
        last_error: None,
        created_at: Timestamp(10),
        by: "ada".to_owned(),
    };
    store.add_webhook(&webhook).await.unwrap();
    assert_eq!(store.webhooks().await.unwrap(), std::slice::from_ref(&webhook));
    let claim = |now, until| store.claim_webhook(webhook.id, Timestamp(now), Timestamp(until));
    assert!(!claim(9, 99).await.unwrap(), "it is not due");
    let (a, b) = tokio::join!(claim(10, 60), claim(10, 60));
    assert_ne!(a.unwrap(), b.unwrap());
    assert!(claim(60, 90).await.unwrap(), "the other process died");
    let settled = Webhook {
        seq: 9,
        next_at: Timestamp(70),
        failures: 2,
        last_error: Some("503".to_owned()),
        ..webhook.clone()
    };
    store.settle_webhook(&settled).await.unwrap();
    assert_eq!(store.webhooks().await.unwrap(), [settled]);
    assert!(store.remove_webhook(webhook.id).await.unwrap());
    assert!(!store.remove_webhook(webhook.id).await.unwrap());
}
