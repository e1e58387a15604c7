//! Tests of decoding, with updates in the form of the Bot API's documentation.

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

/// A message update in a chat, with additional fields.
fn message_in(chat: Value, more: Value) -> Value {
    let mut message = json!({"message_id": 7, "from": ann(), "chat": chat, "date": 1_767_225_600});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"update_id": 9, "message": message})
}

fn only_message(update: &Value) -> (Connection, IncomingMessage) {
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
    let items = raw::answer(body.to_string().as_bytes()).unwrap().items;
    assert_eq!(
        items.iter().map(|i| (i.id, i.update.is_some())).collect::<Vec<_>>(),
        [(1, false), (2, false), (3, false), (9, true)]
    );
    assert_eq!(items[0].kind, "something_new");
    assert!(items.iter().all(|i| !i.lost), "none of them contains a message");
    for broken in ["<html>", r#"{"ok":true}"#, r#"{"ok":true,"result":[{"update_id":1}"#] {
        assert!(raw::answer(broken.as_bytes()).is_none(), "{broken}");
    }
}

/// Parses an answer with the given update and three good ones, and asserts that the good ones
/// survive.
fn among(poison: &str) -> Vec<raw::RawUpdate> {
    let fine = message_in(dm(), json!({"text": "fine"}));
    let answer = raw::answer(
        format!(r#"{{"ok":true,"result":[{poison},{fine},{fine},{fine}]}}"#).as_bytes(),
    )
    .unwrap_or_else(|| panic!("{poison}"));
    assert_eq!(
        answer.items.iter().filter(|i| i.update.is_some() && i.id == 9).count(),
        3,
        "{poison}"
    );
    answer.items
}

#[test]
fn one_poisonous_update_is_no_others_trouble() {
    let text = |text: &str| {
        format!(
            r#"{{"update_id":8,"message":{{"message_id":7,"date":1,"chat":{},"from":{},"text":{text}}}}}"#,
            dm(),
            ann()
        )
    };
    let first_event = |item: &raw::RawUpdate| {
        decode(item.update.as_ref().unwrap(), &me(), NOW).events.remove(0).event
    };
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    // Parsed, with the malformed part replaced or dropped.
    let half = among(&text(r#""a\ud83db""#));
    let IncomingEvent::Message(message) = first_event(&half[0]) else { panic!("a message") };
    assert_eq!(message.content.text, "a\u{FFFD}b");
    for depth in [120, 130, 50_000] {
        let item = among(&text(&format!(r#""fine","new_field":{}"#, deep(depth)))).remove(0);
        assert!(
            matches!(first_event(&item), IncomingEvent::Message(m) if m.content.text == "fine"),
            "{depth}"
        );
    }
    // Skipped by number; reported as lost if the update may contain a message.
    for (poison, id, lost) in [
        (text("1e999"), 8, true),
        (text(&deep(200)), 8, true),
        (r#"{"update_id":2147483648,"message":{"text":"x"}}"#.into(), 1 << 31, true),
        (r#"{"update_id":-5,"message":nonsense}"#.into(), -5, true),
        (r#"{"update_id":9223372036854775807,"poll":{"x":1}}"#.into(), i64::MAX, false),
        (format!(r#"{{"update_id":4,"evil\u001b[31m\nERROR {}":1}}"#, "x".repeat(1_000)), 4, false),
    ] {
        let item = among(&poison).remove(0);
        assert_eq!((item.id, item.update.is_none(), item.lost), (id, true, lost), "{poison}");
        assert!(
            item.kind.chars().count() <= 41
                && item.kind.chars().all(|c| c.is_ascii_alphanumeric() || "_?-./…".contains(c)),
            "{}",
            item.kind
        );
    }
    let large = text(r#""fine""#).replace(":8,", ":4294967296,");
    assert_eq!(
        (among(&large)[0].id, among(&large)[0].update.is_some()),
        (1 << 32, true),
        "a number beyond teloxide's"
    );
    for poison in ["7", r#"{"update_id":"x"}"#, r#"{"update_id":1e30}"#, "[]"] {
        let answer =
            raw::answer(format!(r#"{{"ok":true,"result":[{poison}]}}"#).as_bytes()).unwrap();
        assert_eq!((answer.items.len(), answer.without_number), (0, 1), "{poison}");
    }
}

#[test]
fn the_number_of_what_is_too_long_is_found_in_its_beginning() {
    let begins = r#"{"ok":true,"result":[{"update_id":77, "message":{"text":"xxxx"#;
    assert_eq!(raw::first_of(begins.as_bytes()).map(|i| (i.id, i.lost)), Some((77, true)));
    assert_eq!(raw::cut(br#"{"update_id":78,"mess"#).map(|i| i.id), Some(78));
    for none in [
        r#"{"ok":true,"result":[{"upda"#,
        r#"{"ok":true,"#,
        r#"{"ok":true,"result":[]}"#,
        r#"{"ok":true,"result":[{"update_id":7"#,
    ] {
        assert!(raw::first_of(none.as_bytes()).is_none(), "{none}");
    }
}

#[test]
fn replay() {
    use galatea_testkit::replay::{recordings, show, show_sync};
    let me = Me { id: 7001, user_name: "acme_helper_bot".into() };
    for recording in recordings("telegram") {
        let mut found = Vec::new();
        for update in &recording.events {
            let item = raw::single(update.to_string().as_bytes()).unwrap();
            let decoded = decode(
                &item.update.unwrap_or_else(|| panic!("{} cannot be read", recording.name)),
                &me,
                recording.now(),
            );
            found.extend(decoded.syncs.iter().map(show_sync));
            found.extend(decoded.events.iter().map(show));
        }
        recording.check(&found);
    }
}
