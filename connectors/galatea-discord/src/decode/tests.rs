//! Tests with events as Discord writes them and with mutated ones: decoding never panics and keeps
//! the text.

mod content;

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
