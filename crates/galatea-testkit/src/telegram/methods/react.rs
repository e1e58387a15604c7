//! setMessageReaction.

use serde_json::{Value, json};

use super::access::{Access, chat};
use crate::telegram::{
    answer::{Answer, Refusal},
    params::Params,
    schema::REACTIONS,
    state::State,
};

/// setMessageReaction: a bot can set at most one reaction, from the documented emoji.
pub(super) fn set(state: &mut State, params: &Params) -> Answer {
    let reactions = params.json("reaction")?.unwrap_or_else(|| json!([]));
    let list = reactions.as_array().ok_or_else(|| {
        Refusal::broken("can't parse reaction types: expected an Array of ReactionType")
    })?;
    for reaction in list {
        check(reaction)?;
    }
    if list.len() > 1 {
        return Err(Refusal::broken("REACTIONS_TOO_MANY"));
    }
    params.flag("is_big")?;
    let place = chat(state, params, "chat_id", Access::Read)?;
    let id = params.int("message_id")?.unwrap_or_default();
    let bot = state.world.bot;
    let message = state.world.chats.get_mut(&place).and_then(|c| c.messages.get_mut(&id));
    let message = message.ok_or_else(|| Refusal::bad("message to react not found"))?;
    if list.is_empty() {
        message.reactions.remove(&bot);
    } else {
        message.reactions.insert(bot, list.clone());
    }
    Ok(json!(true))
}

fn check(reaction: &Value) -> Result<(), Refusal> {
    match reaction["type"].as_str() {
        Some("emoji") => {
            let emoji = reaction["emoji"].as_str().unwrap_or_default();
            if REACTIONS.contains(&emoji) {
                Ok(())
            } else {
                Err(Refusal::broken("REACTION_INVALID"))
            }
        }
        Some("custom_emoji") if reaction["custom_emoji_id"].is_string() => Ok(()),
        Some("paid") => Err(Refusal::broken("REACTION_INVALID")),
        _ => Err(Refusal::broken("can't parse reaction types: type is invalid")),
    }
}
