//! Tests with hostile input: mutations of every kind of update, and garbage.

use super::{
    events::{administrator, member_update},
    *,
};
use proptest::prelude::*;
use teloxide::types::MessageEntity;

/// The updates that are mutated.
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
        message_in(
            group(),
            json!({"voice": {"file_id": "v", "file_unique_id": "v", "duration": 3, "mime_type": "audio/ogg"}}),
        ),
        message_in(group(), json!({"new_chat_members": [ann()]})),
        message_in(group(), json!({"migrate_to_chat_id": -1001})),
        message_in(
            group(),
            json!({"forum_topic_created": {"name": "n", "icon_color": 1}, "message_thread_id": 3, "is_topic_message": true}),
        ),
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn mutated_updates_never_panic(which in 0_usize..11, changes in proptest::collection::vec((1_usize..60, mutation()), 1..5)) {
        let mut update = recordings().swap_remove(which);
        for (at, change) in &changes {
            mutate(&mut update, &mut at.clone(), change);
        }
        let body = json!({"ok": true, "result": [update]}).to_string();
        for item in raw::answer(body.as_bytes()).into_iter().flat_map(|a| a.items) {
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
        // Every character is kept in order; markers are only added.
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
        let _ = (raw::single(&bytes), raw::first_of(&bytes), raw::cut(&bytes));
    }
}
