//! Editing and deleting messages.

use serde_json::json;

use super::{
    access::{Access, chat},
    send::{caption as read_caption, shown, text as read_text},
};
use crate::telegram::{
    answer::{Answer, Refusal},
    markup as keyboard,
    message::Message,
    params::Params,
    state::State,
    world::ChatKind,
};

const NOT_MODIFIED: &str = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message";
/// Seconds within which a message can be deleted: less than 48 hours (Bot API, deleteMessage).
const DELETE_WITHIN: i64 = 48 * 3600;

pub(super) fn text(state: &mut State, params: &Params) -> Answer {
    let words = read_text(params)?;
    let markup = keyboard::read(params, true)?;
    let (chat, id) = own_message(state, params)?;
    change(state, chat, id, |message| {
        if message.has_media() {
            return Err(Refusal::bad("there is no text in the message to edit"));
        }
        if message.words == words && message.markup == markup {
            return Err(Refusal::bad(NOT_MODIFIED));
        }
        message.words = words;
        message.markup = markup;
        Ok(())
    })
}

pub(super) fn caption(state: &mut State, params: &Params) -> Answer {
    let words = read_caption(params)?;
    let markup = keyboard::read(params, true)?;
    let (chat, id) = own_message(state, params)?;
    change(state, chat, id, |message| {
        if !message.has_media() {
            return Err(Refusal::bad("there is no caption in the message to edit"));
        }
        if message.words == words && message.markup == markup {
            return Err(Refusal::bad(NOT_MODIFIED));
        }
        message.words = words;
        message.markup = markup;
        Ok(())
    })
}

pub(super) fn markup(state: &mut State, params: &Params) -> Answer {
    let markup = keyboard::read(params, true)?;
    let (chat, id) = own_message(state, params)?;
    change(state, chat, id, |message| {
        if message.markup == markup {
            return Err(Refusal::bad(NOT_MODIFIED));
        }
        message.markup = markup;
        Ok(())
    })
}

/// The message that a call names; it must exist and be the bot's own. Order and wording follow
/// telegram-bot-api's check_message and tdlib's can_edit_message.
fn own_message(state: &State, params: &Params) -> Result<(i64, i64), Refusal> {
    if params.has("inline_message_id") && !params.has("chat_id") {
        return Err(Refusal::bad("invalid inline message identifier specified"));
    }
    if !params.has("chat_id") || !params.has("message_id") {
        return Err(Refusal::broken("message identifier is not specified"));
    }
    let place = chat(state, params, "chat_id", Access::Edit)?;
    let id = params.int("message_id")?.unwrap_or_default();
    let message =
        state.world.message(place, id).ok_or_else(|| Refusal::bad("message to edit not found"))?;
    let channel = state.world.chats.get(&place).is_some_and(|c| c.kind == ChatKind::Channel);
    if message.is_service()
        || !(message.from == Some(state.world.bot) || (channel && message.from.is_none()))
    {
        return Err(Refusal::bad("message can't be edited"));
    }
    Ok((place, id))
}

fn change(
    state: &mut State,
    chat: i64,
    id: i64,
    edit: impl FnOnce(&mut Message) -> Result<(), Refusal>,
) -> Answer {
    let date = state.date();
    let message = state.world.chats.get_mut(&chat).and_then(|c| c.messages.get_mut(&id));
    let message = message.ok_or_else(|| Refusal::bad("message to edit not found"))?;
    edit(message)?;
    message.edited = Some(date);
    Ok(shown(state, chat, id))
}

pub(super) fn delete(state: &mut State, params: &Params) -> Answer {
    let place = chat(state, params, "chat_id", Access::Edit)?;
    let id = params.int("message_id")?.unwrap_or_default();
    let bot = state.world.bot;
    let now = state.date();
    let missing = || Refusal::bad("message to delete not found");
    let chat = state.world.chats.get_mut(&place).ok_or_else(missing)?;
    let (kind, admin) = (chat.kind, chat.standing(bot).is_admin());
    let message = chat.messages.get(&id).ok_or_else(missing)?;
    let own = message.from == Some(bot) || (kind == ChatKind::Channel && message.from.is_none());
    if !own && kind != ChatKind::Private && !admin {
        return Err(Refusal::bad("message can't be deleted"));
    }
    if now - message.date > DELETE_WITHIN && !(admin && kind != ChatKind::Private) {
        return Err(Refusal::bad("message can't be deleted for everyone"));
    }
    chat.messages.remove(&id);
    state.deleted.insert((place, id));
    Ok(json!(true))
}
