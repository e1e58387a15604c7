//! All methods the server knows, with the parameters that the Bot API documents. Any other
//! parameter is a violation.

/// Declaration of a method.
pub(crate) struct Method {
    /// Name as documented.
    pub(crate) name: &'static str,
    /// Required parameters.
    pub(crate) required: &'static [&'static str],
    /// Optional parameters besides those of `groups`.
    pub(crate) optional: &'static [&'static str],
    /// Sets of optional parameters that several methods share.
    pub(crate) groups: &'static [&'static [&'static str]],
}

/// Optional parameters of every method that sends a message.
const SEND: &[&str] = &[
    "business_connection_id",
    "message_thread_id",
    "direct_messages_topic_id",
    "disable_notification",
    "protect_content",
    "allow_paid_broadcast",
    "message_effect_id",
    "suggested_post_parameters",
    "reply_parameters",
    "reply_markup",
];
const CAPTION: &[&str] = &["caption", "parse_mode", "caption_entities"];
const COVER: &[&str] = &["show_caption_above_media", "has_spoiler"];
const EDIT: &[&str] =
    &["business_connection_id", "chat_id", "message_id", "inline_message_id", "reply_markup"];
const SCOPE: &[&str] = &["scope", "language_code"];

const fn method(
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
    groups: &'static [&'static [&'static str]],
) -> Method {
    Method { name, required, optional, groups }
}

/// The methods, as of Bot API 9.x/10.x (core.telegram.org/bots/api).
pub(crate) const METHODS: &[Method] = &[
    method("getMe", &[], &[], &[]),
    method("logOut", &[], &[], &[]),
    method("close", &[], &[], &[]),
    method("getUpdates", &[], &["offset", "limit", "timeout", "allowed_updates"], &[]),
    method(
        "setWebhook",
        &["url"],
        &[
            "certificate",
            "ip_address",
            "max_connections",
            "allowed_updates",
            "drop_pending_updates",
            "secret_token",
        ],
        &[],
    ),
    method("deleteWebhook", &[], &["drop_pending_updates"], &[]),
    method("getWebhookInfo", &[], &[], &[]),
    method(
        "sendMessage",
        &["chat_id", "text"],
        &["parse_mode", "entities", "link_preview_options"],
        &[SEND],
    ),
    method("sendPhoto", &["chat_id", "photo"], &[], &[SEND, CAPTION, COVER]),
    method(
        "sendDocument",
        &["chat_id", "document"],
        &["thumbnail", "disable_content_type_detection"],
        &[SEND, CAPTION],
    ),
    method("sendVoice", &["chat_id", "voice"], &["duration"], &[SEND, CAPTION]),
    method(
        "sendAudio",
        &["chat_id", "audio"],
        &["duration", "performer", "title", "thumbnail"],
        &[SEND, CAPTION],
    ),
    method(
        "sendVideo",
        &["chat_id", "video"],
        &[
            "duration",
            "width",
            "height",
            "thumbnail",
            "cover",
            "start_timestamp",
            "supports_streaming",
        ],
        &[SEND, CAPTION, COVER],
    ),
    method(
        "sendAnimation",
        &["chat_id", "animation"],
        &["duration", "width", "height", "thumbnail"],
        &[SEND, CAPTION, COVER],
    ),
    method("sendSticker", &["chat_id", "sticker"], &["emoji"], &[SEND]),
    method("sendMediaGroup", &["chat_id", "media"], &[], &[SEND]),
    method(
        "sendChatAction",
        &["chat_id", "action"],
        &["business_connection_id", "message_thread_id"],
        &[],
    ),
    method(
        "editMessageText",
        &["text"],
        &["parse_mode", "entities", "link_preview_options"],
        &[EDIT],
    ),
    method("editMessageCaption", &[], &["show_caption_above_media"], &[EDIT, CAPTION]),
    method("editMessageReplyMarkup", &[], &[], &[EDIT]),
    method("deleteMessage", &["chat_id", "message_id"], &[], &[]),
    method("setMessageReaction", &["chat_id", "message_id"], &["reaction", "is_big"], &[]),
    method(
        "answerCallbackQuery",
        &["callback_query_id"],
        &["text", "show_alert", "url", "cache_time"],
        &[],
    ),
    method("setMyCommands", &["commands"], &[], &[SCOPE]),
    method("getMyCommands", &[], &[], &[SCOPE]),
    method("deleteMyCommands", &[], &[], &[SCOPE]),
    method("getChat", &["chat_id"], &[], &[]),
    method("getChatAdministrators", &["chat_id"], &[], &[]),
    method("getChatMember", &["chat_id", "user_id"], &[], &[]),
    method("getChatMemberCount", &["chat_id"], &[], &[]),
    method("leaveChat", &["chat_id"], &[], &[]),
    method("getFile", &["file_id"], &[], &[]),
];

/// Finds a method by name; names are case-insensitive (Bot API, "Making requests").
pub(crate) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|m| m.name.eq_ignore_ascii_case(name))
}

impl Method {
    /// True if the Bot API documents this parameter for the method.
    pub(crate) fn knows(&self, parameter: &str) -> bool {
        self.required.contains(&parameter)
            || self.optional.contains(&parameter)
            || self.groups.iter().any(|g| g.contains(&parameter))
    }

    /// True if the method sends to a chat, so that the chat's flood waits apply.
    pub(crate) fn is_send(&self) -> bool {
        self.name.starts_with("send") && self.name != "sendChatAction"
    }
}

/// Update types, and whether they are delivered as long as `allowed_updates` was never given (Bot
/// API, getUpdates).
pub(crate) const UPDATE_KINDS: &[(&str, bool)] = &[
    ("message", true),
    ("edited_message", true),
    ("channel_post", true),
    ("edited_channel_post", true),
    ("business_connection", true),
    ("business_message", true),
    ("edited_business_message", true),
    ("deleted_business_messages", true),
    ("message_reaction", false),
    ("message_reaction_count", false),
    ("inline_query", true),
    ("chosen_inline_result", true),
    ("callback_query", true),
    ("shipping_query", true),
    ("pre_checkout_query", true),
    ("purchased_paid_media", true),
    ("poll", true),
    ("poll_answer", true),
    ("my_chat_member", true),
    ("chat_member", false),
    ("chat_join_request", true),
    ("chat_boost", true),
    ("removed_chat_boost", true),
];

/// `sendChatAction` actions.
pub(crate) const CHAT_ACTIONS: &[&str] = &[
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// `ReactionTypeEmoji.emoji`.
pub(crate) const REACTIONS: &[&str] = &[
    "❤",
    "👍",
    "👎",
    "🔥",
    "🥰",
    "👏",
    "😁",
    "🤔",
    "🤯",
    "😱",
    "🤬",
    "😢",
    "🎉",
    "🤩",
    "🤮",
    "💩",
    "🙏",
    "👌",
    "🕊",
    "🤡",
    "🥱",
    "🥴",
    "😍",
    "🐳",
    "❤\u{200d}🔥",
    "🌚",
    "🌭",
    "💯",
    "🤣",
    "⚡",
    "🍌",
    "🏆",
    "💔",
    "🤨",
    "😐",
    "🍓",
    "🍾",
    "💋",
    "🖕",
    "😈",
    "😴",
    "😭",
    "🤓",
    "👻",
    "👨\u{200d}💻",
    "👀",
    "🎃",
    "🙈",
    "😇",
    "😨",
    "🤝",
    "✍",
    "🤗",
    "🫡",
    "🎅",
    "🎄",
    "☃",
    "💅",
    "🤪",
    "🗿",
    "🆒",
    "💘",
    "🙉",
    "🦄",
    "😘",
    "💊",
    "🙊",
    "😎",
    "👾",
    "🤷\u{200d}♂",
    "🤷",
    "🤷\u{200d}♀",
    "😡",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whatever_their_case() {
        assert_eq!(find("SENDmessage").unwrap().name, "sendMessage");
        assert!(find("sendNothing").is_none());
    }

    #[test]
    fn shared_parameters_are_known() {
        let send = find("sendMessage").unwrap();
        assert!(
            send.knows("reply_parameters")
                && send.knows("text")
                && !send.knows("reply_to_message_id")
        );
        assert!(send.is_send() && !find("sendChatAction").unwrap().is_send());
    }
}
