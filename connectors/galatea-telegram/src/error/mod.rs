//! Turns Telegram's failures into [`galatea_core::Error`] with a kind, retry advice and a sentence
//! for people. An error never contains a token, the path of an address, or message text.

mod pages;
#[cfg(test)]
mod tests;
mod token;

use galatea_core::{Error, ErrorKind, Reach, Retry};
use galatea_http::{Platform, shorten};
use serde::Deserialize;
use std::time::Duration;

pub(crate) use pages::PAGES;
pub(crate) use token::{mistaken, token_shape};

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

/// How these errors name the platform.
const TELEGRAM: Platform = Platform {
    name: "Telegram",
    api: "the Telegram Bot API",
    root: "TELEGRAM_API_ROOT",
    connect: codes::CONNECT,
    timeout: codes::TIMEOUT,
    garbage: codes::GARBAGE,
};
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
            Self::Transport(error) => TELEGRAM.unanswered(error, method),
            Self::Garbage { status, place } => TELEGRAM.garbage(status, &place, method),
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
            // Telegram counts the messages of a chat together, over all its topics (Bots FAQ, "My
            // bot is hitting limits").
            .with_reach(Reach::World)
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
        500.. => TELEGRAM.fault(),
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
    const RIGHTS: [&str; 6] = [
        "not enough rights",
        "need administrator rights",
        "have no rights",
        "CHAT_WRITE_FORBIDDEN",
        "CHAT_ADMIN_REQUIRED",
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
    if refusal.says("TOPIC_CLOSED") {
        return Error::new(
            ErrorKind::Forbidden,
            "this topic is closed: the bot cannot write in it",
        )
        .with_code(codes::FORBIDDEN)
        .with_fix("reopen the topic, or make the bot an administrator who may manage topics");
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

/// The error for an update without a number, which no offset can skip.
pub(crate) fn without_number() -> Error {
    Error::new(ErrorKind::Unavailable, "an update of Telegram has no number that can be read")
        .with_code(codes::GARBAGE)
        .with_fix("check TELEGRAM_API_ROOT: it must be the address of a Bot API server")
}
