//! Actions of people: changes of the world and the updates they cause.

use serde_json::{Value, json};

use super::{
    message::Message,
    state::State,
    world::{Chat, ChatKind, Standing},
};

/// Stores a message and delivers it if the bot may see it; returns its id.
pub(crate) fn arrive(state: &mut State, message: Message) -> i64 {
    let id = message.id;
    let kind = kind_of(state, message.chat, false);
    let visible = sees(state, &message);
    state.world.store(message.clone());
    if visible {
        let body = state.world.message_json(&message);
        state.updates.push(kind, body);
    }
    id
}

/// Delivers the update of an edit.
pub(crate) fn edited(state: &mut State, message: &Message) {
    if sees(state, message) {
        let kind = kind_of(state, message.chat, true);
        let body = state.world.message_json(message);
        state.updates.push(kind, body);
    }
}

fn kind_of(state: &State, chat: i64, edited: bool) -> &'static str {
    let channel = state.world.chats.get(&chat).is_some_and(|c| c.kind == ChatKind::Channel);
    match (channel, edited) {
        (true, true) => "edited_channel_post",
        (true, false) => "channel_post",
        (false, true) => "edited_message",
        (false, false) => "message",
    }
}

/// True if the bot may see a message (Bot API, "Privacy mode").
fn sees(state: &State, message: &Message) -> bool {
    let Some(chat) = state.world.chats.get(&message.chat) else { return false };
    let standing = chat.standing(state.world.bot);
    match chat.kind {
        ChatKind::Private => !chat.blocked,
        ChatKind::Channel => standing.is_in(),
        ChatKind::Group | ChatKind::Supergroup => {
            // A bot never sees messages of other bots, in any mode.
            let by_bot =
                message.from.and_then(|f| state.world.people.get(&f)).is_some_and(|p| p.is_bot);
            standing.is_in()
                && !by_bot
                && (!state.options.privacy
                    || standing.is_admin()
                    || message.is_service()
                    || addressed(state, message))
        }
    }
}

fn addressed(state: &State, message: &Message) -> bool {
    let bot = state.world.bot;
    let handle = format!("@{}", state.options.bot_username);
    let reply = message
        .reply_to
        .and_then(|id| state.world.message(message.chat, id))
        .is_some_and(|m| m.from == Some(bot));
    let units: Vec<u16> = message.words.text.encode_utf16().collect();
    let named = message.words.entities.iter().any(|e| {
        let from = e["offset"].as_u64().unwrap_or_default() as usize;
        let to = from + e["length"].as_u64().unwrap_or_default() as usize;
        let word = String::from_utf16_lossy(units.get(from..to).unwrap_or_default());
        match e["type"].as_str() {
            Some("mention") => word.eq_ignore_ascii_case(&handle),
            Some("text_mention") => e["user"]["id"] == json!(bot),
            Some("bot_command") => {
                word.split_once('@').is_none_or(|(_, to)| to.eq_ignore_ascii_case(&handle[1..]))
            }
            _ => false,
        }
    });
    reply || named
}

/// Stores and delivers a service message: one that reports an event instead of carrying text.
pub(crate) fn service(state: &mut State, chat: i64, from: i64, field: &str, value: Value) -> i64 {
    let id = state.world.next_message(chat);
    let mut message = Message::new(id, chat, Some(from), state.date());
    message.extra.insert(field.to_owned(), value);
    arrive(state, message)
}

/// Changes a member's status and delivers `my_chat_member` or `chat_member`.
pub(crate) fn restand(state: &mut State, chat: i64, actor: i64, who: i64, standing: Standing) {
    let before = member(state, chat, who);
    let Some(place) = state.world.chats.get_mut(&chat) else { return };
    place.members.insert(who, standing);
    let after = member(state, chat, who);
    let body = json!({
        "chat": state.world.chats.get(&chat).map(Chat::json),
        "from": state.world.person_json(actor),
        "date": state.date(),
        "old_chat_member": before,
        "new_chat_member": after,
    });
    if who == state.world.bot {
        state.updates.push("my_chat_member", body);
    } else if state.world.chats.get(&chat).is_some_and(|c| c.standing(state.world.bot).is_admin()) {
        // "The bot must be an administrator in the chat" (Bot API, Update.chat_member).
        state.updates.push("chat_member", body);
    }
}

fn member(state: &State, chat: i64, who: i64) -> Value {
    state.world.chats.get(&chat).map(|c| state.world.member_json(c, who)).unwrap_or(Value::Null)
}

/// Turns a group into a supergroup; each of the two chats gets a message about it.
pub(crate) fn migrate(state: &mut State, group: i64, actor: i64) -> i64 {
    let Some(old) = state.world.chats.get(&group).cloned() else { return group };
    let to = state.world.add_chat(ChatKind::Supergroup, &old.title, &[]);
    if let Some(new) = state.world.chats.get_mut(&to) {
        new.members = old.members;
    }
    service(state, group, actor, "migrate_to_chat_id", json!(to));
    service(state, to, actor, "migrate_from_chat_id", json!(group));
    if let Some(old) = state.world.chats.get_mut(&group) {
        old.migrated_to = Some(to);
    }
    to
}

/// Sets or removes reactions and delivers the update.
pub(crate) fn react(state: &mut State, chat: i64, message: i64, who: i64, emoji: &[&str]) {
    let after: Vec<Value> = emoji.iter().map(|e| json!({ "type": "emoji", "emoji": e })).collect();
    let Some(target) = state.world.chats.get_mut(&chat).and_then(|c| c.messages.get_mut(&message))
    else {
        return;
    };
    let before = target.reactions.insert(who, after.clone()).unwrap_or_default();
    let (date, admin) =
        (
            state.date(),
            state.world.chats.get(&chat).is_some_and(|c| {
                c.kind == ChatKind::Private || c.standing(state.world.bot).is_admin()
            }),
        );
    // "The bot must be an administrator in the chat" (Bot API, Update.message_reaction).
    if admin {
        let body = json!({
            "chat": state.world.chats.get(&chat).map(Chat::json),
            "message_id": message,
            "user": state.world.person_json(who),
            "date": date,
            "old_reaction": before,
            "new_reaction": after,
        });
        state.updates.push("message_reaction", body);
    }
}

/// Presses a button. `None` when the message has no such button.
pub(crate) fn press(
    state: &mut State,
    chat: i64,
    message: i64,
    who: i64,
    data: &str,
) -> Option<String> {
    let shown = state.world.message(chat, message)?.clone();
    let rows = shown.markup.as_ref()?["inline_keyboard"].as_array()?;
    let there =
        rows.iter().filter_map(Value::as_array).flatten().any(|b| b["callback_data"] == data);
    if !there {
        return None;
    }
    let id = format!("{}", 4_000_000_000_000_000_000_u64 + state.callbacks.len() as u64);
    state.callbacks.insert(id.clone(), false);
    let body = json!({
        "id": id,
        "from": state.world.person_json(who),
        "message": state.world.message_json(&shown),
        "chat_instance": (chat.unsigned_abs() * 31).to_string(),
        "data": data,
    });
    state.updates.push("callback_query", body);
    Some(id)
}
