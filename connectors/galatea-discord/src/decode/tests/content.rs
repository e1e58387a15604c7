//! Tests of what messages show: types, forwards, embeds, polls, stickers, sound.

use super::*;

/// Each type of Discord's list is said in words and marked as a notice, is speech, or is left out for a
/// reason.
#[test]
fn every_type_of_message_is_stored_or_left_out_for_a_reason() {
    const SPEECH: [u64; 4] = [0, 19, 20, 23];
    // The beginning of a thread (21) comes with the message that it was started from, or has nothing.
    const LEFT_OUT: [u64; 9] = [5, 7, 14, 15, 16, 17, 21, 22, 26];
    for kind in 0..60 {
        let mut message = message_json("tea");
        message["type"] = json!(kind);
        let decoded = decode("MESSAGE_CREATE", &message, &guild(), &me(), Timestamp(0));
        if LEFT_OUT.contains(&kind) {
            assert!(decoded.events.is_empty() && decoded.left_out.is_some(), "{kind}");
            continue;
        }
        let (_, heard) = heard(&message).unwrap_or_else(|| panic!("type {kind} vanished"));
        let notice = heard.content.extra.get(NOTICE).is_some();
        // Types that Discord adds later are what their author says.
        let speech = SPEECH.contains(&kind) || heard.content.text == "tea";
        assert_ne!(notice, speech, "{kind}: {}", heard.content.text);
        assert!(heard.content.text.contains("tea"), "{kind}: {}", heard.content.text);
    }
    let mut unknown = message_json("");
    unknown["type"] = json!(99);
    let decoded = decode("MESSAGE_CREATE", &unknown, &guild(), &me(), Timestamp(0));
    assert!(decoded.events.is_empty() && decoded.left_out.is_some());
}

fn forward(inner: Value) -> Value {
    let mut forward = message_json("");
    forward["message_reference"] = json!({ "type": 1, "channel_id": "20", "message_id": "7" });
    let mut snapshot = json!({ "content": "", "timestamp": "2026-05-01T10:00:00.000000+00:00", "edited_timestamp": null,
        "mentions": [], "attachments": [], "embeds": [], "type": 0, "flags": 0 });
    snapshot.as_object_mut().unwrap().extend(inner.as_object().unwrap().clone());
    forward["message_snapshots"] = json!([{ "message": snapshot }]);
    forward
}

/// Whatever a message shows, alone, beside words and forwarded: its words are stored.
#[test]
fn every_content_that_a_message_shows_is_said_in_words() {
    let rich = json!({ "type": "rich", "title": "Release 7", "description": "It is out <t:1764442800:d>.", "url": "https://example.org/7",
        "author": { "name": "Build" }, "footer": { "text": "by CI" },
        "fields": [{ "name": "Branch", "value": "main" }, { "name": "\u{200b}", "value": "green" }] });
    let result = json!({ "type": "poll_result", "fields": [{ "name": "poll_question_text", "value": "Tea?" }, { "name": "victor_answer_text", "value": "yes" },
        { "name": "victor_answer_votes", "value": "3" }, { "name": "total_votes", "value": "4" }] });
    let shown = [
        (
            json!({ "embeds": [rich] }),
            vec![
                "Build",
                "Release 7 (https://example.org/7)",
                "29 November 2025",
                "Branch: main",
                "green",
                "by CI",
            ],
        ),
        (
            json!({ "embeds": [{ "type": "rich", "fields": [{ "name": "Only", "value": "a field" }] }] }),
            vec!["Only: a field"],
        ),
        (
            json!({ "embeds": [{ "type": "rich", "footer": { "text": "only a footer" } }] }),
            vec!["only a footer"],
        ),
        (
            json!({ "embeds": [{ "type": "rich", "author": { "name": "only an author" } }] }),
            vec!["only an author"],
        ),
        (
            json!({ "embeds": [{ "type": "rich", "title": "one" }, { "type": "rich", "title": "two" }] }),
            vec!["one", "two"],
        ),
        (
            json!({ "embeds": [{ "type": "article", "url": "https://example.org", "title": "Looms", "description": "All about them", "provider": { "name": "Wiki" } }] }),
            vec!["[link: Wiki – Looms – All about them]"],
        ),
        (
            json!({ "embeds": [{ "type": "video", "url": "https://example.org/v", "title": "Weaving" }] }),
            vec!["[video: Weaving]"],
        ),
        (
            json!({ "embeds": [{ "type": "gifv", "url": "https://tenor.example/x" }] }),
            vec!["[animation: https://tenor.example/x]"],
        ),
        (json!({ "embeds": [result] }), vec!["[poll ended: Tea? – yes (3 of 4 votes)]"]),
        (
            json!({ "poll": { "question": { "text": "Tea?" }, "answers": [{ "answer_id": 1, "poll_media": { "text": "yes" } }, { "answer_id": 2, "poll_media": { "text": "no" } }],
            "expiry": null, "allow_multiselect": false, "layout_type": 1 } }),
            vec!["[poll: Tea? (yes / no)]"],
        ),
        (
            json!({ "sticker_items": [{ "id": "5", "name": "wave", "format_type": 3 }] }),
            vec!["[sticker: wave]"],
        ),
        (
            json!({ "flags": 1 << 15, "components": [{ "type": 17, "components": [{ "type": 10, "content": "# Menu" },
            { "type": 9, "components": [{ "type": 10, "content": "Soup of the day" }], "accessory": { "type": 2, "style": 1, "label": "Order", "custom_id": "o" } },
            { "type": 12, "items": [{ "media": { "url": "https://example.org/soup.png" }, "description": "a bowl" }] },
            { "type": 13, "file": { "url": "attachment://menu.pdf" }, "name": "menu.pdf" }, { "type": 14 }, { "type": 77, "content": "something new" }] }] }),
            vec![
                "# Menu",
                "Soup of the day",
                "[buttons: Order]",
                "[picture: a bowl]",
                "[file: menu.pdf]",
                "something new",
            ],
        ),
        (
            json!({ "components": [{ "type": 1, "components": [{ "type": 2, "style": 1, "label": "Yes", "custom_id": "y" }, { "type": 2, "style": 5, "label": "Rules", "url": "https://example.org" }] },
            { "type": 1, "components": [{ "type": 3, "custom_id": "m", "placeholder": "Pick one", "options": [] }] }] }),
            vec!["[buttons: Yes / Rules]", "[menu: Pick one]"],
        ),
        (
            json!({ "activity": { "type": 1, "party_id": "x" }, "application": { "id": "1", "name": "Chess", "description": "", "icon": null } }),
            vec!["[invitation: Chess]"],
        ),
    ];
    for (fields, expected) in shown {
        let mut beside = message_json("look:");
        let mut alone = message_json("");
        for message in [&mut beside, &mut alone] {
            message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        }
        let said = |message: &Value| {
            let (_, heard) = heard(message).unwrap_or_else(|| panic!("{message} vanished"));
            let quotes = heard.content.quotes.iter().map(|quote| quote.text.clone());
            std::iter::once(heard.content.text).chain(quotes).collect::<Vec<_>>().join("\n")
        };
        let forwarded = said(&forward(fields.clone()));
        for words in expected {
            assert!(
                said(&beside).starts_with("look:\n") && said(&beside).contains(words),
                "{words}: {}",
                said(&beside)
            );
            assert!(said(&alone).contains(words), "{words}: {}", said(&alone));
            assert!(forwarded.contains(words), "forwarded, {words}: {forwarded}");
        }
    }
}

#[test]
fn pictures_of_embeds_are_seen_and_ornaments_are_not() {
    let pictures = |message: &Value| -> Vec<String> {
        heard(message).unwrap().1.content.attachments.into_iter().map(|media| media.url).collect()
    };
    let image = json!({ "url": "https://example.org/a.png", "proxy_url": "https://images-ext-1.discordapp.net/a.png" });
    let mut message = message_json("");
    message["embeds"] = json!([{ "type": "rich", "image": image }, { "type": "rich", "title": "x", "thumbnail": { "url": "https://example.org/icon.png" } }]);
    assert_eq!(pictures(&message), ["https://images-ext-1.discordapp.net/a.png"]);
    assert_eq!(
        pictures(&forward(json!({ "embeds": [{ "type": "rich", "image": image }] }))),
        ["https://images-ext-1.discordapp.net/a.png"]
    );
    let mut message = message_json("look");
    message["embeds"] = json!([{ "type": "rich", "image": { "url": "file:///etc/passwd" } }]);
    assert_eq!(pictures(&message), Vec::<String>::new());
}

/// A message in which nothing is known stays a message; without the Message Content intent it has no
/// content at all.
#[test]
fn what_cannot_be_read_is_said_where_there_is_something() {
    let empty = message_json("");
    let decoded = decode("MESSAGE_CREATE", &empty, &guild(), &me(), Timestamp(0));
    assert!(
        decoded.events.is_empty() && decoded.left_out.is_some_and(|why| why.contains("intent"))
    );
    let reads = guild();
    reads.set_reads_content(true);
    let decoded = decode("MESSAGE_CREATE", &empty, &reads, &me(), Timestamp(0));
    let IncomingEvent::Message(message) = &decoded.events[0].event else { panic!() };
    assert!(message.content.text.contains("cannot be read"));
    let (_, odd) = heard(&forward(json!({ "hologram": 7 }))).unwrap();
    assert!(odd.content.quotes[0].text.contains("cannot be read"));
}

#[test]
fn what_an_application_posts_for_a_person_is_a_persons() {
    let directory = guild();
    directory.set_proxies(vec![466]);
    let hear = |message: &Value| {
        let mut decoded = decode("MESSAGE_CREATE", message, &directory, &me(), Timestamp(0));
        let event = decoded.events.remove(0);
        let IncomingEvent::Message(message) = event.event else { panic!() };
        (event.connection.entity.unwrap(), message.content.extra.get(REPLACES).cloned())
    };
    let id: u64 = 1_573_739_729_029_955_584;
    let (ada, _) = hear(&message_json("A: Galatea, hello"));
    assert!(!ada.is_bot);
    let webhook = |id: u64, application: &str| {
        let mut message = message_json("Galatea, hello");
        message["id"] = json!(id.to_string());
        message.as_object_mut().unwrap().remove("member");
        message["webhook_id"] = json!("77");
        message["application_id"] = json!(application);
        message["author"] = json!({ "id": "77", "username": "Alter", "discriminator": "0000", "avatar": null, "bot": true });
        message
    };
    let (other, replaces) = hear(&webhook(id + (1 << 22), "467"));
    assert!(other.is_bot && replaces.is_none(), "any other webhook is a bot");
    let (alter, replaces) = hear(&webhook(id + (2 << 22), "466"));
    assert_eq!((alter.is_bot, alter.name.as_deref()), (false, Some("Alter")));
    assert_eq!(replaces, Some(json!(id.to_string())));
    let (_, replaces) = hear(&webhook(id + (3 << 22), "466"));
    assert_eq!(replaces, None, "a message is repeated once");
}

#[test]
fn the_nickname_of_the_bot_is_told_with_the_room() {
    let directory = guild();
    let name = || {
        let room = connection::place(20, Some(10), &directory, None).room;
        room.metadata.get(galatea_core::room::OWN_NAME).cloned()
    };
    assert_eq!(name(), None);
    let update = |nick: Value| {
        let member =
            json!({ "guild_id": "10", "user": { "id": "900" }, "roles": [], "nick": nick });
        places::learn("GUILD_MEMBER_UPDATE", &member, &directory, &me());
    };
    update(json!("Helga"));
    assert_eq!(name(), Some(json!("Helga")));
    update(Value::Null);
    assert_eq!(name(), Some(json!("")), "it is taken away again");
}

#[test]
fn forwards_polls_and_stickers_are_said_in_words() {
    let mut forward = message_json("");
    forward["message_reference"] = json!({ "type": 1, "channel_id": "20", "message_id": "7" });
    forward["message_snapshots"] = json!([{ "message": {
        "content": "from afar <@2>", "timestamp": "2026-05-01T10:00:00.000000+00:00", "edited_timestamp": null, "mentions": [], "attachments": [],
        "embeds": [], "type": 0, "flags": 0 } }]);
    let (_, message) = heard(&forward).unwrap();
    let quote = &message.content.quotes[0];
    assert_eq!(
        (quote.kind, quote.text.as_str()),
        (galatea_core::QuoteKind::Forward, "from afar @unknown-user"),
        "a forwarded text is not the forwarder's own"
    );
    assert_eq!(
        (message.content.text.as_str(), message.reply_to),
        ("", None),
        "a forward is not a reply"
    );
    let mut sticker = message_json("");
    sticker["sticker_items"] = json!([{ "id": "5", "name": "wave", "format_type": 1 }]);
    let (_, message) = heard(&sticker).unwrap();
    assert_eq!(message.content.attachments[0].description, "Sticker wave");
    assert!(
        message.content.attachments[0].url.starts_with("https://media.discordapp.net/stickers/5.")
    );
    forward["message_snapshots"][0]["message"]["sticker_items"] = sticker["sticker_items"].clone();
    let (_, message) = heard(&forward).unwrap();
    assert_eq!(message.content.attachments[0].description, "Sticker wave", "forwarded");
    sticker["sticker_items"][0]["format_type"] = json!(3);
    sticker["attachments"] = json!([attachment("31", "plan.png", Some("image/png"))]);
    let (_, message) = heard(&sticker).unwrap();
    assert_eq!(message.content.text, "[sticker: wave]", "beside a file");
    assert_eq!(message.content.attachments.len(), 1);
}

/// A file in the form of Discord's documentation ("Attachment Object").
fn attachment(id: &str, name: &str, mime: Option<&str>) -> Value {
    let url = format!("https://cdn.discordapp.com/attachments/20/{id}/{name}?ex=1&is=2&hm=3");
    let mut file =
        json!({ "id": id, "filename": name, "size": 4096, "url": url, "proxy_url": url });
    if let Some(mime) = mime {
        file["content_type"] = json!(mime);
    }
    file
}

/// Voice messages have a waveform and other sound files have none; both are sound. A message may
/// consist of the sound alone.
#[test]
fn voice_messages_and_sound_files_are_sound() {
    let mut voice = attachment("31", "voice-message.ogg", Some("audio/ogg"));
    voice["duration_secs"] = json!(3.25);
    voice["waveform"] = json!("AAoUHigyPEZQWg==");
    let mut spoken = message_json("");
    (spoken["flags"], spoken["attachments"]) = (json!(1 << 13), json!([voice]));
    let (_, message) = heard(&spoken).unwrap();
    let [file] = &message.content.attachments[..] else { panic!("one file: {message:?}") };
    assert_eq!((message.content.text.as_str(), file.source.as_str()), ("", "Voice"));
    assert_eq!(
        (file.content_type, file.mime.as_deref(), file.size),
        (MediaKind::Audio, Some("audio/ogg"), Some(4096))
    );
    assert!(file.url.starts_with("https://cdn.discordapp.com/attachments/20/31/"), "{}", file.url);

    let mut sent = message_json("listen");
    sent["attachments"] = json!([
        attachment("32", "song.mp3", Some("Audio/MPEG; charset=binary")),
        attachment("33", "film.mp4", Some("video/mp4")),
        attachment("34", "data.bin", None),
    ]);
    let (_, message) = heard(&sent).unwrap();
    let files: Vec<_> = message
        .content
        .attachments
        .iter()
        .map(|file| (file.content_type, file.source.as_str(), file.mime.as_deref()))
        .collect();
    assert_eq!(
        files,
        [
            (MediaKind::Audio, "Attachment", Some("audio/mpeg")),
            (MediaKind::Video, "Attachment", Some("video/mp4")),
            (MediaKind::Document, "Attachment", None),
        ]
    );
}
