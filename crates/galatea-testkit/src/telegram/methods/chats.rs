//! getChat, its relatives about members, and leaveChat.

use serde_json::{Value, json};

use super::access::{Access, chat};
use crate::telegram::{
    answer::{Answer, Refusal},
    doings,
    params::Params,
    state::State,
    world::{Chat, ChatKind, Standing},
};

fn found<'a>(state: &'a State, params: &Params, access: Access) -> Result<&'a Chat, Refusal> {
    let id = chat(state, params, "chat_id", access)?;
    state.world.chats.get(&id).ok_or_else(|| Refusal::bad("chat not found"))
}

/// getChat: returns a `ChatFullInfo`.
pub(super) fn get(state: &mut State, params: &Params) -> Answer {
    let chat = found(state, params, Access::Read)?;
    let mut info = chat.json();
    info["accent_color_id"] = json!(chat.id.rem_euclid(7));
    info["max_reaction_count"] = json!(11);
    info["accepted_gift_types"] = json!({
        "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false, "premium_subscription": false, "gifts_from_channels": false
    });
    if matches!(chat.kind, ChatKind::Group | ChatKind::Supergroup) {
        let rights = [
            "can_send_messages",
            "can_send_audios",
            "can_send_documents",
            "can_send_photos",
            "can_send_videos",
            "can_send_video_notes",
            "can_send_voice_notes",
            "can_send_polls",
            "can_send_other_messages",
            "can_add_web_page_previews",
            "can_invite_users",
        ];
        info["permissions"] =
            Value::Object(rights.iter().map(|r| ((*r).to_owned(), json!(!chat.silent))).collect());
    }
    Ok(info)
}

/// getChatAdministrators: other bots are left out.
pub(super) fn administrators(state: &mut State, params: &Params) -> Answer {
    let chat = found(state, params, Access::Members)?;
    if chat.kind == ChatKind::Private {
        return Err(Refusal::bad("there are no administrators in the private chat"));
    }
    let bot = state.world.bot;
    let shown = |id: i64| id == bot || !state.world.people.get(&id).is_some_and(|p| p.is_bot);
    let list: Vec<_> = chat
        .members
        .iter()
        .filter(|(id, s)| s.is_admin() && shown(**id))
        .map(|(id, _)| state.world.member_json(chat, *id))
        .collect();
    Ok(json!(list))
}

pub(super) fn member(state: &mut State, params: &Params) -> Answer {
    let user = params.int("user_id")?.unwrap_or_default();
    let chat = found(state, params, Access::Members)?;
    if !state.world.people.contains_key(&user) {
        return Err(Refusal::bad("invalid user_id specified"));
    }
    Ok(state.world.member_json(chat, user))
}

pub(super) fn count(state: &mut State, params: &Params) -> Answer {
    let chat = found(state, params, Access::Members)?;
    Ok(json!(chat.members.values().filter(|s| s.is_in()).count()))
}

pub(super) fn leave(state: &mut State, params: &Params) -> Answer {
    let chat = found(state, params, Access::Members)?;
    if chat.kind == ChatKind::Private {
        return Err(Refusal::bad("chat member status can't be changed in private chats"));
    }
    let (id, bot) = (chat.id, state.world.bot);
    doings::restand(state, id, bot, bot, Standing::Left);
    Ok(json!(true))
}
