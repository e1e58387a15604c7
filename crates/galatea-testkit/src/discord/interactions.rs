//! The bot has three seconds to acknowledge an interaction and fifteen minutes to answer it.

use serde_json::Value;
use std::time::Duration;

use super::{
    channels,
    refusal::{Answer, Refusal},
    state::State,
    validate,
    world::{Interaction, Message},
};
use crate::discord::request::Request;

const ACKNOWLEDGE: Duration = Duration::from_secs(3);
const ANSWER: Duration = Duration::from_secs(15 * 60);
/// Flag of a deferred answer's placeholder (Discord, "Message Flags": LOADING).
pub(crate) const LOADING: u64 = 1 << 7;

pub(crate) fn callback(state: &mut State, request: &Request) -> Answer {
    let unknown = || Refusal::new(404, 10062, "Unknown interaction");
    let token = request.ids.get(1).cloned().unwrap_or_default();
    let known = state
        .interactions
        .get(&request.id(0))
        .filter(|i| i.token == token)
        .cloned()
        .ok_or_else(unknown)?;
    if known.acknowledged.is_some() {
        return Err(Refusal::new(400, 40060, "Interaction has already been acknowledged."));
    }
    if known.at.elapsed() > ACKNOWLEDGE {
        return Err(unknown().wrong("acknowledged after three seconds"));
    }
    let kind = request.body["type"].as_u64().unwrap_or(0);
    let flags = request
        .body
        .get("data")
        .map_or(Some(0), |data| data["flags"].as_u64())
        .ok_or_else(|| Refusal::form("data.flags", "must be a number"))?;
    if flags & !EPHEMERAL != 0 || (flags != 0 && kind != 5) {
        return Err(Refusal::form("data.flags", "flags that cannot be set here"));
    }
    let hidden = flags != 0;
    let original = match (kind, known.kind) {
        (5, _) if hidden => {
            let now = state.now();
            Some(state.world.id(now))
        }
        (5, _) => {
            let now = state.now();
            let id = state.world.id(now);
            let message = Message {
                id,
                channel: known.channel,
                author: state.world.bot,
                flags: LOADING,
                kind: 20,
                application: Some(state.options.application),
                ..Message::default()
            };
            state.post(message);
            Some(id)
        }
        (6, 3) => known.original,
        _ => return Err(Refusal::form("type", "a response of this type is not expected here")),
    };
    if let Some(known) = state.interactions.get_mut(&request.id(0)) {
        (known.acknowledged, known.original, known.hidden) = (Some(kind), original, hidden);
    }
    Ok(Value::Null)
}

fn pending(state: &State, request: &Request) -> Result<Interaction, Refusal> {
    let token = request.ids.get(1).cloned().unwrap_or_default();
    let gone = || Refusal::new(401, 50027, "Invalid Webhook Token");
    if request.id(0) != state.options.application {
        return Err(Refusal::new(404, 10015, "Unknown Webhook"));
    }
    let known = state.interactions.values().find(|i| i.token == token).ok_or_else(gone)?;
    if known.expired || known.at.elapsed() > ANSWER { Err(gone()) } else { Ok(known.clone()) }
}

pub(crate) fn edit_original(state: &mut State, request: &Request) -> Answer {
    let known = pending(state, request)?;
    let Some(id) = known.original else {
        return Err(Refusal::new(404, 10008, "Unknown Message"));
    };
    let mut body = validate::message(request, state.options.pings, false)?.clone();
    let files = state.files(request);
    body.remove("attachments");
    if known.hidden {
        let text =
            body.get("content").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        let at = known.whisper.unwrap_or(state.whispers.len());
        if at == state.whispers.len() {
            state.whispers.push((request.id(0), known.channel, text));
        } else {
            state.whispers[at].2 = text;
        }
        state
            .interactions
            .values_mut()
            .filter(|i| i.token == known.token)
            .for_each(|i| i.whisper = Some(at));
        return Ok(
            serde_json::json!({ "id": id.to_string(), "channel_id": known.channel.to_string(), "flags": EPHEMERAL }),
        );
    }
    if let Some(message) =
        state.world.channels.get_mut(&known.channel).and_then(|c| c.messages.get_mut(&id))
    {
        message.flags &= !LOADING;
        // A press changes what is shown below a message, not its files.
        if known.kind == 2 {
            message.files = files;
        }
    }
    Ok(channels::change(state, known.channel, id, &body))
}

pub(crate) fn delete_original(state: &mut State, request: &Request) -> Answer {
    let known = pending(state, request)?;
    let gone = || Refusal::new(404, 10008, "Unknown Message");
    let id = known.original.ok_or_else(gone)?;
    if known.hidden {
        state
            .interactions
            .values_mut()
            .filter(|i| i.token == known.token)
            .for_each(|i| i.original = None);
        return Ok(Value::Null);
    }
    let channel = state.world.channels.get_mut(&known.channel).ok_or_else(gone)?;
    channel.messages.remove(&id).ok_or_else(gone)?;
    state
        .interactions
        .values_mut()
        .filter(|i| i.token == known.token)
        .for_each(|i| i.original = None);
    Ok(Value::Null)
}

/// Flag of an answer that only the asking person sees.
const EPHEMERAL: u64 = 1 << 6;

pub(crate) fn follow_up(state: &mut State, request: &Request) -> Answer {
    let known = pending(state, request)?;
    if known.acknowledged.is_none() {
        return Err(Refusal::new(404, 10015, "Unknown Webhook")
            .wrong("followed up before it was acknowledged"));
    }
    let body = validate::message(request, state.options.pings, true)?.clone();
    let (now, files) = (state.now(), state.files(request));
    if body.get("flags").and_then(Value::as_u64).is_some_and(|flags| flags & EPHEMERAL != 0) {
        // While a deferred answer is open, the first follow-up replaces its placeholder and takes
        // over its visibility (Discord, "Create Followup Message").
        let loading = known
            .original
            .and_then(|id| state.world.message(known.channel, id))
            .is_some_and(|m| m.flags & LOADING != 0);
        if loading {
            return Err(Refusal::form(
                "flags",
                "the deferred answer waits, so this would not be ephemeral",
            )
            .wrong("an ephemeral line that everyone would see"));
        }
        let text =
            body.get("content").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        state.whispers.push((request.id(0), known.channel, text));
        let id = state.world.id(now);
        return Ok(
            serde_json::json!({ "id": id.to_string(), "channel_id": known.channel.to_string(), "flags": EPHEMERAL }),
        );
    }
    let message = Message {
        id: state.world.id(now),
        channel: known.channel,
        author: state.world.bot,
        content: body.get("content").and_then(Value::as_str).unwrap_or_default().trim().to_owned(),
        files,
        kind: 20,
        application: Some(state.options.application),
        ..Message::default()
    };
    Ok(state.post(message))
}
