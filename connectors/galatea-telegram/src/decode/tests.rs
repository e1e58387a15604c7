//! Decoding: updates in the shape of the Bot API's documentation.

mod events;
mod messages;
mod mutations;

use serde_json::Value;

use super::*;

const NOW: Timestamp = Timestamp(1_767_225_600_000);

fn me() -> Me {
    Me { id: 7001, user_name: "Galatea_Bot".into() }
}

fn read(update: &Value) -> Decoded {
    let item = raw::single(update.to_string().as_bytes()).expect("an update");
    decode(&item.update.unwrap_or_else(|| panic!("cannot be read: {update}")), &me(), NOW)
}

fn ann() -> Value {
    json!({"id": 501, "is_bot": false, "first_name": "Ann", "last_name": "B", "username": "ann_b", "language_code": "en"})
}

fn group() -> Value {
    json!({"id": -1001234, "type": "supergroup", "title": "Garden", "username": "garden"})
}

fn dm() -> Value {
    json!({"id": 501, "type": "private", "first_name": "Ann", "last_name": "B", "username": "ann_b"})
}

/// A message update in a chat, with more fields.
fn message_in(chat: Value, more: Value) -> Value {
    let mut message = json!({"message_id": 7, "from": ann(), "chat": chat, "date": 1_767_225_600});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"update_id": 9, "message": message})
}

fn said(update: &Value) -> (Connection, IncomingMessage) {
    let mut decoded = read(update);
    assert_eq!(decoded.events.len(), 1, "{decoded:?}");
    let incoming = decoded.events.remove(0);
    match incoming.event {
        IncomingEvent::Message(message) => (incoming.connection, message),
        other => panic!("a message, not {other:?}"),
    }
}

fn event(update: &Value) -> IncomingEvent {
    let mut decoded = read(update);
    assert_eq!(decoded.events.len(), 1, "{decoded:?}");
    decoded.events.remove(0).event
}

#[test]
fn unreadable_updates_keep_their_number() {
    let body = json!({"ok": true, "result": [
        {"update_id": 1, "something_new": {"x": 1}},
        {"update_id": 2, "message": {"some fields": "are missing"}},
        {"update_id": 3, "message_reaction": {"chat": group(), "message_id": 1, "date": 1, "old_reaction": [], "new_reaction": []}},
        message_in(dm(), json!({"text": "fine"})),
    ]});
    let items = raw::answer(body.to_string().as_bytes()).unwrap();
    assert_eq!(items.iter().map(|i| (i.id, i.update.is_some())).collect::<Vec<_>>(), [(1, false), (2, false), (3, false), (9, true)]);
    assert_eq!(items[0].kind, "something_new");
    assert!(raw::answer(b"<html>").is_none() && raw::answer(br#"{"ok":true}"#).is_none());
}

#[test]
fn replay() {
    use galatea_testkit::replay::{recordings, show, show_sync};
    let me = Me { id: 7001, user_name: "acme_helper_bot".into() };
    for recording in recordings("telegram") {
        let mut found = Vec::new();
        for update in &recording.events {
            let item = raw::single(update.to_string().as_bytes()).unwrap();
            let decoded = decode(&item.update.unwrap_or_else(|| panic!("{} cannot be read", recording.name)), &me, recording.now());
            found.extend(decoded.syncs.iter().map(show_sync));
            found.extend(decoded.events.iter().map(show));
        }
        recording.check(&found);
    }
}
