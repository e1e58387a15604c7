//! What holds of the example: nothing read is lost, what cannot be read is said, nothing goes out
//! without leave, every line fits.

use galatea_core::{
    Address, Content, Delivery, ErrorKind, Health, Outgoing, ReadBackContext, ReadBackResult,
    RemoteId, RoomId, SendHandler, SendPermit, Sent, SystemClock,
};
use galatea_testkit::connector_suite::{
    RecordingGateway, Running,
    running::{deliveries, identity, patient, send},
};
use std::sync::Arc;

use super::{
    SOURCE,
    connector::Wren,
    encode::MAX_TEXT,
    server::{SECRET, Server},
};

async fn connected(server: &Server, gateway: Arc<RecordingGateway>) -> Running<Wren> {
    let running =
        Running::start(Wren::new(server.address, "bot", SECRET), gateway, Arc::new(SystemClock));
    running
        .until("the connection", |gateway| {
            gateway.health().iter().any(|h| matches!(h, Health::Up { .. })).then_some(())
        })
        .await;
    running
}

fn address(room: &str) -> Address {
    Address {
        source: SOURCE,
        account: galatea_core::Account("bot".into()),
        room: RoomId::fresh(),
        remote: RemoteId::new(format_args!("wren-{room}")),
    }
}

fn message(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

#[tokio::test]
async fn the_same_words_twice_are_two_messages_each_with_an_id_of_its_own() {
    let server = Server::start().await;
    let running = connected(&server, RecordingGateway::new(identity())).await;
    for line in [
        "said #cats ann hello",
        "dance now",
        "said #cats ann hello",
        "said ann ann bot: in private",
        "said",
        "said #cats ann bot, you there?",
    ] {
        server.says(line).await;
    }
    let heard = patient("four messages", running.gateway.wait_messages(4)).await;
    let received: Vec<_> = heard
        .iter()
        .map(|(i, m)| {
            (i.connection.room.remote.as_str(), m.content.text.as_str(), m.addressed.mention)
        })
        .collect();
    assert_eq!(
        received,
        [
            ("wren-#cats", "hello", false),
            ("wren-#cats", "hello", false),
            ("wren-ann", "bot: in private", true),
            ("wren-#cats", "bot, you there?", true)
        ]
    );
    assert_ne!(heard[0].1.id, heard[1].1.id);
    assert_eq!(running.gateway.handler_came_first(), Some(true));
    server.says("ping x7").await;
    assert_eq!(server.lines(1).await, ["pong x7"]);
    running.end().await;
}

#[tokio::test]
async fn what_is_read_while_the_store_is_away_is_stored_later_in_order() {
    let server = Server::start().await;
    let gateway = RecordingGateway::new(identity());
    let running = connected(&server, gateway.clone()).await;
    gateway.fail_receives(1);
    server.says("said #cats ann one").await;
    server.says("said #cats ann two").await;
    let texts: Vec<_> = running.heard(2).await.into_iter().map(|m| m.content.text).collect();
    assert_eq!((texts, gateway.duplicates()), (vec!["one".to_owned(), "two".to_owned()], 0));
    running.end().await;
}

#[tokio::test]
async fn messages_while_disconnected_are_a_gap() {
    let server = Server::start().await;
    let gateway = RecordingGateway::new(identity());
    let running = connected(&server, gateway.clone()).await;
    server.says("said #cats ann one").await;
    running.messages(1).await;
    assert!(gateway.gaps().is_empty(), "at the very first connection nothing is missing");
    server.hangs_up().await;
    assert_eq!(running.failure().await.kind(), ErrorKind::Unavailable);
    let again = Running::start(
        Wren::new(server.address, "bot", SECRET),
        gateway.clone(),
        Arc::new(SystemClock),
    );
    server.logins(2).await;
    let gaps = again
        .until("the gap", |gateway| Some(gateway.gaps()).filter(|gaps| !gaps.is_empty()))
        .await;
    assert!(gaps.len() == 1 && gaps[0].from.is_some() && gaps[0].to >= gaps[0].from, "{gaps:?}");
    again.end().await;
}

#[tokio::test]
async fn every_line_fits_in_bytes_and_none_can_be_smuggled_in() {
    let server = Server::start().await;
    let running = connected(&server, RecordingGateway::new(identity())).await;
    let handler = running.handler().await;
    let long = "日本語とemoji 😀 ".repeat(80);
    let receipts = send(
        &*handler,
        &address("#cats"),
        &message(&format!("first\nlogin evil x\r\n```rust\nlet a\u{7} = 1;\n```\n{long}")),
    )
    .await;
    assert!(
        receipts.iter().all(|receipt| receipt.as_ref().is_ok_and(|receipt| receipt.id.is_none())),
        "{receipts:?}"
    );
    let lines = server.lines(receipts.len()).await;
    assert_eq!(lines[..3], ["say #cats first", "say #cats login evil x", "say #cats let a  = 1;"]);
    let texts: Vec<&str> =
        lines.iter().map(|line| line.strip_prefix("say #cats ").unwrap()).collect();
    assert!(texts.iter().all(|text| text.len() <= MAX_TEXT), "{texts:?}");
    assert_eq!(texts[3..].concat().replace(' ', ""), long.replace(' ', ""), "nothing is lost");
    running.end().await;
}

#[tokio::test]
async fn nothing_goes_out_without_leave_and_an_error_says_what_may_have_left() {
    let server = Server::start().await;
    let running = connected(&server, RecordingGateway::new(identity())).await;
    let handler = running.handler().await;
    let one = |text: &str| -> Delivery {
        deliveries(&*handler, &address("#cats"), &message(text)).remove(0)
    };
    let held =
        handler.send_with(&one("late"), &SendPermit::while_true(|| false)).await.unwrap_err();
    assert_eq!(held.sent(), Sent::No);
    // `send_with` is written in place of `send`; both work.
    handler.send(&one("now")).await.unwrap();
    assert_eq!(server.lines(1).await, ["say #cats now"]);
    assert_eq!(
        handler.find(&one("now"), &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Unknown
    );
    let (line, gone) = (running.connector.line.clone(), one("gone"));
    running.end().await;
    let gone = line.send_with(&gone, &SendPermit::always()).await.unwrap_err();
    assert_eq!(
        (gone.kind(), gone.sent()),
        (ErrorKind::Unavailable, Sent::No),
        "without a connection it did not happen"
    );
}

#[tokio::test]
async fn a_refused_login_needs_a_person() {
    let server = Server::start().await;
    let running = Running::start(
        Wren::new(server.address, "bot", "wrong"),
        RecordingGateway::new(identity()),
        Arc::new(SystemClock),
    );
    let refused = running.failure().await;
    assert_eq!(
        (refused.kind(), refused.retry()),
        (ErrorKind::Unauthorized, galatea_core::Retry::Never)
    );
}
