//! Turns Telegram's failures into [`galatea_core::Error`] with a kind, retry advice and a sentence
//! for people. An error never contains a token, the path of an address, or message text.

use galatea_core::{Error, ErrorKind, Retry, Sent};
use galatea_http::shorten;
use serde::Deserialize;
use std::time::Duration;

/// Stable error codes; `galatea explain` describes each.
pub(crate) mod codes {
    pub(crate) const TOKEN: &str = "GAL-TG-TOKEN";
    pub(crate) const UNAUTHORIZED: &str = "GAL-TG-401";
    pub(crate) const FORBIDDEN: &str = "GAL-TG-403";
    pub(crate) const NOT_FOUND: &str = "GAL-TG-404";
    pub(crate) const CONFLICT: &str = "GAL-TG-409";
    pub(crate) const FLOOD: &str = "GAL-TG-429";
    pub(crate) const INVALID: &str = "GAL-TG-400";
    pub(crate) const WEBHOOK: &str = "GAL-TG-WEBHOOK";
    pub(crate) const PRIVACY: &str = "GAL-TG-PRIVACY";
    pub(crate) const CONNECT: &str = "GAL-TG-CONNECT";
    pub(crate) const TIMEOUT: &str = "GAL-TG-TIMEOUT";
    pub(crate) const GARBAGE: &str = "GAL-TG-GARBAGE";
}

/// Fix for a fault on Telegram's side.
const PASSES: &str =
    "it is tried again by itself; if it stays, check TELEGRAM_API_ROOT and the proxy variables";
/// Pause after another program has polled this bot's updates.
pub(crate) const CONFLICT_WAIT: Duration = Duration::from_secs(30);
/// Upper bound in seconds for a wait that Telegram asks for; its flood waits can last hours.
const MAX_WAIT: u64 = 7 * 24 * 3600;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Telegram answered with an error. Below 500 the call had no effect; from 500 on its outcome
    /// is unknown.
    Refused(Refusal),
    /// There was no answer, or an incomplete one.
    Transport(Error),
    /// The answer does not have the Bot API's form.
    Garbage {
        status: u16,
        /// The host that answered.
        place: String,
    },
}

/// A Bot API answer with `ok: false`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Refusal {
    /// `error_code`, or the HTTP status if there is none.
    pub(crate) code: u16,
    /// Telegram's `description`.
    pub(crate) description: String,
    /// How long to wait, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// The id of the supergroup that the group became.
    pub(crate) migrate_to: Option<i64>,
}

/// `parameters` of an answer (Bot API, ResponseParameters).
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Parameters {
    #[serde(default)]
    pub(crate) retry_after: Option<u64>,
    #[serde(default)]
    pub(crate) migrate_to_chat_id: Option<i64>,
}

impl Refusal {
    /// Whether Telegram's description contains these words, ignoring case.
    pub(crate) fn says(&self, words: &str) -> bool {
        self.description.to_ascii_lowercase().contains(&words.to_ascii_lowercase())
    }

    /// How long to wait, if the refusal is a flood wait.
    pub(crate) fn wait(&self) -> Option<Duration> {
        (self.code == 429 || self.retry_after.is_some())
            .then(|| Duration::from_secs(self.retry_after.unwrap_or(1).clamp(1, MAX_WAIT)))
    }

    /// Whether polling is refused because a webhook is set.
    pub(crate) fn webhook_active(&self) -> bool {
        self.code == 409 && self.says("webhook")
    }
}

impl Failure {
    /// The refusal, if its code is below 500. The call then had no effect.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) if refusal.code < 500 => Some(refusal),
            _ => None,
        }
    }

    /// Converts into the workspace's error. `method` is the call's name in the Bot API.
    pub(crate) fn into_error(self, method: &'static str) -> Error {
        match self {
            Self::Refused(refusal) => refused(&refusal).with("cause", answered(method, &refusal)),
            Self::Transport(error) => transport(error, method),
            Self::Garbage { status, place } => garbage(status)
                .with("cause", format!("{method} at {place} answered {status} and something else")),
        }
    }
}

/// Describes the answer: `getMe answered 401 Unauthorized`.
fn answered(method: &str, refusal: &Refusal) -> String {
    // Telegram's description begins with the meaning of the code and never contains a token.
    format!("{method} answered {} {}", refusal.code, shorten(&refusal.description, 200))
        .trim_end()
        .to_owned()
}

fn refused(refusal: &Refusal) -> Error {
    if let Some(wait) = refusal.wait() {
        return Error::new(ErrorKind::RateLimited, "Telegram asked to wait")
            .with_code(codes::FLOOD)
            .with_retry(Retry::After(wait))
            .with_fix(
                "nothing to do: it is sent after that time, or expires if it is too old by then",
            );
    }
    match refusal.code {
        // The token's form was checked before the call, so this is the server's verdict.
        401 | 404 => Error::new(ErrorKind::Unauthorized, "Telegram refused the bot token: it was revoked or replaced, or it belongs to no bot")
            .with_code(codes::UNAUTHORIZED)
            .with_fix("copy the token again: @BotFather → /mybots → your bot → API Token, then set TELEGRAM_BOT_TOKEN and start galatea again"),
        403 => {
            Error::new(ErrorKind::Forbidden, "Telegram does not let this bot write there: blocked, removed, or the person is gone").with_code(codes::FORBIDDEN)
        }
        409 if refusal.webhook_active() => Error::new(ErrorKind::Conflict, "a webhook receives this bot's messages, so they cannot be polled")
            .with_code(codes::WEBHOOK)
            .with_fix("stop the program behind the webhook and remove it: `galatea connector check telegram --fix`, or set TELEGRAM_MODE=webhook here"),
        409 => Error::new(ErrorKind::Conflict, "another program is reading this Telegram bot's messages")
            .with_code(codes::CONFLICT)
            .with_retry(Retry::After(CONFLICT_WAIT))
            .with_fix("stop the other copy (old terminal, container, server), or make a second bot for testing"),
        500.. => Error::new(ErrorKind::Unavailable, "Telegram has a fault").with_code(codes::CONNECT).with_sent(Sent::Maybe).with_fix(PASSES),
        _ => bad_request(refusal),
    }
}

fn bad_request(refusal: &Refusal) -> Error {
    const GONE: [&str; 5] = [
        "chat not found",
        "user not found",
        "group is deactivated",
        "PEER_ID_INVALID",
        "CHANNEL_INVALID",
    ];
    const RIGHTS: [&str; 7] = [
        "not enough rights",
        "need administrator rights",
        "have no rights",
        "CHAT_WRITE_FORBIDDEN",
        "CHAT_ADMIN_REQUIRED",
        "TOPIC_CLOSED",
        "CHAT_RESTRICTED",
    ];
    const GONE_MESSAGES: [&str; 4] = [
        "message to edit not found",
        "message to delete not found",
        "message to react not found",
        "MESSAGE_ID_INVALID",
    ];
    if GONE.iter().any(|w| refusal.says(w)) {
        return Error::not_found("Telegram does not know this chat, or the bot was never in it")
            .with_code(codes::NOT_FOUND);
    }
    if GONE_MESSAGES.iter().any(|w| refusal.says(w)) {
        return Error::not_found("this message does not exist any more")
            .with_code(codes::NOT_FOUND);
    }
    if RIGHTS.iter().any(|w| refusal.says(w)) {
        return Error::new(ErrorKind::Forbidden, "the bot may not do this in that chat")
            .with_code(codes::FORBIDDEN)
            .with_fix(
                "give the bot the right in the chat's settings, or make it an administrator",
            );
    }
    Error::invalid("Telegram found the request invalid").with_code(codes::INVALID)
}

fn transport(error: Error, method: &str) -> Error {
    let (code, message) = match error.kind() {
        ErrorKind::Timeout => (codes::TIMEOUT, "Telegram did not answer in time"),
        ErrorKind::Unavailable => (codes::CONNECT, "Telegram cannot be reached"),
        _ => return error.with("method", method),
    };
    let mut made = Error::new(error.kind(), message)
        .with_code(code)
        .with_sent(error.sent())
        .with_retry(error.retry());
    for (key, value) in error.context() {
        made = made.with(key, value);
    }
    made.with("cause", format!("{method}: {}", error.message()))
        .with_fix("check the network, the proxy variables and TELEGRAM_API_ROOT")
        .with_source(error)
}

/// The error for an answer that is not the Bot API's, such as a proxy's or a login page. It may be
/// retried, because none of these is permanent.
fn garbage(status: u16) -> Error {
    if status >= 500 {
        return Error::new(
            ErrorKind::Unavailable,
            "Telegram, or something on the way to it, has a fault",
        )
        .with_code(codes::CONNECT)
        .with_sent(Sent::Maybe)
        .with_fix(PASSES);
    }
    let sent = if (200..300).contains(&status) { Sent::Maybe } else { Sent::No };
    Error::new(ErrorKind::Unavailable, "the answer is not the Telegram Bot API's")
        .with_code(codes::GARBAGE)
        .with_sent(sent)
        .with_fix("check TELEGRAM_API_ROOT: it must be the address of a Bot API server")
}

/// The error for an update without a number, which no offset can skip.
pub(crate) fn without_number() -> Error {
    Error::new(ErrorKind::Unavailable, "an update of Telegram has no number that can be read")
        .with_code(codes::GARBAGE)
        .with_fix("check TELEGRAM_API_ROOT: it must be the address of a Bot API server")
}

/// The error for a malformed token. If the text's form shows what was pasted instead, the error
/// names it. It never repeats the token.
pub(crate) fn token_shape(token: &str) -> Error {
    let (cause, fix) = mistaken(token).unwrap_or_else(|| match token.contains(':') {
        false => ("it has no colon", COPY_IT),
        true => ("it has a part or a character that no token has", COPY_IT),
    });
    Error::invalid("Not a valid bot token; expected digits, a colon, then about 35 characters")
        .with_code(codes::TOKEN)
        .with("cause", cause)
        .with_fix(fix)
}

const COPY_IT: &str = "copy it from @BotFather as it is: TELEGRAM_BOT_TOKEN=123456789:AA…";

/// What was certainly pasted instead of a token, and the fix. Applies to every Bot API server.
pub(crate) fn mistaken(token: &str) -> Option<(&'static str, &'static str)> {
    let bare = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let starts = |prefix: &str| {
        bare.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    };
    Some(if starts("sk-ant-") {
        (
            "it looks like an Anthropic key",
            "set that one as ANTHROPIC_API_KEY; TELEGRAM_BOT_TOKEN is the one from @BotFather",
        )
    } else if starts("sk-") {
        (
            "it looks like an OpenAI key",
            "set that one as OPENAI_API_KEY; TELEGRAM_BOT_TOKEN is the one from @BotFather",
        )
    } else if is_discords(bare) {
        (
            "it looks like a Discord token",
            "set that one as DISCORD_API_TOKEN; TELEGRAM_BOT_TOKEN is the one from @BotFather",
        )
    } else if starts("bot") && token.contains(':') {
        (
            "it begins with the word bot",
            "leave out the word and what follows it up to the digits: TELEGRAM_BOT_TOKEN=123456789:AA…",
        )
    } else if token.contains(['"', '\'', '`', '“', '”', '‘', '’', '«', '»']) {
        ("it holds quotes", COPY_IT)
    } else if token.contains(char::is_whitespace) {
        ("it holds spaces", COPY_IT)
    } else if token.bytes().all(|b| b.is_ascii_digit()) {
        ("it is a number only, such as a bot's or a chat's id", COPY_IT)
    } else {
        return None;
    })
}

/// Whether a text has the form of a Discord token: three parts with dots between them, the first
/// the bot's id in Base64 (Discord's documentation, "Authentication").
fn is_discords(token: &str) -> bool {
    let parts: Vec<&str> = token.split('.').collect();
    let plain =
        |part: &&str| part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    parts.len() == 3
        && parts[0].len() >= 18
        && parts[1].len() == 6
        && parts[2].len() >= 27
        && parts.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: u16, description: &str) -> Error {
        Failure::Refused(Refusal { code, description: description.into(), ..Refusal::default() })
            .into_error("sendMessage")
    }

    #[test]
    fn refusals_have_code_kind_and_advice() {
        let cases = [
            (401, "Unauthorized", codes::UNAUTHORIZED, ErrorKind::Unauthorized, Retry::Never),
            (404, "Not Found", codes::UNAUTHORIZED, ErrorKind::Unauthorized, Retry::Never),
            (
                403,
                "Forbidden: bot was blocked by the user",
                codes::FORBIDDEN,
                ErrorKind::Forbidden,
                Retry::Never,
            ),
            (
                400,
                "Bad Request: chat not found",
                codes::NOT_FOUND,
                ErrorKind::NotFound,
                Retry::Never,
            ),
            (
                400,
                "Bad Request: not enough rights to send text messages to the chat",
                codes::FORBIDDEN,
                ErrorKind::Forbidden,
                Retry::Never,
            ),
            (
                400,
                "Bad Request: message text is empty",
                codes::INVALID,
                ErrorKind::Invalid,
                Retry::Never,
            ),
            (
                409,
                "Conflict: terminated by other getUpdates request",
                codes::CONFLICT,
                ErrorKind::Conflict,
                Retry::After(CONFLICT_WAIT),
            ),
            (
                409,
                "Conflict: can't use getUpdates method while webhook is active",
                codes::WEBHOOK,
                ErrorKind::Conflict,
                Retry::Never,
            ),
            (500, "Internal Server Error", codes::CONNECT, ErrorKind::Unavailable, Retry::Soon),
        ];
        for (status, words, code, kind, retry) in cases {
            let error = refusal(status, words);
            assert_eq!(
                (error.code(), error.kind(), error.retry()),
                (Some(code), kind, retry),
                "{words}"
            );
            assert!(!error.to_string().contains("expected digits"), "{words}: its shape was right");
            assert_eq!(error.sent(), if status >= 500 { Sent::Maybe } else { Sent::No }, "{words}");
        }
    }

    #[test]
    fn what_people_paste_in_place_of_a_token_is_named() {
        for (pasted, named) in [
            ("sk-proj-canaryCANARYcanary", "OpenAI"),
            ("sk-ant-api03-canaryCANARYcanary", "Anthropic"),
            (
                "MTE4MjAwMDAwMDAwMDAwMDAw.GcanAr.canaryCANARYcanaryCANARYcanaryCANARYcanary",
                "Discord",
            ),
            ("bot123456789:AAcanaryCANARYcanaryCANARYcanaryCAN", "word bot"),
            ("Bot 123456789:AAcanaryCANARYcanaryCANARYcanaryCAN", "word bot"),
            ("“123456789:AAcanaryCANARYcanaryCANARYcanaryCAN”", "quotes"),
            ("123456789: AAcanaryCANARY", "spaces"),
            ("123456789", "a number only"),
            ("AAcanaryCANARY", "no colon"),
            ("123456789:AA/canary", "no token has"),
        ] {
            let error = token_shape(pasted);
            assert!(error.to_string().contains(named), "{pasted}: {error}");
            assert!(!format!("{error:?}").to_lowercase().contains("canary"), "{pasted}");
        }
    }

    #[test]
    fn flood_waits_carry_telegrams_time() {
        let error = Failure::Refused(Refusal {
            code: 429,
            description: "Too Many Requests: retry after 17".into(),
            retry_after: Some(17),
            migrate_to: None,
        });
        let error = error.into_error("sendMessage");
        assert_eq!(
            (error.kind(), error.retry(), error.sent()),
            (ErrorKind::RateLimited, Retry::After(Duration::from_secs(17)), Sent::No)
        );
    }

    #[test]
    fn answers_of_something_else_are_told_apart() {
        let page = Failure::Garbage { status: 200, place: "h:1".into() }.into_error("getMe");
        assert_eq!(
            (page.code(), page.retry(), page.sent()),
            (Some(codes::GARBAGE), Retry::Soon, Sent::Maybe)
        );
        let proxy = Failure::Garbage { status: 502, place: "h:1".into() }.into_error("getMe");
        assert_eq!(
            (proxy.code(), proxy.retry(), proxy.sent()),
            (Some(codes::CONNECT), Retry::Soon, Sent::Maybe)
        );
    }

    #[test]
    fn transport_failures_keep_what_they_say_about_the_effect() {
        let lost = Error::new(ErrorKind::Unavailable, "broke").with_sent(Sent::Maybe);
        assert_eq!(Failure::Transport(lost).into_error("x").sent(), Sent::Maybe);
        let refused = Error::new(ErrorKind::Unavailable, "nothing listens").with_sent(Sent::No);
        let error = Failure::Transport(refused).into_error("x");
        assert_eq!((error.sent(), error.code()), (Sent::No, Some(codes::CONNECT)));
    }
}
