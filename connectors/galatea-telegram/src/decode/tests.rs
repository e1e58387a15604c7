//! Decoding: recordings in the shape of the Bot API's documentation, and mutations of them.

use galatea_core::{ChannelType, OwnStatus, world::Role};
use proptest::prelude::*;
use serde_json::Value;
use teloxide::types::MessageEntity;

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
fn a_private_message() {
    let (connection, message) = said(&message_in(dm(), json!({"text": "hello"})));
    assert_eq!(connection.world.remote.as_str(), "501");
    assert_eq!((connection.room.remote.as_str(), connection.room.kind, connection.room.name.as_deref()), ("501", ChannelType::Dm, Some("Ann B")));
    let who = connection.entity.unwrap();
    assert_eq!((who.remote.as_str(), who.name.as_deref(), who.user_name.as_deref(), who.is_bot), ("501", Some("Ann B"), Some("ann_b"), false));
    assert_eq!((message.id.as_str(), message.legacy_id.unwrap().as_str()), ("501:7", "7"));
    assert_eq!((message.content.text.as_str(), message.content.source.as_deref()), ("hello", Some("telegram")));
    assert!(!message.addressed.mention && !message.addressed.reply && !message.from_self);
}

#[test]
fn a_group_message_has_its_link() {
    let (connection, message) = said(&message_in(group(), json!({"text": "hello"})));
    assert_eq!((connection.room.remote.as_str(), connection.room.kind), ("-1001234", ChannelType::Group));
    assert_eq!(connection.room.metadata["username"], "garden");
    assert_eq!(message.content.url.as_deref(), Some("https://t.me/garden/7"));
    assert!(read(&message_in(group(), json!({"text": "x"}))).place.is_some());
    assert!(read(&message_in(dm(), json!({"text": "x"}))).place.is_none());
}

#[test]
fn a_topic_is_a_room_of_its_own_and_general_is_the_chat() {
    let mut forum = group();
    forum["is_forum"] = json!(true);
    let root = json!({"message_id": 42, "from": {"id": 7001, "is_bot": true, "first_name": "G"}, "chat": forum, "date": 1, "message_thread_id": 42, "is_topic_message": true,
        "forum_topic_created": {"name": "Roses", "icon_color": 7322096}});
    let (connection, message) =
        said(&message_in(forum.clone(), json!({"text": "hi", "message_thread_id": 42, "is_topic_message": true, "reply_to_message": root})));
    assert_eq!((connection.room.remote.as_str(), connection.room.kind), ("-1001234-42", ChannelType::Thread));
    assert_eq!(connection.room.parent.unwrap().as_str(), "-1001234");
    assert_eq!(connection.room.metadata["threadId"], "42");
    assert_eq!(connection.room.metadata["isForumTopic"], true);
    assert_eq!(connection.room.metadata["parentChatId"], "-1001234");
    assert_eq!((message.reply_to, message.addressed.reply), (None, false), "the topic's root is no reply, even if we opened it");
    let (general, _) = said(&message_in(forum, json!({"text": "hi"})));
    assert_eq!(general.room.remote.as_str(), "-1001234");
    let (thread, _) = said(&message_in(group(), json!({"text": "hi", "message_thread_id": 3})));
    assert_eq!(thread.room.remote.as_str(), "-1001234", "a reply thread outside a forum is no topic");
}

#[test]
fn topics_and_chats_are_named_by_service_messages() {
    let created =
        message_in(group(), json!({"message_thread_id": 7, "is_topic_message": true, "forum_topic_created": {"name": "Roses", "icon_color": 7322096}}));
    let decoded = read(&created);
    assert_eq!((decoded.events.len(), decoded.syncs[0].rooms[0].remote.as_str(), decoded.syncs[0].rooms[0].name.as_deref()), (0, "-1001234-7", Some("Roses")));
    let edited = message_in(group(), json!({"message_thread_id": 5, "is_topic_message": true, "forum_topic_edited": {"name": "Tulips"}}));
    assert_eq!(read(&edited).syncs[0].rooms[0].name.as_deref(), Some("Tulips"));
    assert!(
        read(&message_in(group(), json!({"message_thread_id": 5, "is_topic_message": true, "forum_topic_edited": {"icon_custom_emoji_id": "1"}})))
            .syncs
            .is_empty()
    );
    let title = read(&message_in(group(), json!({"new_chat_title": "New"})));
    assert_eq!((title.syncs[0].world.name.as_deref(), title.syncs[0].rooms[0].name.as_deref()), (Some("New"), Some("New")));
}

#[test]
fn chats_can_speak() {
    let channel = json!({"id": -1009, "type": "channel", "title": "News"});
    let post = json!({"update_id": 1, "channel_post": {"message_id": 3, "sender_chat": channel, "chat": channel, "date": 5, "text": "news"}});
    let (connection, _) = said(&post);
    assert_eq!((connection.room.kind, connection.entity.unwrap().remote.as_str().to_owned()), (ChannelType::Feed, "-1009".to_owned()));
    let anonymous = json!({"id": 1087968824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot"});
    let (connection, message) = said(&message_in(group(), json!({"from": anonymous, "sender_chat": group(), "text": "rules"})));
    let who = connection.entity.unwrap();
    assert_eq!((who.remote.as_str(), who.name.as_deref(), who.is_bot, message.from_self), ("-1001234", Some("Garden"), false, false));
}

#[test]
fn mentions_are_found_by_entity_in_any_case() {
    let mention = |text: &str, entities: Value| said(&message_in(group(), json!({"text": text, "entities": entities}))).1.addressed.mention;
    assert!(mention("🤖 @galatea_bot hi", json!([{"type": "mention", "offset": 3, "length": 12}])));
    assert!(!mention("🤖 @galatea_bot hi", json!([])), "words alone are no mention");
    assert!(!mention("@galatea_bots", json!([{"type": "mention", "offset": 0, "length": 13}])));
    assert!(mention("hey you", json!([{"type": "text_mention", "offset": 4, "length": 3, "user": {"id": 7001, "is_bot": true, "first_name": "G"}}])));
    assert!(!mention("hey you", json!([{"type": "text_mention", "offset": 4, "length": 3, "user": ann()}])));
    assert!(!mention("🤖", json!([{"type": "mention", "offset": 1, "length": 1}])), "half a character is nothing");
    assert!(!mention("x", json!([{"type": "mention", "offset": 0, "length": 900}])));
}

#[test]
fn replies_to_us_are_told_from_replies_to_others() {
    let reply = |from: Value| {
        let earlier = json!({"message_id": 5, "from": from, "chat": group(), "date": 1, "text": "earlier"});
        said(&message_in(group(), json!({"text": "yes", "reply_to_message": earlier}))).1
    };
    let ours = reply(json!({"id": 7001, "is_bot": true, "first_name": "G"}));
    assert_eq!((ours.addressed.reply, ours.reply_to.unwrap().as_str()), (true, "-1001234:5"));
    assert!(!reply(ann()).addressed.reply);
}

#[test]
fn commands_are_ours_unless_they_name_another() {
    let command =
        |text: &str, length: usize| said(&message_in(group(), json!({"text": text, "entities": [{"type": "bot_command", "offset": 0, "length": length}]}))).1;
    let plain = command("/ask why?", 4).command.unwrap();
    assert_eq!((plain.name.as_str(), plain.args.as_str()), ("ask", "why?"));
    let named = command("/Ask@GALATEA_bot  why\nnow", 16);
    assert_eq!((named.command.clone().unwrap().name.as_str(), named.command.unwrap().args.as_str(), named.addressed.mention), ("ask", "why\nnow", true));
    let other = command("/ask@other_bot why", 14);
    assert_eq!((other.command, other.addressed.mention), (None, false));
    let later = said(&message_in(dm(), json!({"text": "use /ask", "entities": [{"type": "bot_command", "offset": 4, "length": 4}]}))).1;
    assert_eq!(later.command, None);
    let start = command("/start own_4fK", 6).command.unwrap();
    assert_eq!((start.name.as_str(), start.args.as_str()), ("start", "own_4fK"));
}

#[test]
fn entities_become_markdown() {
    let text = |text: &str, entities: Value| said(&message_in(dm(), json!({"text": text, "entities": entities}))).1.content.text;
    let e = |kind: &str, offset: usize, length: usize| json!({"type": kind, "offset": offset, "length": length});
    assert_eq!(text("a bold move", json!([e("bold", 2, 5)])), "a **bold** move", "markers stick to words");
    assert_eq!(text("both", json!([e("bold", 0, 4), e("italic", 0, 4)])), "***both***");
    assert_eq!(text("s h c", json!([e("strikethrough", 0, 1), e("spoiler", 2, 1), e("code", 4, 1)])), "~~s~~ ||h|| `c`");
    assert_eq!(text("🤖é", json!([e("italic", 2, 1)])), "🤖*é*");
    assert_eq!(text("a`b", json!([e("code", 0, 3)])), "``a`b``");
    assert_eq!(text("see x", json!([{"type": "text_link", "offset": 4, "length": 1, "url": "https://a.b/"}])), "see [x](https://a.b/)");
    assert_eq!(text("hi Ann", json!([{"type": "text_mention", "offset": 3, "length": 3, "user": ann()}])), "hi [Ann](tg://user?id=501)");
    assert_eq!(text("q1\nq2\nend", json!([e("blockquote", 0, 5)])), "> q1\n> q2\nend");
    assert_eq!(text("run let x; now", json!([{"type": "pre", "offset": 4, "length": 6, "language": "rust"}])), "run \n```rust\nlet x;\n```\n now");
    assert_eq!(text("2*3 @x #y", json!([e("mention", 4, 2), e("hashtag", 7, 2)])), "2*3 @x #y", "words stay as they are");
}

#[test]
fn files_become_attachments() {
    let media = |more: Value| said(&message_in(dm(), more)).1.content;
    let size = |id: &str, w: u32| json!({"file_id": id, "file_unique_id": id, "width": w, "height": w, "file_size": w});
    let photo = media(
        json!({"photo": [size("s", 90), size("l", 900), size("m", 300)], "caption": "look *here*", "caption_entities": [{"type": "bold", "offset": 0, "length": 4}]}),
    );
    assert_eq!((photo.text.as_str(), photo.attachments[0].url.as_str(), photo.attachments[0].size), ("**look** *here*", "telegram:l", Some(900)));
    let voice = media(json!({"voice": {"file_id": "v", "file_unique_id": "v", "duration": 3, "mime_type": "audio/ogg"}}));
    assert_eq!((voice.attachments[0].source.as_str(), voice.attachments[0].size), ("Voice", None));
    let sticker = media(
        json!({"sticker": {"file_id": "k", "file_unique_id": "k", "type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false, "emoji": "😀"}}),
    );
    assert_eq!((sticker.attachments[0].description.as_str(), sticker.attachments[0].mime.as_deref()), ("Sticker 😀", Some("image/webp")));
    let document = media(json!({"document": {"file_id": "d", "file_unique_id": "d", "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 5}}));
    assert_eq!((document.attachments[0].title.as_str(), document.attachments[0].mime.as_deref()), ("a.pdf", Some("application/pdf")));
    let animation = json!({"file_id": "g", "file_unique_id": "g", "width": 1, "height": 1, "duration": 1, "mime_type": "video/mp4"});
    assert_eq!(media(json!({"animation": animation, "document": {"file_id": "g", "file_unique_id": "g"}})).attachments[0].source, "Animation");
    assert_eq!(media(json!({"video_note": {"file_id": "n", "file_unique_id": "n", "length": 9, "duration": 1}})).attachments[0].source, "VideoNote");
}

#[test]
fn what_is_not_a_file_is_said_in_words() {
    let words = |more: Value| said(&message_in(dm(), more)).1.content.text;
    assert_eq!(words(json!({"location": {"latitude": 52.5, "longitude": 13.4}})), "[location: 52.5, 13.4]");
    assert_eq!(words(json!({"contact": {"phone_number": "+1", "first_name": "Bob"}})), "[contact: Bob, +1]");
    assert_eq!(words(json!({"dice": {"emoji": "🎲", "value": 4}})), "[dice 🎲: 4]");
    let option = |t: &str| json!({"text": t, "voter_count": 0});
    let poll = json!({"id": "1", "question": "tea?", "options": [option("yes"), option("no")], "total_voter_count": 0, "is_closed": false, "is_anonymous": true, "type": "regular", "allows_multiple_answers": false});
    assert_eq!(words(json!({"poll": poll})), "[poll: tea? (yes / no)]");
    let place = json!({"location": {"latitude": 1.0, "longitude": 2.0}, "title": "Café", "address": "Main St"});
    assert_eq!(words(json!({"venue": place, "location": {"latitude": 1.0, "longitude": 2.0}})), "[place: Café, Main St (1, 2)]");
}

#[test]
fn forwards_and_quotes_are_kept() {
    let content = said(&message_in(
        dm(),
        json!({"text": "x", "forward_origin": {"type": "hidden_user", "sender_user_name": "Zoe", "date": 1}, "quote": {"text": "part", "position": 0}}),
    ))
    .1
    .content;
    assert_eq!((&content.extra["forwardedFrom"], &content.extra["quote"]), (&json!("Zoe"), &json!("part")));
}

#[test]
fn edits_name_their_message() {
    let update = json!({"update_id": 2, "edited_message": {"message_id": 7, "from": ann(), "chat": dm(), "date": 1, "edit_date": 60, "text": "better"}});
    let decoded = read(&update);
    assert_eq!(decoded.events[0].at, Timestamp(60_000));
    let IncomingEvent::Edited { id, content } = &decoded.events[0].event else { panic!("an edit") };
    assert_eq!((id.as_str(), content.text.as_str()), ("501:7", "better"));
}

#[test]
fn presses_are_answered_and_told() {
    let on = json!({"message_id": 8, "from": {"id": 7001, "is_bot": true, "first_name": "G"}, "chat": group(), "date": 1, "text": "choose", "message_thread_id": 42, "is_topic_message": true});
    let decoded = read(&json!({"update_id": 3, "callback_query": {"id": "q1", "from": ann(), "message": on, "chat_instance": "c", "data": "yes"}}));
    assert_eq!(decoded.press.as_deref(), Some("q1"));
    assert_eq!((decoded.events[0].connection.room.remote.as_str(), decoded.events[0].at), ("-1001234-42", NOW));
    let IncomingEvent::Pressed { id, message, data } = &decoded.events[0].event else { panic!("a press") };
    assert_eq!((id.as_str(), message.as_ref().unwrap().as_str(), data.as_str()), ("press:q1", "-1001234:8", "yes"));
    let inline = read(&json!({"update_id": 3, "callback_query": {"id": "q2", "from": ann(), "inline_message_id": "i", "chat_instance": "c", "data": "yes"}}));
    assert_eq!((inline.press.as_deref(), inline.events.len()), (Some("q2"), 0));
    let gone = json!({"message_id": 8, "chat": dm(), "date": 0});
    assert_eq!(
        read(&json!({"update_id": 3, "callback_query": {"id": "q3", "from": ann(), "message": gone, "chat_instance": "c", "data": "yes"}})).events.len(),
        1
    );
}

#[test]
fn reactions_are_compared() {
    let emoji = |e: &str| json!({"type": "emoji", "emoji": e});
    let update = |old: Value, new: Value| json!({"update_id": 4, "message_reaction": {"chat": group(), "message_id": 7, "user": ann(), "date": 9, "old_reaction": old, "new_reaction": new}});
    let IncomingEvent::Reacted { id, added, removed } =
        event(&update(json!([emoji("👍"), emoji("❤")]), json!([emoji("❤"), {"type": "custom_emoji", "custom_emoji_id": "5"}])))
    else {
        panic!("a reaction")
    };
    assert_eq!((id.as_str(), added, removed), ("-1001234:7", vec!["custom:5".to_owned()], vec!["👍".to_owned()]));
    assert!(read(&update(json!([emoji("👍")]), json!([emoji("👍")]))).events.is_empty());
}

fn member_update(field: &str, who: Value, old: Value, new: Value) -> Value {
    let with = |mut status: Value| {
        status["user"] = who.clone();
        status
    };
    json!({"update_id": 5, field: {"chat": group(), "from": ann(), "date": 9, "old_chat_member": with(old), "new_chat_member": with(new)}})
}

fn administrator() -> Value {
    json!({"status": "administrator", "is_anonymous": false, "can_be_edited": false, "can_manage_chat": true, "can_change_info": true, "can_delete_messages": true,
        "can_manage_video_chats": true, "can_invite_users": true, "can_restrict_members": true, "can_promote_members": false})
}

#[test]
fn our_own_standing_is_told() {
    let us = json!({"id": 7001, "is_bot": true, "first_name": "G"});
    let status = |old: &str, new: Value| {
        let decoded = read(&member_update("my_chat_member", us.clone(), json!({"status": old}), new));
        let IncomingEvent::OwnStatus(status) = decoded.events[0].event else { panic!("a status") };
        (status, decoded.refresh)
    };
    assert_eq!(status("left", json!({"status": "member"})), (OwnStatus::Joined, true));
    assert_eq!(status("member", administrator()), (OwnStatus::Admin, true));
    assert_eq!(status("member", json!({"status": "left"})), (OwnStatus::Removed, false));
    assert_eq!(status("member", json!({"status": "kicked", "until_date": 0})), (OwnStatus::Removed, false));
}

#[test]
fn members_come_go_and_change_their_role() {
    let bob = json!({"id": 777, "is_bot": false, "first_name": "Bob"});
    let update = |old: Value, new: Value| read(&member_update("chat_member", bob.clone(), old, new));
    let joined = update(json!({"status": "left"}), json!({"status": "member"}));
    assert!(matches!(&joined.events[0].event, IncomingEvent::Joined { entities } if entities[0].remote.as_str() == "777"));
    let left = update(json!({"status": "member"}), json!({"status": "left"}));
    assert!(matches!(&left.events[0].event, IncomingEvent::Left { .. }));
    let promoted = update(json!({"status": "member"}), administrator());
    assert_eq!((promoted.events.len(), &promoted.syncs[0].world.roles), (0, &vec![(RemoteId("777".into()), Role::Admin)]));
    let demoted = update(administrator(), json!({"status": "member"}));
    assert_eq!(demoted.syncs[0].world.roles, [(RemoteId("777".into()), Role::None)]);
    let owner = update(json!({"status": "left"}), json!({"status": "creator", "is_anonymous": false}));
    assert_eq!(owner.events[0].connection.world.owner, Some(RemoteId("777".into())));
    assert!(update(json!({"status": "member"}), json!({"status": "member"})).events.is_empty());
}

#[test]
fn service_messages_move_people_and_rooms() {
    let joined = event(&message_in(group(), json!({"new_chat_members": [ann(), {"id": 7001, "is_bot": true, "first_name": "G"}]})));
    assert!(matches!(joined, IncomingEvent::Joined { entities } if entities.len() == 1));
    assert!(read(&message_in(group(), json!({"new_chat_members": [{"id": 7001, "is_bot": true, "first_name": "G"}]}))).events.is_empty());
    assert!(matches!(event(&message_in(group(), json!({"left_chat_member": ann()}))), IncomingEvent::Left { .. }));
    let old = json!({"id": -55, "type": "group", "title": "Garden"});
    assert_eq!(event(&message_in(old, json!({"migrate_to_chat_id": -1001234}))), IncomingEvent::RoomMoved { to: RemoteId("-1001234".into()) });
    assert!(read(&message_in(group(), json!({"migrate_from_chat_id": -55}))).events.is_empty());
    let pinned = json!({"message_id": 5, "chat": group(), "date": 1, "text": "x"});
    assert!(read(&message_in(group(), json!({"pinned_message": pinned}))).events.is_empty());
}

#[test]
fn albums_are_marked() {
    let photo = json!([{"file_id": "s", "file_unique_id": "s", "width": 1, "height": 1}]);
    let decoded = read(&message_in(dm(), json!({"photo": photo, "media_group_id": "g1"})));
    assert_eq!(decoded.album, Some((501, "g1".into())));
}

#[test]
fn one_unknown_field_does_not_swallow_a_message() {
    let new_entity = message_in(
        dm(),
        json!({"text": "on Monday **x**", "entities": [{"type": "date_time", "offset": 3, "length": 6, "unix_time": 5}, {"type": "bold", "offset": 0, "length": 2}]}),
    );
    assert_eq!(said(&new_entity).1.content.text, "**on** Monday **x**");
    let voice = message_in(dm(), json!({"voice": {"file_id": "v", "file_unique_id": "v", "duration": 3}}));
    assert_eq!(said(&voice).1.content.attachments[0].url, "telegram:v", "mime_type is optional in the Bot API");
    let odd = message_in(dm(), json!({"caption": "kept", "hologram": {"file_id": "h"}}));
    assert_eq!(said(&odd).1.content.text, "kept");
    let reply = json!({"message_id": 5, "from": {"id": 7001, "is_bot": true, "first_name": "G"}, "chat": dm(), "date": 1, "hologram": {}});
    let external = message_in(dm(), json!({"text": "kept too", "external_reply": {"origin": {"type": "new_kind"}}, "reply_to_message": reply}));
    assert!(said(&external).1.addressed.reply);
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

/// Every recording used for mutation.
fn recordings() -> Vec<Value> {
    let emoji = json!([{"type": "emoji", "emoji": "👍"}]);
    let photo = json!([{"file_id": "s", "file_unique_id": "s", "width": 1, "height": 1}]);
    let us = json!({"id": 7001, "is_bot": true, "first_name": "G"});
    vec![
        message_in(
            dm(),
            json!({"text": "🤖 /ask@galatea_bot é", "entities": [{"type": "bold", "offset": 0, "length": 9}, {"type": "bot_command", "offset": 3, "length": 16}, {"type": "pre", "language": "x", "offset": 1, "length": 20}]}),
        ),
        message_in(
            group(),
            json!({"photo": photo, "caption": "c", "media_group_id": "g", "message_thread_id": 3, "is_topic_message": true, "reply_to_message": {"message_id": 3, "date": 1, "chat": group(), "text": "x"}}),
        ),
        message_in(group(), json!({"voice": {"file_id": "v", "file_unique_id": "v", "duration": 3, "mime_type": "audio/ogg"}})),
        message_in(group(), json!({"new_chat_members": [ann()]})),
        message_in(group(), json!({"migrate_to_chat_id": -1001})),
        message_in(group(), json!({"forum_topic_created": {"name": "n", "icon_color": 1}, "message_thread_id": 3, "is_topic_message": true})),
        json!({"update_id": 2, "edited_message": {"message_id": 7, "from": ann(), "chat": dm(), "date": 1, "edit_date": 60, "text": "better"}}),
        json!({"update_id": 3, "callback_query": {"id": "q", "from": ann(), "message": {"message_id": 8, "chat": dm(), "date": 1, "text": "x"}, "chat_instance": "c", "data": "y"}}),
        json!({"update_id": 4, "message_reaction": {"chat": group(), "message_id": 7, "user": ann(), "date": 9, "old_reaction": emoji, "new_reaction": []}}),
        member_update("my_chat_member", us, json!({"status": "left"}), json!({"status": "member"})),
        member_update("chat_member", ann(), json!({"status": "member"}), administrator()),
    ]
}

/// Changes the value at the nth place of a JSON tree.
fn mutate(value: &mut Value, at: &mut usize, change: &Mutation) {
    if *at == 0 {
        *at = usize::MAX;
        match change {
            Mutation::Replace(with) => *value = with.clone(),
            Mutation::Drop => {
                if let Some(object) = value.as_object_mut() {
                    object.shift_remove(&object.keys().next().cloned().unwrap_or_default());
                } else {
                    *value = Value::Null;
                }
            }
            Mutation::Nest => *value = json!({"update_id": value.clone(), "text": [value.clone()]}),
        }
        return;
    }
    *at = at.saturating_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|v| {
            if *at != usize::MAX {
                mutate(v, at, change)
            }
        }),
        Value::Object(fields) => fields.values_mut().for_each(|v| {
            if *at != usize::MAX {
                mutate(v, at, change)
            }
        }),
        _ => {}
    }
}

#[derive(Debug, Clone)]
enum Mutation {
    Replace(Value),
    Drop,
    Nest,
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("")),
        Just(json!("🤖")),
        Just(json!(1.5)),
        any::<i64>().prop_map(|n| json!(n)),
        Just(json!(u64::MAX)),
        Just(json!(i64::MIN)),
        (0_usize..40).prop_map(|n| json!(n)),
        "\\PC{0,20}".prop_map(|s| json!(s)),
        Just(json!({"type": "private", "id": 1})),
        Just(json!({"type": "text_link", "url": "x"})),
    ];
    prop_oneof![4 => value.prop_map(Mutation::Replace), 2 => Just(Mutation::Drop), 1 => Just(Mutation::Nest)]
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn mutated_updates_never_panic(which in 0_usize..11, changes in proptest::collection::vec((1_usize..60, mutation()), 1..5)) {
        let mut update = recordings().swap_remove(which);
        for (at, change) in &changes {
            mutate(&mut update, &mut at.clone(), change);
        }
        let body = json!({"ok": true, "result": [update]}).to_string();
        for item in raw::answer(body.as_bytes()).into_iter().flatten() {
            if let Some(update) = &item.update {
                let _ = decode(update, &me(), NOW);
            }
        }
        let _ = raw::single(update.to_string().as_bytes());
    }

    #[test]
    fn text_with_any_entities_becomes_text(text in "\\PC{0,40}", entities in proptest::collection::vec((0_usize..45, 0_usize..45, 0_usize..7), 0..12)) {
        let kinds = ["bold", "italic", "code", "pre", "blockquote", "spoiler", "mention"];
        let entities: Vec<MessageEntity> = entities.iter().map(|(offset, length, kind)| serde_json::from_value(json!({"type": kinds[*kind], "offset": offset, "length": length})).unwrap()).collect();
        let made = text::to_markdown(&text, &entities);
        // Every character is there, in order: markers are only added.
        let mut rest = made.chars();
        for c in text.chars().filter(|c| !c.is_whitespace()) {
            prop_assert!(rest.any(|m| m == c), "{c:?} is missing in {made:?}");
        }
        let _ = text::mentions(&text, &entities, &me());
        let _ = text::command(&text, &entities, &me());
    }

    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = raw::answer(&bytes);
        let _ = raw::single(&bytes);
    }
}
