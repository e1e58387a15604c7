//! Finds out whether a person may currently write in a chat.

use galatea_core::{Error, Result, Speak};
use serde_json::{Value, json};

use super::api::BotApi;
use crate::{decode::place::ChatTarget, error::Failure};

/// Fetches the person's membership and, unless that decides, the chat's permissions.
pub(super) async fn may_speak(api: &BotApi, target: ChatTarget, person: i64) -> Result<Speak> {
    if target.chat > 0 {
        return Ok(if target.chat == person { Speak::Yes } else { Speak::No });
    }
    let member = match api
        .call::<Value>("getChatMember", &json!({ "chat_id": target.chat, "user_id": person }))
        .await
    {
        Ok(member) => member,
        Err(failure) => return unknown(failure, "getChatMember"),
    };
    let said = of_member(&member);
    if said != Speak::Yes || matches!(member["status"].as_str(), Some("creator")) {
        return Ok(said);
    }
    match api.call::<Value>("getChat", &json!({ "chat_id": target.chat })).await {
        Ok(chat) => Ok(in_chat(&member, &chat)),
        Err(failure) => unknown(failure, "getChat"),
    }
}

/// `Unknown` if Telegram does not know the person there or the bot may not ask; otherwise the
/// error.
fn unknown(failure: Failure, method: &'static str) -> Result<Speak> {
    match failure.refusal() {
        Some(refusal) if refusal.code == 400 || refusal.code == 403 => Ok(Speak::Unknown),
        _ => Err::<Speak, Error>(failure.into_error(method)),
    }
}

/// Rights by the person's own membership (Bot API, `ChatMember`).
fn of_member(member: &Value) -> Speak {
    match member["status"].as_str() {
        Some("creator" | "administrator" | "member") => Speak::Yes,
        Some("restricted")
            if member["is_member"] == true && member["can_send_messages"] == true =>
        {
            Speak::Yes
        }
        Some("restricted" | "left" | "kicked") => Speak::No,
        _ => Speak::Unknown,
    }
}

/// Rights by the chat. In a channel only administrators with the right to post may write; a group
/// may allow only its administrators to write.
fn in_chat(member: &Value, chat: &Value) -> Speak {
    let administers = member["status"] == "administrator";
    match chat["type"].as_str() {
        Some("channel") if administers && member["can_post_messages"] == true => Speak::Yes,
        Some("channel") => Speak::No,
        Some("group" | "supergroup")
            if administers || chat["permissions"]["can_send_messages"] == true =>
        {
            Speak::Yes
        }
        Some("group" | "supergroup") => Speak::No,
        _ => Speak::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_may_write_there_may_speak() {
        let restricted = |is_member, may| json!({ "status": "restricted", "is_member": is_member, "can_send_messages": may });
        for (member, said) in [
            (json!({ "status": "creator" }), Speak::Yes),
            (json!({ "status": "member" }), Speak::Yes),
            (json!({ "status": "left" }), Speak::No),
            (json!({ "status": "kicked" }), Speak::No),
            (restricted(true, true), Speak::Yes),
            (restricted(true, false), Speak::No),
            (restricted(false, true), Speak::No),
            (json!({ "status": "something new" }), Speak::Unknown),
            (json!({}), Speak::Unknown),
        ] {
            assert_eq!(of_member(&member), said, "{member}");
        }
        let chat =
            |kind: &str, may| json!({ "type": kind, "permissions": { "can_send_messages": may } });
        let (plain, admin) = (json!({ "status": "member" }), json!({ "status": "administrator" }));
        assert_eq!(in_chat(&plain, &chat("supergroup", true)), Speak::Yes);
        assert_eq!(in_chat(&plain, &chat("supergroup", false)), Speak::No);
        assert_eq!(
            in_chat(&plain, &json!({ "type": "group" })),
            Speak::No,
            "a missing permission is not granted"
        );
        assert_eq!(in_chat(&admin, &chat("group", false)), Speak::Yes);
        assert_eq!(in_chat(&plain, &chat("channel", true)), Speak::No);
        assert_eq!(in_chat(&admin, &chat("channel", true)), Speak::No);
        assert_eq!(
            in_chat(
                &json!({ "status": "administrator", "can_post_messages": true }),
                &chat("channel", true)
            ),
            Speak::Yes
        );
    }
}
