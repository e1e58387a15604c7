//! REST routes of channels and messages.

use serde_json::{Value, json};

use super::{
    refusal::{Answer, Refusal},
    sessions::intent,
    state::State,
    validate,
    world::{Channel, File, Message, may},
};
use crate::discord::request::Request;

impl State {
    /// Finds the channel, if the bot has these permissions there.
    fn allowed_in(&self, channel: u64, needs: u64) -> Result<&Channel, Refusal> {
        let found = self.world.channels.get(&channel).ok_or_else(Refusal::unknown_channel)?;
        if let Some(guild) = found.guild {
            if !self
                .world
                .guilds
                .get(&guild)
                .is_some_and(|g| g.members.contains_key(&self.world.bot))
                || found.may & may::VIEW == 0
            {
                return Err(Refusal::access());
            }
            let needs = if found.is_thread() && needs & may::SEND != 0 {
                needs & !may::SEND | may::SEND_IN_THREADS
            } else {
                needs
            };
            if found.may & needs != needs {
                return Err(Refusal::permission());
            }
            if matches!(found.kind, 4 | 15 | 16) && needs & may::SEND != 0 {
                return Err(Refusal::new(400, 50008, "Cannot send messages in a non-text channel")
                    .wrong("a message to a channel that holds none"));
            }
        } else if needs & may::SEND != 0
            && found
                .recipient
                .and_then(|p| self.world.people.get(&p))
                .is_some_and(|p| !p.takes_direct)
        {
            return Err(Refusal::new(403, 50007, "Cannot send messages to this user"));
        }
        Ok(found)
    }

    /// Sends a message event to the sessions that asked for it.
    pub(crate) fn dispatch_message(&mut self, name: &str, message: &Message) {
        let guild = self.world.channels.get(&message.channel).and_then(|c| c.guild);
        let wanted = if guild.is_some() { intent::GUILD_MESSAGES } else { intent::DIRECT_MESSAGES };
        let data = self.world.message_event(message, &self.base);
        self.sessions.dispatch(guild, wanted, name, &data, self.world.bot);
    }

    /// Takes the files of a form as attachments.
    pub(crate) fn files(&mut self, request: &Request) -> Vec<File> {
        let now = self.now();
        let described = request.body["attachments"].as_array().cloned().unwrap_or_default();
        let about = |name: &str| {
            described
                .iter()
                .find(|a| format!("files[{}]", a["id"]) == name)
                .and_then(|a| a["description"].as_str().map(str::to_owned))
        };
        let one = |f: &crate::telegram::multipart::Part| File {
            id: self.world.id(now),
            name: f.file_name.clone().unwrap_or_default(),
            mime: f.mime.clone(),
            description: about(&f.name),
            bytes: f.bytes.clone(),
            voice: None,
        };
        request.files.iter().map(one).collect()
    }

    /// Posts a message as the bot.
    pub(crate) fn post(&mut self, message: Message) -> Value {
        if let Some(channel) = self.world.channels.get_mut(&message.channel) {
            channel.archived = false;
            channel.messages.insert(message.id, message.clone());
        }
        self.dispatch_message("MESSAGE_CREATE", &message);
        self.world.message_json(&message, &self.base)
    }
}

pub(crate) fn get(state: &mut State, request: &Request) -> Answer {
    let channel = state.allowed_in(request.id(0), 0)?;
    Ok(state.world.channel_json(request.id(0), channel))
}

pub(crate) fn list(state: &mut State, request: &Request) -> Answer {
    let channel = state.allowed_in(request.id(0), 0)?;
    // "If the current user is missing the READ_MESSAGE_HISTORY permission in the channel, then no
    // messages will be returned."
    let readable = channel.guild.is_none() || channel.may & may::HISTORY != 0;
    let number = |name: &str| {
        request
            .query
            .get(name)
            .map(|v| v.parse::<u64>().map_err(|_| Refusal::form(name, "must be a snowflake")))
            .transpose()
    };
    let limit = usize::try_from(number("limit")?.unwrap_or(50)).unwrap_or(0);
    if !(1..=100).contains(&limit) {
        return Err(Refusal::form("limit", "Must be between 1 and 100."));
    }
    let (after, before) = (number("after")?, number("before")?);
    let found: Vec<&Message> = match after {
        Some(after) => channel.messages.range(after + 1..).take(limit).map(|(_, m)| m).collect(),
        None => channel
            .messages
            .range(..before.unwrap_or(u64::MAX))
            .rev()
            .take(limit)
            .map(|(_, m)| m)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect(),
    };
    // Newest first, whatever the request asks for.
    Ok(found
        .into_iter()
        .filter(|_| readable)
        .rev()
        .map(|m| state.world.message_json(m, &state.base))
        .collect())
}

pub(crate) fn create(state: &mut State, request: &Request) -> Answer {
    let channel = request.id(0);
    let body = validate::message(request, state.options.pings, true)?.clone();
    let needs = may::SEND | if request.files.is_empty() { 0 } else { may::ATTACH };
    state.allowed_in(channel, needs)?;
    let nonce = validate::nonce(&body)?;
    if let Some(first) = nonce.as_ref().and_then(|n| state.nonces.get(&(channel, n.clone()))) {
        // "… the message created by the first will be returned", provided it still exists.
        return match state.world.message(channel, *first) {
            Some(first) => Ok(state.world.message_json(first, &state.base)),
            None => Err(Refusal::unknown_message()),
        };
    }
    let reference = match body.get("message_reference") {
        None | Some(Value::Null) => None,
        Some(given) => reference(state, channel, given)?,
    };
    let now = state.now();
    let id = state.world.id(now);
    let files = state.files(request);
    let message = Message {
        id,
        channel,
        author: state.world.bot,
        content: body.get("content").and_then(Value::as_str).unwrap_or_default().trim().to_owned(),
        files,
        components: body.get("components").and_then(Value::as_array).cloned().unwrap_or_default(),
        kind: if reference.is_some() { 19 } else { 0 },
        reference,
        nonce: nonce.clone().map(Value::String),
        ..Message::default()
    };
    if let Some(nonce) = nonce {
        state.nonces.insert((channel, nonce), id);
    }
    Ok(state.post(message))
}

/// The message that the body's reference names, for a reply.
fn reference(state: &State, channel: u64, given: &Value) -> Result<Option<u64>, Refusal> {
    let id = given["message_id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .ok_or_else(|| Refusal::form("message_reference.message_id", "must be a snowflake"))?;
    if given.get("channel_id").is_some_and(|c| *c != json!(channel.to_string())) {
        return Err(Refusal::form(
            "message_reference.channel_id",
            "must be the channel it is posted in",
        ));
    }
    if state.allowed_in(channel, may::HISTORY).is_err() {
        return Err(Refusal::new(
            400,
            160_002,
            "Cannot reply without permission to read message history",
        ));
    }
    match state.world.message(channel, id) {
        Some(_) => Ok(Some(id)),
        None if given["fail_if_not_exists"] == false => Ok(None),
        None => Err(Refusal::form("message_reference", "Unknown message")),
    }
}

pub(crate) fn message(state: &mut State, request: &Request) -> Answer {
    state.allowed_in(request.id(0), may::HISTORY)?;
    let found =
        state.world.message(request.id(0), request.id(1)).ok_or_else(Refusal::unknown_message)?;
    Ok(state.world.message_json(found, &state.base))
}

pub(crate) fn edit(state: &mut State, request: &Request) -> Answer {
    let (channel, id) = (request.id(0), request.id(1));
    let body = validate::message(request, state.options.pings, false)?.clone();
    state.allowed_in(channel, 0)?;
    let own = state.world.message(channel, id).ok_or_else(Refusal::unknown_message)?.author
        == state.world.bot;
    if !own {
        return Err(Refusal::new(403, 50005, "Cannot edit a message authored by another user")
            .wrong("edited another author's message"));
    }
    Ok(change(state, channel, id, &body))
}

/// Edits a message of the bot.
pub(crate) fn change(
    state: &mut State,
    channel: u64,
    id: u64,
    body: &serde_json::Map<String, Value>,
) -> Value {
    let now = state.now();
    if let Some(message) =
        state.world.channels.get_mut(&channel).and_then(|c| c.messages.get_mut(&id))
    {
        if let Some(content) = body.get("content").and_then(Value::as_str) {
            message.content = content.trim().to_owned();
        }
        if let Some(components) = body.get("components").and_then(Value::as_array) {
            message.components.clone_from(components);
        }
        message.edited = Some(now);
    }
    let Some(changed) = state.world.message(channel, id).cloned() else { return Value::Null };
    state.dispatch_message("MESSAGE_UPDATE", &changed);
    state.world.message_json(&changed, &state.base)
}

pub(crate) fn delete(state: &mut State, request: &Request) -> Answer {
    let (channel, id) = (request.id(0), request.id(1));
    state.allowed_in(channel, 0)?;
    let own = state.world.message(channel, id).ok_or_else(Refusal::unknown_message)?.author
        == state.world.bot;
    if !own {
        return Err(Refusal::permission());
    }
    state.remove(channel, &[id]);
    Ok(Value::Null)
}

pub(crate) fn react(state: &mut State, request: &Request) -> Answer {
    state.allowed_in(request.id(0), may::HISTORY | may::ADD_REACTIONS)?;
    let emoji = request.ids.get(2).cloned().unwrap_or_default();
    if emoji.is_empty() || (emoji.is_ascii() && !emoji.contains(':')) {
        return Err(
            Refusal::new(400, 10014, "Unknown Emoji").wrong("a reaction that is not an emoji")
        );
    }
    let bot = state.world.bot;
    state.set_reaction(request.id(0), request.id(1), bot, &emoji, true)?;
    Ok(Value::Null)
}

pub(crate) fn unreact(state: &mut State, request: &Request) -> Answer {
    state.allowed_in(request.id(0), may::HISTORY)?;
    let bot = state.world.bot;
    state.set_reaction(
        request.id(0),
        request.id(1),
        bot,
        &request.ids.get(2).cloned().unwrap_or_default(),
        false,
    )?;
    Ok(Value::Null)
}

pub(crate) fn typing(state: &mut State, request: &Request) -> Answer {
    state.allowed_in(request.id(0), may::SEND)?;
    state.typing.push(request.id(0));
    Ok(Value::Null)
}
