//! Checks whether the bot may act in a chat. Wording and order follow telegram-bot-api's
//! check_chat_access.

use crate::telegram::{
    answer::Refusal,
    params::{ChatRef, Params, chat_ref},
    state::State,
    world::{ChatKind, Standing},
};

/// Kind of access that a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read the chat.
    Read,
    /// List its members.
    Members,
    /// Change the bot's own messages.
    Edit,
    /// Send messages.
    Write,
}

/// The chat that a parameter names, if the bot has this access.
pub(super) fn chat(
    state: &State,
    params: &Params,
    name: &str,
    access: Access,
) -> Result<i64, Refusal> {
    let wanted = params.chat(name)?;
    allowed(state, &wanted, access)
}

/// The chat that a JSON value names, if the bot has this access.
pub(super) fn chat_of(
    state: &State,
    value: &serde_json::Value,
    access: Access,
) -> Result<i64, Refusal> {
    let wanted = chat_ref(value).ok_or_else(|| Refusal::broken("chat not found"))?;
    allowed(state, &wanted, access)
}

fn allowed(state: &State, wanted: &ChatRef, access: Access) -> Result<i64, Refusal> {
    let chats = &state.world.chats;
    let chat = match wanted {
        ChatRef::Id(id) => chats.get(id),
        // Only public supergroups and channels are found by name (Bot API, chat_id).
        ChatRef::Name(name) => chats.values().find(|c| {
            c.username.as_ref().is_some_and(|u| u.eq_ignore_ascii_case(name))
                && matches!(c.kind, ChatKind::Supergroup | ChatKind::Channel)
        }),
    }
    .ok_or_else(|| Refusal::bad("chat not found"))?;
    let standing = chat.standing(state.world.bot);
    let changes = matches!(access, Access::Edit | Access::Write);
    match chat.kind {
        ChatKind::Private => {
            if changes && chat.blocked {
                return Err(Refusal::forbidden("bot was blocked by the user"));
            }
            if changes && !chat.opened {
                return Err(Refusal::forbidden("bot can't initiate conversation with a user"));
            }
        }
        ChatKind::Group => {
            if let Some(to) =
                chat.migrated_to.filter(|_| matches!(access, Access::Write | Access::Members))
            {
                return Err(Refusal::migrated(to));
            }
            if standing == Standing::Kicked && (changes || access == Access::Members) {
                return Err(Refusal::forbidden("bot was kicked from the group chat"));
            }
            if standing == Standing::Left && (changes || access == Access::Members) {
                return Err(Refusal::forbidden("bot is not a member of the group chat"));
            }
        }
        ChatKind::Supergroup | ChatKind::Channel => {
            let word = chat.kind.as_str();
            if standing == Standing::Kicked {
                return Err(Refusal::forbidden(format!("bot was kicked from the {word} chat")));
            }
            if standing == Standing::Left && (changes || chat.username.is_none()) {
                return Err(Refusal::forbidden(format!("bot is not a member of the {word} chat")));
            }
        }
    }
    if access == Access::Write && standing == Standing::Restricted {
        return Err(Refusal::bad("not enough rights to send text messages to the chat"));
    }
    if access == Access::Write && chat.kind == ChatKind::Channel && !standing.is_admin() {
        return Err(Refusal::bad("need administrator rights in the channel chat"));
    }
    Ok(chat.id)
}
