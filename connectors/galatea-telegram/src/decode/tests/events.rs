//! Tests of other updates: edits, presses, reactions, members and roles.

use super::*;
use galatea_core::{OwnStatus, world::Role};

#[test]
fn edits_name_their_message() {
    let update = json!({"update_id": 2, "edited_message": {"message_id": 7, "from": ann(), "chat": dm(), "date": 1, "edit_date": 60, "text": "better"}});
    let decoded = read(&update);
    assert_eq!(decoded.events[0].at, Timestamp(60_000));
    let IncomingEvent::Edited { id, content, .. } = &decoded.events[0].event else {
        panic!("an edit")
    };
    assert_eq!((id.as_str(), content.text.as_str()), ("501:7", "better"));
}

/// A mention added by an edit addresses the bot like one in a new message.
#[test]
fn an_edit_that_mentions_the_bot_addresses_it() {
    let addressed = |text: &str, entities: Value| {
        let message = json!({"message_id": 7, "from": ann(), "chat": group(), "date": 1, "edit_date": 60, "text": text, "entities": entities});
        let update = json!({"update_id": 2, "edited_message": message}).to_string();
        let decoded = read(&serde_json::from_str(&update).unwrap());
        let IncomingEvent::Edited { id, addressed, .. } = &decoded.events[0].event else {
            panic!("an edit")
        };
        assert_eq!(id.as_str(), "-1001234:7");
        *addressed
    };
    let mention = |length: u32| json!([{"type": "mention", "offset": 0, "length": length}]);
    assert!(!addressed("what time is it?", json!([])).mention);
    assert!(
        addressed("@galatea_bot what time is it?", mention(12)).mention,
        "user names ignore case"
    );
    assert!(!addressed("@galatea_bot2 what time is it?", mention(13)).mention, "another's name");
    let words = json!([{"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 7001, "is_bot": true, "first_name": "G"}}]);
    assert!(addressed("Gala what time is it?", words).mention);
}

#[test]
fn presses_are_answered_and_told() {
    let on = json!({"message_id": 8, "from": {"id": 7001, "is_bot": true, "first_name": "G"}, "chat": group(), "date": 1, "text": "choose", "message_thread_id": 42, "is_topic_message": true});
    let decoded = read(
        &json!({"update_id": 3, "callback_query": {"id": "q1", "from": ann(), "message": on, "chat_instance": "c", "data": "yes"}}),
    );
    assert_eq!(decoded.press.as_deref(), Some("q1"));
    assert_eq!(
        (decoded.events[0].connection.room.remote.as_str(), decoded.events[0].at),
        ("-1001234-42", NOW)
    );
    let IncomingEvent::Pressed { id, message, data } = &decoded.events[0].event else {
        panic!("a press")
    };
    assert_eq!(
        (id.as_str(), message.as_ref().unwrap().as_str(), data.as_str()),
        ("press:q1", "-1001234:8", "yes")
    );
    let inline = read(
        &json!({"update_id": 3, "callback_query": {"id": "q2", "from": ann(), "inline_message_id": "i", "chat_instance": "c", "data": "yes"}}),
    );
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
    let IncomingEvent::Reacted { id, added, removed } = event(&update(
        json!([emoji("👍"), emoji("❤")]),
        json!([emoji("❤"), {"type": "custom_emoji", "custom_emoji_id": "5"}]),
    )) else {
        panic!("a reaction")
    };
    assert_eq!(
        (id.as_str(), added, removed),
        ("-1001234:7", vec!["custom:5".to_owned()], vec!["👍".to_owned()])
    );
    assert!(read(&update(json!([emoji("👍")]), json!([emoji("👍")]))).events.is_empty());
}

pub(super) fn member_update(field: &str, who: Value, old: Value, new: Value) -> Value {
    let with = |mut status: Value| {
        status["user"] = who.clone();
        status
    };
    json!({"update_id": 5, field: {"chat": group(), "from": ann(), "date": 9, "old_chat_member": with(old), "new_chat_member": with(new)}})
}

pub(super) fn administrator() -> Value {
    json!({"status": "administrator", "is_anonymous": false, "can_be_edited": false, "can_manage_chat": true, "can_change_info": true, "can_delete_messages": true,
        "can_manage_video_chats": true, "can_invite_users": true, "can_restrict_members": true, "can_promote_members": false})
}

#[test]
fn our_own_standing_is_reported() {
    let us = json!({"id": 7001, "is_bot": true, "first_name": "G"});
    let status = |old: &str, new: Value| {
        let decoded =
            read(&member_update("my_chat_member", us.clone(), json!({"status": old}), new));
        let IncomingEvent::OwnStatus(status) = decoded.events[0].event else { panic!("a status") };
        (status, decoded.refresh)
    };
    assert_eq!(status("left", json!({"status": "member"})), (OwnStatus::Joined, true));
    assert_eq!(status("member", administrator()), (OwnStatus::Admin, true));
    assert_eq!(status("member", json!({"status": "left"})), (OwnStatus::Removed, false));
    assert_eq!(
        status("member", json!({"status": "kicked", "until_date": 0})),
        (OwnStatus::Removed, false)
    );
}

#[test]
fn members_come_go_and_change_their_role() {
    let bob = json!({"id": 777, "is_bot": false, "first_name": "Bob"});
    let update =
        |old: Value, new: Value| read(&member_update("chat_member", bob.clone(), old, new));
    let joined = update(json!({"status": "left"}), json!({"status": "member"}));
    assert!(
        matches!(&joined.events[0].event, IncomingEvent::Joined { entities } if entities[0].remote.as_str() == "777")
    );
    let left = update(json!({"status": "member"}), json!({"status": "left"}));
    assert!(matches!(&left.events[0].event, IncomingEvent::Left { .. }));
    let promoted = update(json!({"status": "member"}), administrator());
    assert_eq!(
        (promoted.events.len(), &promoted.syncs[0].world.roles),
        (0, &vec![(RemoteId("777".into()), Role::Admin)])
    );
    let demoted = update(administrator(), json!({"status": "member"}));
    assert_eq!(demoted.syncs[0].world.roles, [(RemoteId("777".into()), Role::None)]);
    let owner =
        update(json!({"status": "left"}), json!({"status": "creator", "is_anonymous": false}));
    assert_eq!(owner.events[0].connection.world.owner, Some(RemoteId("777".into())));
    assert!(update(json!({"status": "member"}), json!({"status": "member"})).events.is_empty());
}

#[test]
fn service_messages_move_people_and_rooms() {
    let joined = event(&message_in(
        group(),
        json!({"new_chat_members": [ann(), {"id": 7001, "is_bot": true, "first_name": "G"}]}),
    ));
    assert!(matches!(joined, IncomingEvent::Joined { entities } if entities.len() == 1));
    assert!(
        read(&message_in(
            group(),
            json!({"new_chat_members": [{"id": 7001, "is_bot": true, "first_name": "G"}]})
        ))
        .events
        .is_empty()
    );
    assert!(matches!(
        event(&message_in(group(), json!({"left_chat_member": ann()}))),
        IncomingEvent::Left { .. }
    ));
    let old = json!({"id": -55, "type": "group", "title": "Garden"});
    assert_eq!(
        event(&message_in(old, json!({"migrate_to_chat_id": -1001234}))),
        IncomingEvent::RoomMoved { to: RemoteId("-1001234".into()) }
    );
    assert!(read(&message_in(group(), json!({"migrate_from_chat_id": -55}))).events.is_empty());
    let pinned = json!({"message_id": 5, "chat": group(), "date": 1, "text": "x"});
    assert!(read(&message_in(group(), json!({"pinned_message": pinned}))).events.is_empty());
}
