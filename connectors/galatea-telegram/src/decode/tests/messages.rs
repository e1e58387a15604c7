//! Tests of messages: place, sender, whom they address, text and files.

use super::*;
use galatea_core::ChannelType;

#[test]
fn a_private_message() {
    let (connection, message) = only_message(&message_in(dm(), json!({"text": "hello"})));
    assert_eq!(connection.world.remote.as_str(), "501");
    assert_eq!(
        (connection.room.remote.as_str(), connection.room.kind, connection.room.name.as_deref()),
        ("501", ChannelType::Dm, Some("Ann B"))
    );
    let who = connection.entity.unwrap();
    assert_eq!(
        (who.remote.as_str(), who.name.as_deref(), who.user_name.as_deref(), who.is_bot),
        ("501", Some("Ann B"), Some("ann_b"), false)
    );
    assert_eq!((message.id.as_str(), message.legacy_id.unwrap().as_str()), ("501:7", "7"));
    assert_eq!(
        (message.content.text.as_str(), message.content.source.as_deref()),
        ("hello", Some("telegram"))
    );
    assert!(!message.addressed.mention && !message.addressed.reply && !message.from_self);
}

#[test]
fn a_group_message_has_its_link() {
    let (connection, message) = only_message(&message_in(group(), json!({"text": "hello"})));
    assert_eq!(
        (connection.room.remote.as_str(), connection.room.kind),
        ("-1001234", ChannelType::Group)
    );
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
    let (connection, message) = only_message(&message_in(
        forum.clone(),
        json!({"text": "hi", "message_thread_id": 42, "is_topic_message": true, "reply_to_message": root}),
    ));
    assert_eq!(
        (connection.room.remote.as_str(), connection.room.kind),
        ("-1001234-42", ChannelType::Thread)
    );
    assert_eq!(connection.room.parent.unwrap().as_str(), "-1001234");
    assert_eq!(connection.room.metadata["threadId"], "42");
    assert_eq!(connection.room.metadata["isForumTopic"], true);
    assert_eq!(connection.room.metadata["parentChatId"], "-1001234");
    assert_eq!(
        (message.reply_to, message.addressed.reply),
        (None, false),
        "the topic's root does not make a reply, even if the bot opened it"
    );
    let (general, _) = only_message(&message_in(forum, json!({"text": "hi"})));
    assert_eq!(general.room.remote.as_str(), "-1001234");
    let (thread, _) =
        only_message(&message_in(group(), json!({"text": "hi", "message_thread_id": 3})));
    assert_eq!(
        thread.room.remote.as_str(),
        "-1001234",
        "a reply thread outside a forum is not a topic"
    );
}

#[test]
fn topics_and_chats_are_named_by_service_messages() {
    let created = message_in(
        group(),
        json!({"message_thread_id": 7, "is_topic_message": true, "forum_topic_created": {"name": "Roses", "icon_color": 7322096}}),
    );
    let decoded = read(&created);
    assert_eq!(
        (
            decoded.events.len(),
            decoded.syncs[0].rooms[0].remote.as_str(),
            decoded.syncs[0].rooms[0].name.as_deref()
        ),
        (0, "-1001234-7", Some("Roses"))
    );
    let edited = message_in(
        group(),
        json!({"message_thread_id": 5, "is_topic_message": true, "forum_topic_edited": {"name": "Tulips"}}),
    );
    assert_eq!(read(&edited).syncs[0].rooms[0].name.as_deref(), Some("Tulips"));
    assert!(
        read(&message_in(group(), json!({"message_thread_id": 5, "is_topic_message": true, "forum_topic_edited": {"icon_custom_emoji_id": "1"}})))
            .syncs
            .is_empty()
    );
    let title = read(&message_in(group(), json!({"new_chat_title": "New"})));
    assert_eq!(
        (title.syncs[0].world.name.as_deref(), title.syncs[0].rooms[0].name.as_deref()),
        (Some("New"), Some("New"))
    );
}

#[test]
fn chats_can_speak() {
    let channel = json!({"id": -1009, "type": "channel", "title": "News"});
    let post = json!({"update_id": 1, "channel_post": {"message_id": 3, "sender_chat": channel, "chat": channel, "date": 5, "text": "news"}});
    let (connection, _) = only_message(&post);
    assert_eq!(
        (connection.room.kind, connection.entity.unwrap().remote.as_str().to_owned()),
        (ChannelType::Feed, "-1009".to_owned())
    );
    let anonymous = json!({"id": 1087968824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot"});
    let (connection, message) = only_message(&message_in(
        group(),
        json!({"from": anonymous, "sender_chat": group(), "text": "rules"}),
    ));
    let who = connection.entity.unwrap();
    assert_eq!(
        (who.remote.as_str(), who.name.as_deref(), who.is_bot, message.from_self),
        ("-1001234", Some("Garden"), false, false)
    );
}

#[test]
fn mentions_are_found_by_entity_in_any_case() {
    let mention = |text: &str, entities: Value| {
        only_message(&message_in(group(), json!({"text": text, "entities": entities})))
            .1
            .addressed
            .mention
    };
    assert!(mention("🤖 @galatea_bot hi", json!([{"type": "mention", "offset": 3, "length": 12}])));
    assert!(!mention("🤖 @galatea_bot hi", json!([])), "a name without an entity is not a mention");
    assert!(!mention("@galatea_bots", json!([{"type": "mention", "offset": 0, "length": 13}])));
    assert!(mention(
        "hey you",
        json!([{"type": "text_mention", "offset": 4, "length": 3, "user": {"id": 7001, "is_bot": true, "first_name": "G"}}])
    ));
    assert!(!mention(
        "hey you",
        json!([{"type": "text_mention", "offset": 4, "length": 3, "user": ann()}])
    ));
    assert!(
        !mention("🤖", json!([{"type": "mention", "offset": 1, "length": 1}])),
        "an entity inside a character is dropped"
    );
    assert!(!mention("x", json!([{"type": "mention", "offset": 0, "length": 900}])));
}

#[test]
fn replies_to_us_are_distinguished_from_replies_to_others() {
    let reply = |from: Value| {
        let earlier =
            json!({"message_id": 5, "from": from, "chat": group(), "date": 1, "text": "earlier"});
        only_message(&message_in(group(), json!({"text": "yes", "reply_to_message": earlier}))).1
    };
    let ours = reply(json!({"id": 7001, "is_bot": true, "first_name": "G"}));
    assert_eq!((ours.addressed.reply, ours.reply_to.unwrap().as_str()), (true, "-1001234:5"));
    assert!(!reply(ann()).addressed.reply);
}

#[test]
fn commands_are_ours_unless_they_name_another() {
    let command = |text: &str, length: usize| {
        only_message(&message_in(group(), json!({"text": text, "entities": [{"type": "bot_command", "offset": 0, "length": length}]}))).1
    };
    let plain = command("/ask why?", 4).command.unwrap();
    assert_eq!((plain.name.as_str(), plain.args.as_str()), ("ask", "why?"));
    let named = command("/Ask@GALATEA_bot  why\nnow", 16);
    assert_eq!(
        (
            named.command.clone().unwrap().name.as_str(),
            named.command.unwrap().args.as_str(),
            named.addressed.mention
        ),
        ("ask", "why\nnow", true)
    );
    let other = command("/ask@other_bot why", 14);
    assert_eq!((other.command, other.addressed.mention), (None, false));
    let later = only_message(&message_in(dm(), json!({"text": "use /ask", "entities": [{"type": "bot_command", "offset": 4, "length": 4}]}))).1;
    assert_eq!(later.command, None);
    let start = command("/start own_4fK", 6).command.unwrap();
    assert_eq!((start.name.as_str(), start.args.as_str()), ("start", "own_4fK"));
}

#[test]
fn entities_become_markdown() {
    let text = |text: &str, entities: Value| {
        only_message(&message_in(dm(), json!({"text": text, "entities": entities}))).1.content.text
    };
    let e = |kind: &str, offset: usize, length: usize| json!({"type": kind, "offset": offset, "length": length});
    assert_eq!(
        text("a bold move", json!([e("bold", 2, 5)])),
        "a **bold** move",
        "markers stick to words"
    );
    assert_eq!(text("both", json!([e("bold", 0, 4), e("italic", 0, 4)])), "***both***");
    assert_eq!(
        text("s h c", json!([e("strikethrough", 0, 1), e("spoiler", 2, 1), e("code", 4, 1)])),
        "~~s~~ ||h|| `c`"
    );
    assert_eq!(text("🤖é", json!([e("italic", 2, 1)])), "🤖*é*");
    assert_eq!(text("a`b", json!([e("code", 0, 3)])), "``a`b``");
    assert_eq!(
        text(
            "see x",
            json!([{"type": "text_link", "offset": 4, "length": 1, "url": "https://a.b/"}])
        ),
        "see [x](https://a.b/)"
    );
    assert_eq!(
        text("hi Ann", json!([{"type": "text_mention", "offset": 3, "length": 3, "user": ann()}])),
        "hi [Ann](tg://user?id=501)"
    );
    assert_eq!(text("q1\nq2\nend", json!([e("blockquote", 0, 5)])), "> q1\n> q2\nend");
    assert_eq!(
        text(
            "run let x; now",
            json!([{"type": "pre", "offset": 4, "length": 6, "language": "rust"}])
        ),
        "run \n```rust\nlet x;\n```\n now"
    );
    assert_eq!(
        text("2*3 @x #y", json!([e("mention", 4, 2), e("hashtag", 7, 2)])),
        "2*3 @x #y",
        "words stay as they are"
    );
}

#[test]
fn files_become_attachments() {
    let media = |more: Value| only_message(&message_in(dm(), more)).1.content;
    let size = |id: &str, w: u32| json!({"file_id": id, "file_unique_id": id, "width": w, "height": w, "file_size": w});
    let photo = media(
        json!({"photo": [size("s", 90), size("l", 900), size("m", 300)], "caption": "look *here*", "caption_entities": [{"type": "bold", "offset": 0, "length": 4}]}),
    );
    assert_eq!(
        (photo.text.as_str(), photo.attachments[0].url.as_str(), photo.attachments[0].size),
        ("**look** *here*", "telegram:l", Some(900))
    );
    let voice = media(
        json!({"voice": {"file_id": "v", "file_unique_id": "v", "duration": 3, "mime_type": "audio/ogg"}}),
    );
    assert_eq!((voice.attachments[0].source.as_str(), voice.attachments[0].size), ("Voice", None));
    let sticker = media(
        json!({"sticker": {"file_id": "k", "file_unique_id": "k", "type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false, "emoji": "😀"}}),
    );
    assert_eq!(
        (sticker.attachments[0].description.as_str(), sticker.attachments[0].mime.as_deref()),
        ("Sticker 😀", Some("image/webp"))
    );
    let document = media(
        json!({"document": {"file_id": "d", "file_unique_id": "d", "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 5}}),
    );
    assert_eq!(
        (document.attachments[0].title.as_str(), document.attachments[0].mime.as_deref()),
        ("a.pdf", Some("application/pdf"))
    );
    let animation = json!({"file_id": "g", "file_unique_id": "g", "width": 1, "height": 1, "duration": 1, "mime_type": "video/mp4"});
    assert_eq!(
        media(json!({"animation": animation, "document": {"file_id": "g", "file_unique_id": "g"}}))
            .attachments[0]
            .source,
        "Animation"
    );
    assert_eq!(media(json!({"video_note": {"file_id": "n", "file_unique_id": "n", "length": 9, "duration": 1}})).attachments[0].source, "VideoNote");
}

#[test]
fn what_is_not_a_file_is_said_in_words() {
    let words = |more: Value| only_message(&message_in(dm(), more)).1.content.text;
    assert_eq!(
        words(json!({"location": {"latitude": 52.5, "longitude": 13.4}})),
        "[location: 52.5, 13.4]"
    );
    assert_eq!(
        words(json!({"contact": {"phone_number": "+1", "first_name": "Bob"}})),
        "[contact: Bob, +1]"
    );
    assert_eq!(words(json!({"dice": {"emoji": "🎲", "value": 4}})), "[dice 🎲: 4]");
    let option = |t: &str| json!({"text": t, "voter_count": 0});
    let poll = json!({"id": "1", "question": "tea?", "options": [option("yes"), option("no")], "total_voter_count": 0, "is_closed": false, "is_anonymous": true, "type": "regular", "allows_multiple_answers": false});
    assert_eq!(words(json!({"poll": poll})), "[poll: tea? (yes / no)]");
    let place = json!({"location": {"latitude": 1.0, "longitude": 2.0}, "title": "Café", "address": "Main St"});
    assert_eq!(
        words(json!({"venue": place, "location": {"latitude": 1.0, "longitude": 2.0}})),
        "[place: Café, Main St (1, 2)]"
    );
}

#[test]
fn forwards_and_quotes_are_kept() {
    let content = only_message(&message_in(
        dm(),
        json!({"text": "x", "forward_origin": {"type": "hidden_user", "sender_user_name": "Zoe", "date": 1}, "quote": {"text": "part", "position": 0}}),
    ))
    .1
    .content;
    assert_eq!(
        (&content.extra["forwardedFrom"], &content.extra["quote"]),
        (&json!("Zoe"), &json!("part"))
    );
}

#[test]
fn every_origin_of_a_forward_is_named_and_passes_no_command_on() {
    let command = json!([{"type": "bot_command", "offset": 0, "length": 6}]);
    for (origin, name) in [
        (
            json!({"type": "user", "sender_user": {"id": 9, "is_bot": false, "first_name": "Zoe"}, "date": 1}),
            "Zoe",
        ),
        (
            json!({"type": "user", "sender_user": {"id": 9, "is_bot": false, "first_name": "Zoe", "last_name": "Lane"}, "date": 1}),
            "Zoe Lane",
        ),
        (
            json!({"type": "user", "sender_user": {"id": 8, "is_bot": true, "first_name": "Clock"}, "date": 1}),
            "Clock",
        ),
        (
            json!({"type": "chat", "sender_chat": {"id": -5, "type": "supergroup", "title": "Weavers"}, "date": 1}),
            "Weavers",
        ),
        (
            json!({"type": "channel", "chat": {"id": -1001, "type": "channel", "title": "News"}, "message_id": 9, "date": 1}),
            "News",
        ),
        (json!({"type": "hidden_user", "sender_user_name": "Zoe", "date": 1}), "Zoe"),
    ] {
        let fields = json!({"text": "/reset", "entities": command, "forward_origin": origin});
        let message = only_message(&message_in(dm(), fields)).1;
        assert_eq!(message.content.extra["forwardedFrom"], name, "{origin}");
        assert!(message.command.is_none(), "{origin}");
    }
}

#[test]
fn an_automatic_forward_is_marked_and_a_forwarded_command_is_none() {
    let origin = json!({"type": "channel", "chat": {"id": -1001, "type": "channel", "title": "News"}, "message_id": 9, "date": 1});
    let command = json!([{"type": "bot_command", "offset": 0, "length": 6}]);
    let passed_on = |automatic: bool| {
        let mut fields = json!({"text": "/reset", "entities": command, "forward_origin": origin});
        if automatic {
            fields["is_automatic_forward"] = json!(true);
        }
        only_message(&message_in(dm(), fields)).1
    };
    let (by_person, by_telegram) = (passed_on(false), passed_on(true));
    assert_eq!((by_person.command.is_none(), by_telegram.command.is_none()), (true, true));
    assert_eq!(by_person.content.extra.get("automaticForward"), None);
    assert_eq!(by_telegram.content.extra["automaticForward"], true);
    let own = only_message(&message_in(dm(), json!({"text": "/reset", "entities": command}))).1;
    assert_eq!(own.command.unwrap().name, "reset");
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
    assert_eq!(only_message(&new_entity).1.content.text, "**on** Monday **x**");
    let voice =
        message_in(dm(), json!({"voice": {"file_id": "v", "file_unique_id": "v", "duration": 3}}));
    assert_eq!(
        only_message(&voice).1.content.attachments[0].url,
        "telegram:v",
        "mime_type is optional in the Bot API"
    );
    let odd = message_in(dm(), json!({"caption": "kept", "hologram": {"file_id": "h"}}));
    assert_eq!(only_message(&odd).1.content.text, "kept");
    let reply = json!({"message_id": 5, "from": {"id": 7001, "is_bot": true, "first_name": "G"}, "chat": dm(), "date": 1, "hologram": {}});
    let external = message_in(
        dm(),
        json!({"text": "kept too", "external_reply": {"origin": {"type": "new_kind"}}, "reply_to_message": reply}),
    );
    assert!(only_message(&external).1.addressed.reply);
}
