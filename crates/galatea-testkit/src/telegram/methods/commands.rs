//! setMyCommands, getMyCommands, deleteMyCommands.

use serde_json::{Value, json};

use super::access::{Access, chat_of};
use crate::telegram::{
    answer::{Answer, Refusal},
    params::Params,
    state::State,
};

/// Most commands of one scope (Bot API, setMyCommands).
const MAX_COMMANDS: usize = 100;

pub(super) fn set(state: &mut State, params: &Params) -> Answer {
    let commands = params.json("commands")?.unwrap_or_default();
    let list = commands
        .as_array()
        .ok_or_else(|| Refusal::broken("can't parse commands: expected an Array of BotCommand"))?;
    if list.is_empty() {
        params.note("setMyCommands without commands; deleteMyCommands is meant");
    }
    if list.len() > MAX_COMMANDS {
        return Err(Refusal::broken("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in list {
        check(command)?;
    }
    let key = scope(state, params)?;
    state.commands.insert(key, list.clone());
    Ok(json!(true))
}

/// Checks a `BotCommand`: 1-32 lower case letters, digits and underscores; description of 1-256
/// characters (Bot API, BotCommand).
fn check(command: &Value) -> Result<(), Refusal> {
    let name = command["command"]
        .as_str()
        .ok_or_else(|| Refusal::broken("can't parse BotCommand: Can't find field \"command\""))?;
    let about = command["description"].as_str().ok_or_else(|| {
        Refusal::broken("can't parse BotCommand: Can't find field \"description\"")
    })?;
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !plain || !(1..=32).contains(&name.len()) {
        return Err(Refusal::broken("BOT_COMMAND_INVALID"));
    }
    if !(1..=256).contains(&about.chars().count()) {
        return Err(Refusal::broken("BOT_COMMAND_DESCRIPTION_INVALID"));
    }
    Ok(())
}

pub(super) fn get(state: &mut State, params: &Params) -> Answer {
    let key = scope(state, params)?;
    Ok(json!(state.commands.get(&key).cloned().unwrap_or_default()))
}

pub(super) fn delete(state: &mut State, params: &Params) -> Answer {
    let key = scope(state, params)?;
    state.commands.remove(&key);
    Ok(json!(true))
}

fn scope(state: &State, params: &Params) -> Result<String, Refusal> {
    let language = params.text("language_code")?.unwrap_or_default().to_owned();
    let Some(scope) = params.json("scope")? else { return Ok(format!("default/{language}")) };
    let kind = scope["type"].as_str().unwrap_or_default();
    let wants_chat = ["chat", "chat_administrators", "chat_member"].contains(&kind);
    if !wants_chat
        && !["default", "all_private_chats", "all_group_chats", "all_chat_administrators"]
            .contains(&kind)
    {
        return Err(Refusal::broken(
            "can't parse BotCommandScope: BotCommandScope has unsupported type",
        ));
    }
    let place = if wants_chat {
        chat_of(state, &scope["chat_id"], Access::Members)?.to_string()
    } else {
        String::new()
    };
    let user = if kind == "chat_member" {
        scope["user_id"].as_i64().ok_or_else(|| Refusal::broken("invalid user_id specified"))?
    } else {
        0
    };
    Ok(format!("{kind}/{place}/{user}/{language}"))
}
