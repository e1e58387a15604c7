//! The send handler of one bot: its parts.

use dashmap::DashMap;
use galatea_core::{DeliveryId, RemoteId};
use serde::Deserialize;
use std::{path::PathBuf, sync::Arc};

use super::{api::BotApi, chat_state::ChatState};
use crate::{
    decode::place::{ChatTarget, parse_message},
    encode::BotCall,
};

/// The send handler of one bot.
pub(crate) struct TelegramSender {
    pub(super) api: BotApi,
    pub(super) chat_state: Arc<ChatState>,
    pub(super) receipts: DashMap<DeliveryId, RemoteId>,
    pub(super) folder: PathBuf,
}

/// The fields of a posted message that are needed here. Decoding the whole object would cost too
/// much at thousands of answers a second.
#[derive(Deserialize)]
pub(super) struct PostedMessage {
    pub(super) message_id: i32,
    pub(super) chat: ChatOnly,
}

#[derive(Deserialize)]
pub(super) struct ChatOnly {
    pub(super) id: i64,
}

/// The number of the message that the part answers, if it is in the same chat.
pub(super) fn answered(part: &BotCall, target: ChatTarget) -> Option<i32> {
    part.reply_to
        .as_ref()
        .and_then(parse_message)
        .filter(|(chat, _)| chat.is_none_or(|c| c == target.chat))
        .map(|(_, message)| message)
}
