//! Tests with events as Discord writes them and with mutated ones: decoding never panics and keeps
//! the text.

use super::*;
use galatea_core::{ChannelType, MediaKind};
use proptest::prelude::*;

const ME: u64 = 900;

fn me() -> Me {
    Me { id: ME, name: "Galatea".into() }
}

fn guild() -> Directory {
    let directory = Directory::default();
    let created = json!({
        "id": "10", "name": "Garden", "owner_id": "1", "system_channel_id": "20",
        "roles": [{ "id": "10", "name": "@everyone", "permissions": "0" }, { "id": "11", "name": "mods", "permissions": "8" },
                  { "id": "12", "name": "Galatea", "permissions": "0", "tags": { "bot_id": "900" } }],
        "channels": [{ "id": "20", "type": 0, "name": "general" }, { "id": "21", "type": 15, "name": "ideas", "parent_id": "29" }],
        "threads": [{ "id": "22", "type": 11, "name": "Roses", "parent_id": "21" }],
        "members": [{ "user": { "id": "900", "username": "galatea" }, "roles": ["13"] }]
    });
    places::learn("GUILD_CREATE", &created, &directory, &me());
    directory
}

/// A message by Ann in the general channel, in the form of Discord's documentation.
fn message_json(content: &str) -> Value {
    json!({
        "id": "1573739729029955584", "channel_id": "20", "guild_id": "10", "content": content, "timestamp": "2026-05-01T10:00:00.000000+00:00",
        "edited_timestamp": null, "tts": false, "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
        "pinned": false, "type": 0, "flags": 0, "components": [],
        "author": { "id": "2", "username": "ann_b", "global_name": "Ann", "discriminator": "0", "avatar": null },
        "member": { "nick": "Annie", "roles": ["11"], "joined_at": "2026-01-01T00:00:00.000000+00:00", "deaf": false, "mute": false, "flags": 0 }
    })
}

fn heard(data: &Value) -> Option<(Connection, IncomingMessage)> {
    let decoded = decode("MESSAGE_CREATE", data, &guild(), &me(), Timestamp(0));
    decoded.events.into_iter().find_map(|e| {
        if let IncomingEvent::Message(m) = e.event { Some((e.connection, m)) } else { None }
    })
}

#[test]
fn a_message_has_its_place_its_speaker_and_their_rights() {
    let (place, message) = heard(&message_json("good morning")).unwrap();
    assert_eq!(
        (place.world.remote.as_str(), place.room.remote.as_str(), place.room.kind),
        ("10", "20", ChannelType::Group)
    );
    let entity = place.entity.unwrap();
    assert_eq!(
        (entity.name.as_deref(), entity.user_name.as_deref(), entity.is_bot),
        (Some("Annie"), Some("ann_b"), false)
    );
    assert!(place.world.roles.contains(&(RemoteId::new(2), galatea_core::world::Role::Admin)));
    assert_eq!(
        (message.id.as_str(), message.content.text.as_str(), message.from_self),
        ("1573739729029955584", "good morning", false)
    );
}

#[test]
fn the_message_that_a_thread_was_started_from_is_read_in_its_own_channel() {
    let mut original = message_json("<@900> which glue holds oak?");
    original.as_object_mut().unwrap().remove("member");
    let starter = |original: Value| {
        let mut starter = message_json("");
        starter["id"] = json!("1573739729029955599");
        starter["channel_id"] = json!("22");
        starter["type"] = json!(21);
        starter["author"] =
            json!({ "id": "3", "username": "carl", "discriminator": "0", "avatar": null });
        starter["message_reference"] = json!({ "type": 0, "channel_id": "20", "guild_id": "10", "message_id": original["id"] });
        starter["referenced_message"] = original;
        starter
    };
    for guild_id in [Some("10"), None] {
        let mut original = original.clone();
        match guild_id {
            Some(id) => original["guild_id"] = json!(id),
            None => drop(original.as_object_mut().unwrap().remove("guild_id")),
        }
        let (place, message) = heard(&starter(original)).unwrap();
        assert_eq!((place.room.remote.as_str(), place.world.remote.as_str()), ("20", "10"));
        assert_eq!(place.entity.unwrap().remote.as_str(), "2", "who wrote it, not who opened it");
        assert_eq!(message.id.as_str(), "1573739729029955584");
        assert_eq!(message.content.text, "@Galatea which glue holds oak?");
        assert!(!message.addressed.mention, "it is answered where it was written");
    }
    for gone in [json!(null), json!({}), starter(original.clone())] {
        assert!(heard(&starter(gone)).is_none(), "a deleted one leaves nothing to read");
    }
    let mut ours = original;
    ours["author"] = json!({ "id": "900", "username": "galatea", "bot": true });
    assert!(heard(&starter(ours)).is_none(), "our own is stored already");
}

#[test]
fn a_rooms_topic_and_the_beginning_of_a_thread_are_known() {
    let directory = guild();
    let created = json!({ "id": "23", "type": 0, "name": "kiln", "guild_id": "10", "topic": "Firing on Fridays" });
    let (id, channel) = super::directory::Channel::read(&created, Some(10)).unwrap();
    directory.put(id, channel);
    let room = |id| connection::place(id, Some(10), &directory, None).room;
    assert_eq!(room(23).metadata["topic"], "Firing on Fridays");
    assert_eq!(room(20).metadata["topic"], Value::Null, "one that was removed is forgotten");
    let thread = room(22);
    assert_eq!((&thread.metadata["startedBy"], thread.metadata.get("topic")), (&json!("22"), None));
}

#[test]
fn our_own_are_no_messages() {
    let mut own = message_json("me");
    own["author"] = json!({ "id": "900", "username": "galatea", "bot": true });
    own["nonce"] = json!("abc");
    assert!(heard(&own).is_none());
    assert_eq!(
        decode("MESSAGE_CREATE", &own, &guild(), &me(), Timestamp(0)).echo,
        Some(("abc".into(), RemoteId("1573739729029955584".into())))
    );
}

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

#[test]
fn only_peoples_edits_are_edits() {
    let unfolded = message_json("https://example.org");
    assert!(decode("MESSAGE_UPDATE", &unfolded, &guild(), &me(), Timestamp(0)).events.is_empty());
    let mut edited = message_json("typo");
    edited["edited_timestamp"] = json!("2026-05-01T10:01:00.000000+00:00");
    let events = decode("MESSAGE_UPDATE", &edited, &guild(), &me(), Timestamp(0)).events;
    assert_eq!((events.len(), events[0].at), (1, Timestamp(1_777_629_660_000)));
}

/// A mention added by an edit addresses the bot like one in a new message.
#[test]
fn an_edit_that_mentions_the_bot_addresses_it() {
    let addressed = |content: &str, mentions: Value| {
        let mut edited = message_json(content);
        edited["edited_timestamp"] = json!("2026-05-01T10:01:00.000000+00:00");
        edited["mentions"] = mentions;
        let event =
            decode("MESSAGE_UPDATE", &edited, &guild(), &me(), Timestamp(0)).events.remove(0).event;
        let IncomingEvent::Edited { id, addressed, .. } = event else { panic!("an edit") };
        assert_eq!(id.as_str(), "1573739729029955584");
        addressed
    };
    let user = |id: &str| json!([{ "id": id, "username": "u", "discriminator": "0", "avatar": null, "bot": true }]);
    assert!(!addressed("what time is it?", json!([])).mention);
    assert!(addressed("<@900> what time is it?", user("900")).mention);
    assert!(!addressed("<@901> what time is it?", user("901")).mention, "another's name");
}

#[test]
fn an_unknown_field_does_not_cost_the_words() {
    for (field, value) in [
        ("embeds", json!([{ "type": 7 }])),
        ("components", json!("new")),
        ("poll", json!({ "question": 5 })),
        ("member", json!({ "roles": "all" })),
        ("attachments", json!([{ "id": "x" }])),
        ("flags", json!("many")),
        ("referenced_message", json!({ "id": "7", "content": "x" })),
        ("interaction_metadata", json!(5)),
        ("tts", Value::Null),
    ] {
        let mut odd = message_json("kept");
        odd[field] = value;
        assert_eq!(heard(&odd).map(|(_, m)| m.content.text), Some("kept".to_owned()), "{field}");
    }
}

/// One mention cannot be read at all, another only in a field that its name does not need.
#[test]
fn an_unreadable_mention_does_not_cost_the_names_of_the_others() {
    let mut odd = message_json("<@900> ask <@3>, <@4> and <@5>");
    odd["mentions"] = json!([
        { "id": "900", "username": "galatea", "discriminator": "0", "avatar": null, "bot": true },
        { "id": "3", "username": "bob", "global_name": "Bob", "discriminator": "0", "avatar": null },
        { "id": "4", "username": 4 },
        { "id": "5", "username": "eve", "global_name": "Eve", "avatar": 7, "member": { "roles": "all" } },
    ]);
    let (_, message) = heard(&odd).unwrap();
    assert_eq!(message.content.text, "@Galatea ask @Bob, @unknown-user and @Eve");
    assert!(message.addressed.mention);
}

#[test]
fn an_outage_is_no_farewell() {
    let directory = guild();
    let outage = json!({ "id": "10", "unavailable": true });
    assert!(decode("GUILD_DELETE", &outage, &directory, &me(), Timestamp(0)).events.is_empty());
    places::forget("GUILD_DELETE", &outage, &directory);
    assert!(directory.guild(10).is_some());
}

#[test]
fn marks_are_names_where_they_are_known() {
    let names = |sign: &str, id: u64| (id == 5).then(|| format!("[{sign}5]"));
    let cases = [
        ("<@5> <@!5> <@&5> <#5>", "[@5] [@!5] [@&5] [#5]"),
        ("<@6> <#6> <@&6>", "@unknown-user #unknown-channel @unknown-role"),
        ("<:wave:7> <a:wave:7>", ":wave: :wave:"),
        ("a < b > c <", "a < b > c <"),
        ("<<@5>>", "<[@5]>"),
        ("<@x> <日本> <#> <@> <:x> <a:b>", "<@x> <日本> <#> <@> <:x> <a:b>"),
        ("</ask:7> </memory forget all:7> </x:y> </:7>", "/ask /memory forget all </x:y> </:7>"),
        (
            "<id:customize>, <id:browse>, <id:guide>",
            "Channels & Roles, Browse Channels, Server Guide",
        ),
        ("<id:linked-roles> <id:linked-roles:5> <id:x>", "Linked Roles [@&5] <id:x>"),
        ("<https://example.org> <div>", "<https://example.org> <div>"),
    ];
    for (from, to) in cases {
        assert_eq!(text::to_markdown(from, &names), to);
    }
}

#[test]
fn marks_of_time_are_dates_in_words() {
    for (mark, words) in [
        ("<t:1764442805>", "29 November 2025, 19:00 UTC"),
        ("<t:1764442805:f>", "29 November 2025, 19:00 UTC"),
        ("<t:1764442805:F>", "Saturday, 29 November 2025, 19:00 UTC"),
        ("<t:1764442805:R>", "29 November 2025, 19:00 UTC"),
        ("<t:1764442805:t>", "19:00 UTC"),
        ("<t:1764442805:T>", "19:00:05 UTC"),
        ("<t:1764442805:d>", "29 November 2025"),
        ("<t:1764442805:D>", "29 November 2025"),
        ("<t:1764442805:s>", "29 November 2025, 19:00 UTC"),
        ("<t:0:F>", "Thursday, 1 January 1970, 00:00 UTC"),
        ("<t:-1:F>", "Wednesday, 31 December 1969, 23:59 UTC"),
        ("<t:951782400:D>", "29 February 2000"),
        ("<t:4107542400:D>", "1 March 2100"),
        ("<t:-14182940:d>", "20 July 1969"),
        ("<t:99999999999999>", "<t:99999999999999>"),
        ("<t:1764442805:x>", "<t:1764442805:x>"),
        ("<t:noon>", "<t:noon>"),
        ("until <t:1764442805:t>!", "until 19:00 UTC!"),
    ] {
        assert_eq!(text::to_markdown(mark, &|_, _| None), words, "{mark}");
    }
}

#[test]
fn links_people_paste_are_understood() {
    let id = |text: &str| RemoteId(text.to_owned());
    let found = Some((Some(id("20")), id("30")));
    for link in [
        "https://discord.com/channels/10/20/30",
        " https://ptb.discord.com/channels/@me/20/30?x ",
        "20:30",
    ] {
        assert_eq!(parse_link(link), found, "{link}");
    }
    for wrong in [
        "",
        "20",
        "https://discord.com/channels/10/20",
        "https://discord.com/channels/10/20/30/40",
        "https://example.org/1/2/3",
        "a:b",
    ] {
        assert_eq!(parse_link(wrong), None, "{wrong}");
    }
}

/// Decodes each recording in the guild of `guild_create`, with the steps of [`crate::receive`]:
/// `learn`, `decode`, `forget`.
#[test]
fn replay() {
    use galatea_testkit::replay::{recordings, show, show_sync};
    let me = Me { id: 1_182_000_000_000_000_001, name: "Acme Helper".into() };
    let all = recordings("discord");
    let garden = all.iter().find(|r| r.name == "guild_create").unwrap();
    for recording in &all {
        let directory = Directory::default();
        if !recording.name.starts_with("guild_joined") {
            garden
                .events
                .iter()
                .for_each(|e| places::learn("GUILD_CREATE", &e["d"], &directory, &me));
        }
        let mut found = Vec::new();
        for event in &recording.events {
            let (name, data) = (event["t"].as_str().unwrap(), &event["d"]);
            places::learn(name, data, &directory, &me);
            let decoded = decode(name, data, &directory, &me, recording.now());
            places::forget(name, data, &directory);
            found.extend(decoded.syncs.iter().map(show_sync));
            found.extend(decoded.events.iter().map(show));
            found.extend(
                decoded.echo.map(|(nonce, id)| json!({ "echo": { "nonce": nonce, "id": id } })),
            );
        }
        recording.check(&found);
    }
}

fn odd() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        proptest::collection::vec(inner, 0..3).prop_map(Value::from)
    })
}

proptest! {
    #[test]
    fn no_event_panics(field in 0..40_usize, value in odd(), event in 0..14_usize) {
        const EVENTS: [&str; 14] = ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE",
            "INTERACTION_CREATE", "GUILD_CREATE", "GUILD_DELETE", "CHANNEL_UPDATE", "THREAD_LIST_SYNC", "GUILD_MEMBER_ADD", "CHANNEL_DELETE", "UNKNOWN"];
        let mut data = message_json("hello <@900>");
        for (name, more) in [("user_id", json!("2")), ("message_id", json!("7")), ("emoji", json!({ "name": "x" })), ("ids", json!(["1"])), ("user", json!({ "id": "2", "username": "x" })),
            ("token", json!("t")), ("data", json!({ "name": "ask" })), ("channels", json!([])), ("threads", json!([])), ("members", json!([])), ("joined_at", json!("x"))] {
            data[name] = more;
        }
        let names: Vec<String> = data.as_object().unwrap().keys().cloned().collect();
        data[names[field % names.len()].as_str()] = value;
        let directory = guild();
        places::learn(EVENTS[event], &data, &directory, &me());
        let _ = decode(EVENTS[event], &data, &directory, &me(), Timestamp(0));
        places::forget(EVENTS[event], &data, &directory);
    }

    #[test]
    fn marks_never_panic_and_keep_other_words(text in "[a-z<>@#&!:0-9 日]{0,60}") {
        let _ = text::to_markdown(&text, &|_, _| None);
        let _ = parse_link(&text);
    }
}

#[test]
fn a_channel_is_open_only_if_every_member_reads_it() {
    let directory = Directory::default();
    let view = "1024";
    let hidden_from = |id: &str| json!([{ "id": id, "type": 0, "allow": "0", "deny": view }]);
    let created = json!({
        "id": "10", "name": "Garden", "owner_id": "1",
        "roles": [{ "id": "10", "name": "@everyone", "permissions": view }],
        "channels": [
            { "id": "20", "type": 0, "name": "general", "permission_overwrites": [{ "id": "11", "type": 0, "allow": view, "deny": "2048" }] },
            { "id": "21", "type": 0, "name": "staff", "permission_overwrites": hidden_from("10") },
            { "id": "22", "type": 0, "name": "not for guests", "permission_overwrites": hidden_from("12") },
            { "id": "23", "type": 0, "name": "permissions not told" },
        ],
        "threads": [{ "id": "30", "type": 11, "name": "open", "parent_id": "20" }, { "id": "31", "type": 12, "name": "private", "parent_id": "20" },
                    { "id": "32", "type": 11, "name": "of staff", "parent_id": "21" }],
        "members": [{ "user": { "id": "900", "username": "galatea" }, "roles": [] }]
    });
    places::learn("GUILD_CREATE", &created, &directory, &me());
    let open: Vec<u64> = [20, 21, 22, 23, 30, 31, 32]
        .into_iter()
        .filter(|id| directory.is_open(&directory.channel(*id).unwrap()))
        .collect();
    assert_eq!(open, [20, 30]);
    assert!(!directory.is_open(&directory::Channel::unknown(10)));
}
