//! Hints through a strict NATS server on the loopback, by the real client.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use galatea_core::{Hint, Hints, SecretString};
use galatea_testkit::nats::NatsServer;
use std::sync::Arc;

fn open(url: String) -> Arc<dyn Hints> {
    galatea_hints::open(&SecretString::from(url)).unwrap()
}

#[tokio::test]
async fn what_one_tells_the_others_hear_and_it_does_not() {
    let server = NatsServer::start().await;
    let (one, two, three) = (open(server.url()), open(server.url()), open(server.url()));
    server.wait_subscribed(3).await;
    let (mut own, mut inbox, mut third) = (one.heard(Hint::Inbox), two.heard(Hint::Inbox), three.heard(Hint::Inbox));
    let mut outbox = two.heard(Hint::Outbox);
    // Each may have missed something before it was connected, and says so.
    for heard in [&mut own, &mut inbox, &mut third, &mut outbox] {
        heard.wait_for(|count| *count > 0).await.unwrap();
        heard.mark_unchanged();
    }
    assert!(one.is_up() && two.is_up());
    let before = *own.borrow_and_update();
    one.tell(Hint::Inbox);
    inbox.changed().await.unwrap();
    third.changed().await.unwrap();
    // An echo of its own would have come before this one.
    two.tell(Hint::Inbox);
    own.changed().await.unwrap();
    assert_eq!(*own.borrow(), before + 1, "its own hint is not among what it heard");
    assert!(!outbox.has_changed().unwrap(), "another hint");
    assert!(server.published().iter().all(|subject| subject == "galatea.hint.inbox"), "{:?}", server.published());
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for() {
    let server = NatsServer::start().await;
    server.set_reachable(false);
    let (one, two) = (open(server.url()), open(server.url()));
    one.tell(Hint::Events);
    assert!(!one.is_up(), "everybody looks by themselves");
    let mut events = two.heard(Hint::Events);
    server.set_reachable(true);
    // Connected: whatever was told before is worth a look.
    events.wait_for(|count| *count > 0).await.unwrap();
    server.wait_subscribed(2).await;
    let mut again = two.heard(Hint::Events);
    server.set_reachable(false);
    server.wait_gone().await;
    server.set_reachable(true);
    again.wait_for(|count| *count > 1).await.unwrap();
    server.wait_subscribed(2).await;
    one.heard(Hint::Events).wait_for(|count| *count > 1).await.unwrap();
    one.tell(Hint::Events);
    server.wait_published("galatea.hint.events").await;
}

#[tokio::test]
async fn a_login_is_used_and_a_wrong_one_refused() {
    let server = NatsServer::guarded("ann", "p@ss").await;
    let wrong = open(server.url_as("ann", "canary"));
    server.wait_refused().await;
    assert!(!wrong.is_up() && !format!("{wrong:?}").contains("canary"));
    let right = open(server.url_as("ann", "p%40ss"));
    right.heard(Hint::Inbox).wait_for(|count| *count > 0).await.unwrap();
    assert!(right.is_up());
}
