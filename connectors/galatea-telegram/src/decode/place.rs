//! Converts Telegram's chat, topic and message numbers to the text ids that the rest of the program
//! uses.
//!
//! A chat is `-100123`, a topic `-100123-42` (as in elizaOS), a message `-100123:7`.

use galatea_core::{Error, RemoteId, Result};

/// Thread id of a forum's General topic. It is omitted when sending a message and included when
/// showing that the bot is typing (Bot API, "Forum topics"; tdlib/telegram-bot-api server
/// behaviour).
pub(crate) const GENERAL_TOPIC: i32 = 1;

/// A chat, or one topic in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ChatTarget {
    /// Chat id: positive for people, negative for groups and channels.
    pub(crate) chat: i64,
    /// Thread id of the topic; `None` for the chat itself and for General.
    pub(crate) thread: Option<i32>,
}

impl ChatTarget {
    /// Parses what [`room_id`] wrote.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub(crate) fn parse(remote: &RemoteId) -> Result<Self> {
        let text = remote.as_str();
        let wrong =
            || Error::invalid("not a Telegram chat id").with_code("GAL-TG-400").with("room", text);
        let (chat, thread) = match text.char_indices().skip(1).find(|(_, c)| *c == '-') {
            Some((dash, _)) => {
                (&text[..dash], Some(text[dash + 1..].parse::<i32>().map_err(|_| wrong())?))
            }
            None => (text, None),
        };
        let chat = chat.parse().map_err(|_| wrong())?;
        Ok(Self { chat, thread: thread.filter(|t| *t != GENERAL_TOPIC) })
    }
}

/// The id of a chat, or of a topic in it.
pub(crate) fn room_id(chat: i64, thread: Option<i32>) -> RemoteId {
    match thread.filter(|t| *t != GENERAL_TOPIC) {
        Some(thread) => RemoteId(format!("{chat}-{thread}")),
        None => RemoteId::new(chat),
    }
}

/// The id of a message. Telegram numbers messages per chat, so the id includes the chat.
pub(crate) fn message_id(chat: i64, message: i32) -> RemoteId {
    RemoteId(format!("{chat}:{message}"))
}

/// Parses what [`message_id`] wrote. A bare number, as in elizaOS, has no chat.
pub(crate) fn parse_message(id: &RemoteId) -> Option<(Option<i64>, i32)> {
    match id.as_str().split_once(':') {
        Some((chat, message)) => Some((Some(chat.parse().ok()?), message.parse().ok()?)),
        None => Some((None, id.as_str().parse().ok()?)),
    }
}

/// Parses a reference to a message as people paste it: a link from Telegram's "copy message link"
/// (`https://t.me/c/<internal>/<message>`, `https://t.me/c/<internal>/<topic>/<message>`) or
/// `chat:message`.
///
/// Returns the room, if the text names it, and the message; `None` for any other text. Links of
/// public groups contain no chat id: see [`parse_public_link`].
pub fn parse_link(text: &str) -> Option<(Option<RemoteId>, RemoteId)> {
    let text = text.trim();
    let Some(path) = ["https://t.me/c/", "http://t.me/c/", "t.me/c/"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
    else {
        let (chat, message) = text.split_once(':')?;
        let chat: i64 = chat.parse().ok()?;
        return Some((Some(room_id(chat, None)), message_id(chat, positive(message)?)));
    };
    let (internal, thread, message) = split_link(path)?;
    if !internal.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Supergroup and channel ids are -100 followed by the number that links show (Bot API, "Chat").
    let chat: i64 = format!("-100{internal}").parse().ok()?;
    Some((Some(room_id(chat, thread)), message_id(chat, message)))
}

/// Parses links of public groups and channels: `https://t.me/<name>/<message>`,
/// `https://t.me/<name>/<topic>/<message>`.
///
/// Returns the chat's user name, and a function that takes the chat's id and returns the same as
/// [`parse_link`].
#[allow(clippy::type_complexity, reason = "one use, and the caller names it")]
pub fn parse_public_link(
    text: &str,
) -> Option<(String, Box<dyn FnOnce(&RemoteId) -> Option<(Option<RemoteId>, RemoteId)>>)> {
    let path = ["https://t.me/", "http://t.me/", "t.me/"]
        .iter()
        .find_map(|prefix| text.trim().strip_prefix(prefix))?;
    // Links to a channel's preview page have `s/` in front.
    let path = path.strip_prefix("s/").unwrap_or(path);
    let (name, thread, message) = split_link(path)?;
    // User names have 4 to 32 letters, digits and underscores and begin with a letter
    // (core.telegram.org/method/account.checkUsername).
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !plain || !(4..=32).contains(&name.len()) {
        return None;
    }
    let read = move |chat: &RemoteId| {
        let chat = ChatTarget::parse(chat).ok()?.chat;
        Some((Some(room_id(chat, thread)), message_id(chat, message)))
    };
    Some((name.to_owned(), Box::new(read)))
}

/// Splits a link's path into the place, the topic if there is one, and the message.
fn split_link(path: &str) -> Option<(&str, Option<i32>, i32)> {
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
    let mut parts = path.split('/');
    let place = parts.next().filter(|p| !p.is_empty())?;
    let first = positive(parts.next()?)?;
    let (thread, message) = match parts.next() {
        Some(second) => (Some(first), positive(second)?),
        None => (None, first),
    };
    parts.next().is_none().then_some((place, thread, message))
}

fn positive(text: &str) -> Option<i32> {
    text.parse().ok().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_people_paste_are_understood() {
        let id = |text: &str| RemoteId(text.to_owned());
        assert_eq!(
            parse_link("https://t.me/c/1234/7"),
            Some((Some(id("-1001234")), id("-1001234:7")))
        );
        assert_eq!(
            parse_link(" https://t.me/c/1234/42/7?single "),
            Some((Some(id("-1001234-42")), id("-1001234:7")))
        );
        assert_eq!(
            parse_link("t.me/c/1234/1/7"),
            Some((Some(id("-1001234")), id("-1001234:7"))),
            "General is the chat itself"
        );
        assert_eq!(parse_link("-1001234:7"), Some((Some(id("-1001234")), id("-1001234:7"))));
        for wrong in [
            "",
            "7",
            "https://t.me/c/1234",
            "https://t.me/c/x/7",
            "https://t.me/c/1234/0",
            "https://t.me/c/1/2/3/4",
            "a:b",
            "https://example.com/c/1/2",
        ] {
            assert_eq!(parse_link(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn public_links_are_read_once_the_chat_is_known() {
        let id = |text: &str| RemoteId(text.to_owned());
        for (link, room) in [
            ("https://t.me/my_band/7", "-1005"),
            ("t.me/my_band/42/7?single", "-1005-42"),
            ("https://t.me/s/my_band/7/", "-1005"),
        ] {
            let (name, read) = parse_public_link(link).unwrap();
            assert_eq!(
                (name.as_str(), read(&id("-1005"))),
                ("my_band", Some((Some(id(room)), id("-1005:7")))),
                "{link}"
            );
        }
        for wrong in [
            "https://t.me/c/1234/7",
            "https://t.me/my_band",
            "https://t.me/my_band/x",
            "https://t.me/7_band/7",
            "https://example.com/my_band/7",
            "my_band/7",
        ] {
            assert!(parse_public_link(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn general_is_the_chat_itself() {
        assert_eq!(room_id(-1005, Some(1)), room_id(-1005, None));
        assert_eq!(
            ChatTarget::parse(&RemoteId("-1005-1".into())).unwrap(),
            ChatTarget { chat: -1005, thread: None }
        );
    }

    #[test]
    fn foreign_ids_are_refused() {
        for wrong in ["", "-", "abc", "-100-", "1-2-3", "--5", "1 2"] {
            assert!(ChatTarget::parse(&RemoteId(wrong.into())).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn ids_survive_the_round_trip(chat in any::<i64>(), thread in proptest::option::of(2..i32::MAX), message in 1..i32::MAX) {
            prop_assert_eq!(ChatTarget::parse(&room_id(chat, thread)).unwrap(), ChatTarget { chat, thread });
            prop_assert_eq!(parse_message(&message_id(chat, message)), Some((Some(chat), message)));
        }

        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = parse_link(&text);
            let _ = parse_public_link(&text);
            let _ = parse_public_link(&format!("t.me/{text}"));
            let _ = ChatTarget::parse(&RemoteId(text.clone()));
            let _ = parse_message(&RemoteId(text));
        }
    }
}
