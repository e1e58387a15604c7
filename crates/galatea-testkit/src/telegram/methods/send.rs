//! sendMessage, sendChatAction, and the checks that all sends share.

use serde_json::{Map, Value, json};

use super::access::{Access, chat, chat_of};
use crate::telegram::{
    answer::{Answer, Refusal},
    entities::{Formatted, MAX_CAPTION, MAX_TEXT, utf16_len},
    flood, markup,
    message::Message,
    params::Params,
    parse,
    schema::CHAT_ACTIONS,
    state::State,
    world::ChatKind,
};

pub(super) fn message(state: &mut State, params: &Params) -> Answer {
    let words = text(params)?;
    link_preview(params)?;
    let frame = Frame::read(state, params)?;
    let id = frame.put(state, words, Map::new())?;
    Ok(shown(state, frame.chat, id))
}

/// The `text` of a call, parsed and within its length limit.
pub(super) fn text(params: &Params) -> Result<Formatted, Refusal> {
    let raw = params.required_text("text")?;
    if raw.is_empty() {
        return Err(Refusal::broken("message text is empty"));
    }
    let entities = params.json("entities")?;
    let words = parse::formatted(params, raw, params.text("parse_mode")?, entities.as_ref())?;
    if words.text.is_empty() {
        return Err(Refusal::broken("text must be non-empty"));
    }
    if utf16_len(&words.text) > MAX_TEXT {
        return Err(Refusal::broken("message is too long"));
    }
    Ok(words)
}

/// The `caption` of a call, parsed and within its length limit.
pub(super) fn caption(params: &Params) -> Result<Formatted, Refusal> {
    let raw = params.text("caption")?.unwrap_or_default();
    let entities = params.json("caption_entities")?;
    let words = parse::formatted(params, raw, params.text("parse_mode")?, entities.as_ref())?;
    if utf16_len(&words.text) > MAX_CAPTION {
        return Err(Refusal::broken("message caption is too long"));
    }
    Ok(words)
}

fn link_preview(params: &Params) -> Result<(), Refusal> {
    let Some(options) = params.json("link_preview_options")? else { return Ok(()) };
    let known =
        ["is_disabled", "url", "prefer_small_media", "prefer_large_media", "show_above_text"];
    let map = options
        .as_object()
        .ok_or_else(|| Refusal::broken("object expected as link preview options"))?;
    for odd in map.keys().filter(|k| !known.contains(&k.as_str())) {
        params.note(format!("link_preview_options has no field \"{odd}\""));
    }
    Ok(())
}

/// Destination of a send, with the reply and keyboard of the message.
pub(super) struct Frame {
    pub(super) chat: i64,
    thread: Option<i64>,
    reply_to: Option<i64>,
    markup: Option<Value>,
}

impl Frame {
    /// Reads and checks chat, thread, reply and keyboard, in the real server's order.
    pub(super) fn read(state: &mut State, params: &Params) -> Result<Self, Refusal> {
        let markup = markup::read(params, false)?;
        params.flag("disable_notification")?;
        params.flag("protect_content")?;
        let to = chat(state, params, "chat_id", Access::Write)?;
        let reply_to = reply(state, params, to)?;
        let thread = thread(state, params, to, true)?;
        let (pace, now) = (state.options.pace, state.now());
        if let Some(chat) = state.world.chats.get_mut(&to) {
            flood::check_pace(pace, chat, now)?;
        }
        Ok(Self { chat: to, thread, reply_to, markup })
    }

    /// Stores a message of the bot in the chat and returns its id.
    pub(super) fn put(
        &self,
        state: &mut State,
        words: Formatted,
        extra: Map<String, Value>,
    ) -> Result<i64, Refusal> {
        let id = state.world.next_message(self.chat);
        let (bot, date) = (state.world.bot, state.date());
        let replied = self
            .reply_to
            .and_then(|r| state.world.message(self.chat, r))
            .map(|m| (m.thread.unwrap_or(m.id), m.in_topic));
        let chat =
            state.world.chats.get(&self.chat).ok_or_else(|| Refusal::bad("chat not found"))?;
        let from = (chat.kind != ChatKind::Channel).then_some(bot);
        let mut message = Message::new(id, self.chat, from, date);
        (message.thread, message.in_topic) = match (self.thread, replied) {
            (Some(thread), _) => (Some(thread), chat.forum),
            (None, Some((thread, true))) => (Some(thread), true),
            (None, Some((thread, false))) if chat.kind == ChatKind::Supergroup && !chat.forum => {
                (Some(thread), false)
            }
            _ => (None, false),
        };
        message.reply_to = self.reply_to;
        message.words = words;
        message.extra = extra;
        if let Some(load) = &mut state.load {
            load.answered(self.chat, &message.words.text);
        }
        message.markup = self.markup.clone();
        state.world.store(message);
        Ok(id)
    }
}

/// A stored message in the form of an answer.
pub(super) fn shown(state: &State, chat: i64, id: i64) -> Value {
    state.world.message(chat, id).map(|m| state.world.message_json(m)).unwrap_or(Value::Null)
}

/// Checks `reply_parameters`; returns the replied-to message when it is in this chat.
fn reply(state: &State, params: &Params, to: i64) -> Result<Option<i64>, Refusal> {
    let Some(reply) = params.json("reply_parameters")? else { return Ok(None) };
    let map =
        reply.as_object().ok_or_else(|| Refusal::broken("object expected as reply parameters"))?;
    let known = [
        "message_id",
        "chat_id",
        "allow_sending_without_reply",
        "quote",
        "quote_parse_mode",
        "quote_entities",
        "quote_position",
        "checklist_task_id",
    ];
    for odd in map.keys().filter(|k| !known.contains(&k.as_str())) {
        params.note(format!("reply_parameters has no field \"{odd}\""));
    }
    let id = map.get("message_id").and_then(Value::as_i64);
    let id = id.ok_or_else(|| {
        Refusal::broken(
            "can't parse reply parameters: Field \"message_id\" must be of type Integer",
        )
    })?;
    let lenient = map.get("allow_sending_without_reply").and_then(Value::as_bool).unwrap_or(false);
    let place = map
        .get("chat_id")
        .filter(|v| !v.is_null())
        .map(|c| chat_of(state, c, Access::Read))
        .transpose()?
        .unwrap_or(to);
    let Some(message) = state.world.message(place, id) else {
        return if lenient {
            Ok(None)
        } else {
            Err(Refusal::bad("message to be replied not found"))
        };
    };
    if let Some(quote) = map.get("quote").and_then(Value::as_str)
        && !message.words.text.contains(quote)
    {
        return Err(Refusal::bad("QUOTE_TEXT_INVALID"));
    }
    Ok((place == to).then_some(id))
}

/// Checks `message_thread_id`. The thread must exist, and sends must omit General (1) (Bot API
/// changelog 6.3; sends answer "not found").
fn thread(state: &State, params: &Params, to: i64, sends: bool) -> Result<Option<i64>, Refusal> {
    let Some(thread) = params.int("message_thread_id")? else { return Ok(None) };
    let missing = "message thread not found";
    let Some(chat) = state.world.chats.get(&to) else { return Err(Refusal::bad("chat not found")) };
    if thread == 1 && chat.forum {
        return if sends { Err(Refusal::broken(missing)) } else { Ok(Some(1)) };
    }
    let exists = if chat.forum {
        chat.topics.contains_key(&thread)
    } else {
        chat.messages.values().any(|m| m.thread == Some(thread))
    };
    if sends && chat.closed.contains(&thread) {
        return Err(Refusal::bad("TOPIC_CLOSED"));
    }
    if exists { Ok(Some(thread)) } else { Err(Refusal::bad(missing)) }
}

pub(super) fn action(state: &mut State, params: &Params) -> Answer {
    let action = params.required_text("action")?.to_owned();
    if !CHAT_ACTIONS.contains(&action.as_str()) {
        return Err(Refusal::broken("wrong parameter action in request"));
    }
    let to = chat(state, params, "chat_id", Access::Write)?;
    let thread = thread(state, params, to, false)?;
    state.actions.push((to, thread, action));
    Ok(json!(true))
}
