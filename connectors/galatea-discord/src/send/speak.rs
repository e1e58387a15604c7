//! Finds out whether a member may currently write in a channel.

use galatea_core::{Result, Speak, Timestamp};
use serde_json::Value;

use super::api::{Call, DiscordApi};
use crate::{
    decode::{
        directory::is_thread,
        permissions::{self, ADMINISTRATOR, MANAGE_THREADS, Member, Overwrite},
        raw::id,
    },
    error::Failure,
};

/// Channel type of a private thread. Only people who were added are in it (Discord, "Channel
/// Types").
const PRIVATE_THREAD: u64 = 12;

/// Fetches the channel with its overwrites, the guild with its roles, and the member, and computes
/// the permission.
pub(super) async fn may_speak(
    api: &DiscordApi,
    channel: u64,
    person: u64,
    now: Timestamp,
) -> Result<Speak> {
    match permission_of(api, channel, person, now).await {
        Ok(permission) => Ok(permission),
        // Unknown channel, guild, member or user: the person is not there and cannot write.
        Err(failure) if matches!(failure.code(), Some(10003 | 10004 | 10007 | 10013)) => {
            Ok(Speak::No)
        }
        // Missing access: the bot cannot see the channel's permissions.
        Err(failure) if matches!(failure.code(), Some(50001 | 50013)) => Ok(Speak::Unknown),
        Err(failure) => Err(api.error(failure, "who may write")),
    }
}

async fn permission_of(
    api: &DiscordApi,
    channel: u64,
    person: u64,
    now: Timestamp,
) -> Result<Speak, Failure> {
    let place = get_channel(api, channel).await?;
    let Some(guild) = id(&place["guild_id"]) else {
        let inside = place["recipients"]
            .as_array()
            .is_some_and(|all| all.iter().any(|user| id(&user["id"]) == Some(person)));
        return Ok(if inside { Speak::Yes } else { Speak::No });
    };
    let thread =
        place["type"].as_u64().and_then(|kind| u8::try_from(kind).ok()).is_some_and(is_thread);
    let parent = match id(&place["parent_id"]).filter(|_| thread) {
        Some(parent) => Some(get_channel(api, parent).await?),
        None => None,
    };
    let roles = api.call(Call::new("GET /guilds/{}", guild, format!("/guilds/{guild}"))).await?;
    let member = api
        .call(Call::new(
            "GET /guilds/{}/members/{}",
            guild,
            format!("/guilds/{guild}/members/{person}"),
        ))
        .await?;
    Ok(permitted(&roles, &member, person, &place, parent.as_ref(), now))
}

async fn get_channel(api: &DiscordApi, channel: u64) -> Result<Value, Failure> {
    api.call(Call::new("GET /channels/{}", channel, format!("/channels/{channel}"))).await
}

/// Computes the permission. A timed-out member may only read.
fn permitted(
    guild: &Value,
    member: &Value,
    person: u64,
    place: &Value,
    parent: Option<&Value>,
    now: Timestamp,
) -> Speak {
    let Some(everyone) = id(&guild["id"]) else { return Speak::Unknown };
    if id(&guild["owner_id"]) == Some(person) {
        return Speak::Yes;
    }
    let mine: Vec<u64> = member["roles"].as_array().into_iter().flatten().filter_map(id).collect();
    let whose = Member { guild: everyone, id: person, roles: &mine };
    let of_roles = guild["roles"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|role| id(&role["id"]).is_some_and(|role| whose.has(role)))
        .fold(0, |all, role| all | permissions::read(&role["permissions"]).unwrap_or(0));
    if of_roles & ADMINISTRATOR != 0 {
        return Speak::Yes;
    }
    match timed_out(member, now) {
        Some(false) => {}
        Some(true) => return Speak::No,
        None => return Speak::Unknown,
    }
    let overwrites = Overwrite::read_all(parent.unwrap_or(place)).unwrap_or_default();
    let may = whose.permissions_in(of_roles, &overwrites);
    if permissions::missing(may, parent.is_some()).is_some() {
        return Speak::No;
    }
    let manages = may & MANAGE_THREADS != 0;
    match () {
        () if parent.is_none() => Speak::Yes,
        () if manages => Speak::Yes,
        () if place["thread_metadata"]["locked"] == true => Speak::No,
        () if place["type"] == PRIVATE_THREAD => Speak::Unknown,
        () => Speak::Yes,
    }
}

/// True if a member is timed out; `None` for a malformed time.
fn timed_out(member: &Value, now: Timestamp) -> Option<bool> {
    match &member["communication_disabled_until"] {
        Value::Null => Some(false),
        Value::String(until) => serenity::all::Timestamp::parse(until)
            .ok()
            .map(|until| until.unix_timestamp().saturating_mul(1000) > now.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::permissions::{SEND, SEND_IN_THREADS, VIEW};
    use serde_json::json;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn permission(member: Value, overwrites: Value) -> Speak {
        let guild = json!({ "id": "1", "owner_id": "7", "roles": [
            { "id": "1", "permissions": (VIEW | SEND | SEND_IN_THREADS).to_string() },
            { "id": "2", "permissions": "0" },
            { "id": "3", "permissions": ADMINISTRATOR.to_string() },
        ]});
        permitted(
            &guild,
            &member,
            9,
            &json!({ "type": 0, "permission_overwrites": overwrites }),
            None,
            NOW,
        )
    }

    fn deny(who: &str, what: u64) -> Value {
        json!({ "id": who, "allow": "0", "deny": what.to_string() })
    }

    fn allow(who: &str, what: u64) -> Value {
        json!({ "id": who, "allow": what.to_string(), "deny": "0" })
    }

    #[test]
    fn overwrites_count_in_discords_order() {
        let plain = || json!({ "roles": ["2"] });
        assert_eq!(permission(plain(), json!([])), Speak::Yes);
        assert_eq!(permission(plain(), json!([deny("1", SEND)])), Speak::No);
        assert_eq!(permission(plain(), json!([deny("1", VIEW)])), Speak::No);
        assert_eq!(permission(plain(), json!([deny("1", SEND), allow("2", SEND)])), Speak::Yes);
        assert_eq!(permission(plain(), json!([allow("2", SEND), deny("9", SEND)])), Speak::No);
        assert_eq!(permission(plain(), json!([deny("2", SEND), allow("9", SEND)])), Speak::Yes);
        assert_eq!(
            permission(json!({ "roles": ["3"] }), json!([deny("1", SEND | VIEW)])),
            Speak::Yes,
            "an administrator"
        );
    }

    #[test]
    fn a_time_out_silences_until_it_is_over() {
        let until = |time: Value| json!({ "roles": [], "communication_disabled_until": time });
        assert_eq!(permission(until(json!("2030-01-01T00:00:00+00:00")), json!([])), Speak::No);
        assert_eq!(permission(until(json!("2020-01-01T00:00:00+00:00")), json!([])), Speak::Yes);
        assert_eq!(permission(until(Value::Null), json!([])), Speak::Yes);
        assert_eq!(permission(until(json!("soon")), json!([])), Speak::Unknown);
    }

    #[test]
    fn threads_take_their_parents_rules_and_their_own() {
        let guild = json!({ "id": "1", "owner_id": "7", "roles": [{ "id": "1", "permissions": (VIEW | SEND | SEND_IN_THREADS).to_string() }] });
        let member = json!({ "roles": [] });
        let at = |thread: Value, parent: Value| {
            permitted(&guild, &member, 9, &thread, Some(&parent), NOW)
        };
        let open = || json!({ "permission_overwrites": [] });
        assert_eq!(at(json!({ "type": 11 }), open()), Speak::Yes);
        assert_eq!(
            at(json!({ "type": 11 }), json!({ "permission_overwrites": [deny("1", SEND)] })),
            Speak::Yes,
            "threads have a permission of their own"
        );
        assert_eq!(
            at(
                json!({ "type": 11 }),
                json!({ "permission_overwrites": [deny("1", SEND_IN_THREADS)] })
            ),
            Speak::No
        );
        assert_eq!(
            at(json!({ "type": 11, "thread_metadata": { "locked": true } }), open()),
            Speak::No
        );
        assert_eq!(at(json!({ "type": 12 }), open()), Speak::Unknown);
    }
}
