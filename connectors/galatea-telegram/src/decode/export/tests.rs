//! Exports in the forms that Telegram Desktop writes.

use super::*;
use serde_json::json;

fn message(id: i64, text: Value) -> Value {
    json!({ "id": id, "type": "message", "date": "2026-01-02T03:04:05", "date_unixtime": "1767323045",
        "from": "Ann", "from_id": "user7", "text": text, "reply_to_message_id": 3 })
}

fn ids(found: &[Incoming]) -> Vec<String> {
    let id = |incoming: &Incoming| match &incoming.event {
        IncomingEvent::Message(message) => message.id.to_string(),
        other => panic!("{other:?}"),
    };
    found.iter().map(id).collect()
}

#[test]
fn a_supergroup_has_the_ids_that_a_bot_sees() {
    let export = json!({ "name": "Bees", "type": "private_supergroup", "id": 1234, "messages": [
        { "id": 1, "type": "service", "date_unixtime": "1", "action": "create_group" },
        message(4, json!(["see ", { "type": "link", "text": "example.org" }, "!"])),
        message(5, json!("")), "nonsense"] });
    let Archive { messages: found, skipped, .. } = read_export(&export).unwrap();
    assert_eq!(skipped, ["message number 4 of chat 1234: it has no `type`"]);
    assert_eq!(ids(&found), ["-1000000001234:4"]);
    let connection = &found[0].connection;
    assert_eq!(connection.room.remote.as_str(), "-1000000001234");
    assert_eq!(connection.entity.as_ref().unwrap().remote.as_str(), "7");
    assert_eq!(found[0].at, Timestamp(1_767_323_045_000));
    let IncomingEvent::Message(message) = &found[0].event else { panic!() };
    assert_eq!(message.legacy_id.as_ref().unwrap().as_str(), "4", "elizaOS's");
    assert_eq!(message.content.text, "see example.org!");
    assert_eq!(message.reply_to.as_ref().unwrap().as_str(), "-1000000001234:3");
}

#[test]
fn where_people_and_bots_count_apart_no_id_is_a_bots() {
    let export = json!({ "chats": { "list": [
        { "name": "Ann", "type": "personal_chat", "id": 7, "messages": [message(4, json!("hi"))] },
        { "name": "old", "type": "private_group", "id": 9, "messages": [message(4, json!("ho"))] },
    ] } });
    assert_eq!(ids(&read_export(&export).unwrap().messages), ["export:7:4", "export:-9:4"]);
}

#[test]
fn ids_out_of_range_are_named() {
    let mut damaged = message(4, json!("hi"));
    damaged["from_id"] = json!(format!("channel{}", i64::MAX));
    let chat = |id: i64, kind: &str| json!({ "type": kind, "id": id, "messages": [damaged] });
    let chats = [
        chat(i64::MIN, "private_group"),
        chat(i64::MAX, "public_channel"),
        chat(i64::MIN, "public_supergroup"),
        chat(-5, "private_group"),
        chat(7, "personal_chat"),
    ];
    let Archive { messages: found, skipped, .. } =
        read_export(&json!({ "chats": { "list": chats } })).unwrap();
    assert_eq!(skipped.len(), 4, "{skipped:?}");
    assert_eq!(ids(&found), ["export:7:4"]);
    let author = found[0].connection.entity.as_ref().unwrap();
    assert_eq!(author.remote.as_str(), "7", "as for a deleted account");
}

#[test]
fn what_cannot_be_read_is_named() {
    let without = |name: &str| {
        let mut message = message(4, json!("hi"));
        message["date"] = json!("soon");
        message[name] = json!("x");
        message
    };
    let export = json!({ "type": "personal_chat", "id": 7, "messages": [
        without("date_unixtime"), without("id"), without("from_id"), message(9, json!({ "x": 1 })) ] });
    let Archive { messages: found, skipped, .. } = read_export(&export).unwrap();
    assert_eq!(found.len(), 1);
    assert!(skipped[0].starts_with("message 4 of chat 7: it has no readable time"), "{skipped:?}");
    assert!(skipped[1].contains("`id` is not a number"), "{skipped:?}");
    assert!(skipped[2].contains("`text` is neither"), "{skipped:?}");
    let Archive { skipped, .. } =
        read_export(&json!({ "chats": { "list": [{ "id": 7 }] } })).unwrap();
    assert!(skipped[0].starts_with("chat 1 of the list: missing field"), "{skipped:?}");
}

#[test]
fn a_chat_with_the_agent_has_the_persons_id() {
    let by = |id: i64, from: i64| {
        let mut message = message(id, json!("hi"));
        message["from_id"] = json!(format!("user{from}"));
        message
    };
    let chat = |messages: Value| json!({ "name": "Eliza", "type": "bot_chat", "id": 555, "messages": messages });
    let both = chat(json!([by(4, 555), by(5, 7)]));
    let Archive { messages: found, skipped, .. } = read_export(&both).unwrap();
    assert!(skipped.is_empty(), "{skipped:?}");
    let rooms: Vec<_> = found.iter().map(|one| one.connection.room.remote.to_string()).collect();
    assert_eq!(rooms, ["7", "7"], "as the bot knows it");
    let author = found[0].connection.entity.as_ref().unwrap();
    assert_eq!(author.remote.as_str(), "555");
    let Archive { messages: found, skipped, .. } = read_export(&chat(json!([by(4, 555)]))).unwrap();
    assert!(found.is_empty() && skipped[0].contains("only the bot wrote"), "{skipped:?}");
    let Archive { messages: found, skipped, .. } =
        read_export(&json!({ "chats": { "list": [both] } })).unwrap();
    assert!(found.is_empty() && skipped[0].contains("by itself"), "{skipped:?}");
}

#[test]
fn chats_that_were_left_are_read() {
    let chat = |id: i64| json!({ "type": "private_group", "id": id, "messages": [message(4, json!("hi"))] });
    let list = |id: i64| json!({ "list": [chat(id)] });
    for (export, expected) in [
        (json!({ "chats": list(8), "left_chats": list(9) }), vec!["export:-8:4", "export:-9:4"]),
        (json!({ "left_chats": list(9) }), vec!["export:-9:4"]),
    ] {
        assert_eq!(ids(&read_export(&export).unwrap().messages), expected);
    }
}

#[test]
fn exports_of_before_2021_are_read() {
    let old = |id: Value, from: Value| json!({ "id": id, "type": "message", "date": "2020-01-02T03:04:05", "from": "Ann", "from_id": from, "text": "hi" });
    let export = json!({ "type": "private_supergroup", "id": 1234, "messages": [
        old(json!(1), json!(7)), old(json!("2"), json!(4_294_967_303_i64)), old(json!(3), json!(8_589_934_599_i64)) ] });
    let Archive { messages: found, skipped, .. } = read_export(&export).unwrap();
    assert!(skipped.is_empty(), "{skipped:?}");
    assert_eq!(ids(&found), ["-1000000001234:1", "-1000000001234:2", "-1000000001234:3"]);
    assert_eq!(found[0].at, Timestamp(1_577_934_245_000));
    let authors: Vec<_> = found
        .iter()
        .map(|one| one.connection.entity.as_ref().unwrap().remote.to_string())
        .collect();
    assert_eq!(authors, ["7", "7", "-1000000001234"], "the last is no person");
}

#[test]
fn other_files_are_none() {
    for other in [json!([]), json!({ "messages": [] }), json!({ "guild": {}, "messages": [] })] {
        assert!(read_export(&other).is_none(), "{other}");
    }
}

#[test]
fn messages_of_a_topic_are_in_its_room() {
    let with = |id: i64, to: Value| {
        let mut message = message(id, json!("hi"));
        message["reply_to_message_id"] = to;
        message
    };
    let export = json!({ "name": "Honey Club", "type": "private_supergroup", "id": 1234, "messages": [
        { "id": 3, "type": "service", "action": "topic_created", "title": "Recipes" },
        with(4, Value::Null), with(7, json!(3)), with(8, json!(7)), with(9, json!(4)) ] });
    let archive = read_export(&export).unwrap();
    assert_eq!(archive.left_out, [("service messages", 1)].into());
    let rooms: Vec<_> = archive.messages.iter().map(|one| &one.connection.room).collect();
    let (main, topic) = ("-1000000001234", "-1000000001234-3");
    assert_eq!(
        rooms.iter().map(|room| room.remote.as_str()).collect::<Vec<_>>(),
        [main, topic, topic, main]
    );
    assert_eq!((rooms[0].name.as_deref(), rooms[0].kind), (Some("Honey Club"), ChannelType::Group));
    assert_eq!(rooms[0].metadata["isForum"], true);
    assert_eq!((rooms[1].name.as_deref(), rooms[1].kind), (Some("Recipes"), ChannelType::Thread));
    assert_eq!(rooms[1].parent.as_ref().unwrap().as_str(), main);
    assert_eq!(rooms[1].metadata["threadId"], "3");
    let replies: Vec<_> = archive
        .messages
        .iter()
        .map(|one| match &one.event {
            IncomingEvent::Message(message) => message.reply_to.as_ref().map(ToString::to_string),
            other => panic!("{other:?}"),
        })
        .collect();
    let id = |number: i64| Some(format!("{main}:{number}"));
    assert_eq!(replies, [None, None, id(7), id(4)], "the topic's first message is none");
}

#[test]
fn messages_without_text_are_kept_and_the_others_counted() {
    let mut photo = message(4, json!(""));
    photo["photo"] = json!("photos/a.jpg");
    let export = json!({ "type": "private_supergroup", "id": 1234, "messages": [
        photo, message(5, json!(" ")), { "id": 6, "type": "unsupported" }] });
    let archive = read_export(&export).unwrap();
    assert_eq!(ids(&archive.messages), ["-1000000001234:4"]);
    let counted =
        [("messages that Telegram Desktop cannot export", 1), ("messages without content", 1)];
    assert_eq!(archive.left_out, counted.into());
    assert!(archive.skipped.is_empty(), "{:?}", archive.skipped);
}
