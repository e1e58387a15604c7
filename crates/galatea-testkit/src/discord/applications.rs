//! REST routes of the application, its commands, the gateway's address, and guilds.

use serde_json::{Value, json};

use super::{
    refusal::{Answer, Refusal},
    state::State,
    world::World,
};
use crate::discord::request::Request;

const CONTENT_LIMITED: u64 = 1 << 19;
const MEMBERS_LIMITED: u64 = 1 << 15;
const PRESENCES_LIMITED: u64 = 1 << 13;

pub(crate) fn me(state: &mut State, _: &Request) -> Answer {
    Ok(state.world.user_json(state.world.bot))
}

fn flags(state: &State) -> u64 {
    (if state.options.content { CONTENT_LIMITED } else { 0 })
        | (if state.options.members { MEMBERS_LIMITED } else { 0 })
}

pub(crate) fn application(state: &mut State, _: &Request) -> Answer {
    Ok(json!({
        "id": state.options.application.to_string(), "name": state.options.name, "icon": null, "description": "", "bot_public": true,
        "bot_require_code_grant": false, "verify_key": "0".repeat(64), "flags": flags(state), "approximate_guild_count": state.world.guilds.values().filter(|guild| guild.members.contains_key(&state.world.bot)).count(),
        "bot": state.world.user_json(state.world.bot)
    }))
}

/// Edits the application. Only the three limited intent flags can be changed (Discord, "Edit
/// Current Application").
pub(crate) fn change(state: &mut State, request: &Request) -> Answer {
    let wanted = request.body["flags"]
        .as_u64()
        .ok_or_else(|| Refusal::form("flags", "must be an integer"))?;
    let changed = wanted ^ flags(state);
    if changed & !(CONTENT_LIMITED | MEMBERS_LIMITED | PRESENCES_LIMITED) != 0 {
        return Err(Refusal::form("flags", "only the limited intent flags can be changed"));
    }
    state.options.content = wanted & CONTENT_LIMITED != 0;
    state.options.members = wanted & MEMBERS_LIMITED != 0;
    application(state, request)
}

pub(crate) fn commands(state: &mut State, request: &Request) -> Answer {
    own(state, request)?;
    Ok(json!(state.commands))
}

/// Overwrites all commands (Discord, "Application Commands").
pub(crate) fn set_commands(state: &mut State, request: &Request) -> Answer {
    own(state, request)?;
    let list =
        request.body.as_array().ok_or_else(|| Refusal::form("commands", "must be a list"))?;
    if list.len() > 100 {
        return Err(Refusal::form("commands", "at most 100"));
    }
    let word = |v: &Value, most: usize| {
        v.as_str().is_some_and(|s| (1..=most).contains(&s.chars().count()))
    };
    let name = |v: &Value| {
        v.as_str().is_some_and(|s| {
            s.len() <= 32
                && !s.is_empty()
                && s.chars().all(|c| c.is_lowercase() || c.is_numeric() || matches!(c, '-' | '_'))
        })
    };
    for command in list {
        if !name(&command["name"]) || !word(&command["description"], 100) {
            return Err(Refusal::form("name", "a command's name or description breaks a rule"));
        }
        let may = &command["default_member_permissions"];
        if !may.is_null() && may.as_str().is_none_or(|may| may.parse::<u64>().is_err()) {
            return Err(Refusal::form(
                "default_member_permissions",
                "must be a set of permissions in text",
            ));
        }
        for option in command["options"].as_array().into_iter().flatten() {
            if !name(&option["name"])
                || !word(&option["description"], 100)
                || !(1..=11).contains(&option["type"].as_u64().unwrap_or(0))
            {
                return Err(Refusal::form("options", "an option breaks a rule"));
            }
        }
    }
    let now = state.now();
    let application = state.options.application;
    let made: Vec<Value> = list
        .iter()
        .map(|command| {
            let mut made =
                json!({ "id": state.world.id(now).to_string(), "application_id": application.to_string(), "version": "1", "type": 1, "nsfw": false });
            if let (Some(made), Some(given)) = (made.as_object_mut(), command.as_object()) {
                made.extend(given.clone());
            }
            made
        })
        .collect();
    state.commands = made;
    state.command_writes += 1;
    Ok(json!(state.commands))
}

fn own(state: &State, request: &Request) -> Result<(), Refusal> {
    if request.id(0) == state.options.application {
        Ok(())
    } else {
        Err(Refusal::new(
            403,
            20012,
            "You are not authorized to perform this action on this application",
        )
        .wrong("another application's commands"))
    }
}

pub(crate) fn gateway(state: &mut State, _: &Request) -> Answer {
    let url = state.base.replacen("http", "ws", 1);
    Ok(json!({
        "url": url, "shards": state.options.shards,
        "session_start_limit": { "total": 1000, "remaining": state.options.identifies, "reset_after": 86_400_000, "max_concurrency": 1 }
    }))
}

fn known<T>(state: &State, guild: u64, get: impl FnOnce(&World) -> T) -> Result<T, Refusal> {
    let member =
        state.world.guilds.get(&guild).is_some_and(|g| g.members.contains_key(&state.world.bot));
    if member { Ok(get(&state.world)) } else { Err(Refusal::new(404, 10004, "Unknown Guild")) }
}

pub(crate) fn guild(state: &mut State, request: &Request) -> Answer {
    known(state, request.id(0), |w| w.guild_json(request.id(0)))
}

pub(crate) fn guild_channels(state: &mut State, request: &Request) -> Answer {
    known(state, request.id(0), |w| json!(w.channels_json(request.id(0), false)))
}

pub(crate) fn guild_threads(state: &mut State, request: &Request) -> Answer {
    known(
        state,
        request.id(0),
        |w| json!({ "threads": w.channels_json(request.id(0), true), "members": [] }),
    )
}

pub(crate) fn guild_member(state: &mut State, request: &Request) -> Answer {
    let (guild, user) = (request.id(0), request.id(1));
    let there = known(state, guild, |w| w.guilds[&guild].members.contains_key(&user))?;
    if there {
        Ok(state.world.member_json(guild, user, true))
    } else {
        Err(Refusal::new(404, 10007, "Unknown Member"))
    }
}
