//! Turns Discord's failures into [`galatea_core::Error`] with a kind, retry advice and a sentence
//! for people. An error never contains a token, the path of an address, or message text.

mod close;
mod pages;
#[cfg(test)]
mod tests;

use galatea_core::{Error, ErrorKind, Reach, Retry, Sent};
use galatea_http::{Platform, shorten};
use std::time::Duration;

use crate::decode::permissions::MissingPermission;
pub(crate) use close::fatal_close;
pub(crate) use pages::PAGES;

/// Stable error codes; `galatea explain` describes each.
pub(crate) mod codes {
    pub(crate) const TOKEN: &str = "GAL-DC-TOKEN";
    pub(crate) const UNAUTHORIZED: &str = "GAL-DC-4004";
    pub(crate) const INTENTS: &str = "GAL-DC-4014";
    pub(crate) const GATEWAY: &str = "GAL-DC-4010";
    pub(crate) const ACCESS: &str = "GAL-DC-50001";
    pub(crate) const PERMISSION: &str = "GAL-DC-50013";
    pub(crate) const CLOSED: &str = "GAL-DC-50007";
    pub(crate) const FORBIDDEN: &str = "GAL-DC-403";
    pub(crate) const NOT_FOUND: &str = "GAL-DC-404";
    pub(crate) const INVALID: &str = "GAL-DC-400";
    pub(crate) const LIMITED: &str = "GAL-DC-429";
    pub(crate) const GUARD: &str = "GAL-DC-GUARD";
    pub(crate) const IDENTIFY: &str = "GAL-DC-IDENTIFY";
    pub(crate) const INVITE: &str = "GAL-DC-INVITE";
    pub(crate) const CONNECT: &str = "GAL-DC-CONNECT";
    pub(crate) const TIMEOUT: &str = "GAL-DC-TIMEOUT";
    pub(crate) const GARBAGE: &str = "GAL-DC-GARBAGE";
}

/// Fix for a rejected token.
const RESET: &str = "discord.com/developers → your application → Bot → Reset Token, then set DISCORD_API_TOKEN and start galatea again";
/// Fix for a missing intent.
pub(crate) const GRANT: &str = "`galatea connector check discord --fix`, or discord.com/developers → your application → Bot → Privileged Gateway Intents → Message Content Intent";
/// How these errors name the platform.
const DISCORD: Platform = Platform {
    name: "Discord",
    api: "the Discord API",
    root: "DISCORD_API_ROOT",
    connect: codes::CONNECT,
    timeout: codes::TIMEOUT,
    garbage: codes::GARBAGE,
};
/// Upper bound for a wait that Discord asks for; address bans last about an hour.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Discord answered with an error. Below 500 the call had no effect; from 500 on its outcome is
    /// unknown.
    Refused(Refusal),
    /// The call was not made, because a known rate limit forbids it.
    Deferred {
        wait: Duration,
        /// Whether the guard against address bans forbids the call, not an ordinary rate limit.
        guard: bool,
    },
    /// There was no answer, or an incomplete one.
    Transport(Error),
    /// The answer does not have Discord's form.
    Garbage {
        status: u16,
        /// The host that answered.
        place: String,
    },
}

/// Discord's error body (Discord, "Opcodes and Status Codes": JSON).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// Discord's error number; 0 if there is none.
    pub(crate) code: u32,
    /// Discord's message, with the first invalid field.
    pub(crate) message: String,
    /// How long Discord asks to wait.
    pub(crate) retry_after: Option<Duration>,
    /// Whether the wait applies to every call, not only to this route.
    pub(crate) global: bool,
}

/// The room a call is about, for error messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    /// The channel's name, if known.
    pub(crate) name: Option<String>,
    /// The channel's address on discord.com.
    pub(crate) link: Option<String>,
    /// The attempted action as a verb, such as `write`.
    pub(crate) does: &'static str,
    /// The permission the action needs, as Discord's settings name it.
    pub(crate) needs: &'static str,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            name: None,
            link: None,
            does: "write",
            needs: "Send Messages, or another permission this needs",
        }
    }
}

impl Refusal {
    /// How long to wait, if the refusal is a rate limit.
    pub(crate) fn wait(&self) -> Option<Duration> {
        // Slightly longer than Discord asks for: the clocks differ, and an early call counts
        // against the address.
        (self.status == 429).then(|| {
            (self.retry_after.unwrap_or(Duration::from_secs(1)) + Duration::from_millis(50))
                .min(MAX_WAIT)
        })
    }
}

impl Failure {
    /// The refusal, if its status is below 500. The call then had no effect.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) if refusal.status < 500 => Some(refusal),
            _ => None,
        }
    }

    /// Discord's error number, under the same condition.
    pub(crate) fn code(&self) -> Option<u32> {
        self.refusal().map(|r| r.code)
    }

    /// Whether the call surely had no effect.
    pub(crate) fn had_no_effect(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.status < 500,
            Self::Deferred { .. } => true,
            Self::Transport(error) => error.sent() == Sent::No,
            Self::Garbage { .. } => false,
        }
    }

    /// Converts into the workspace's error. `call` names the call without ids.
    pub(crate) fn into_error(self, call: &'static str) -> Error {
        self.into_error_in(&Room::default(), call)
    }

    /// Like [`Self::into_error`], but names the room.
    pub(crate) fn into_error_in(self, room: &Room, call: &'static str) -> Error {
        match self {
            Self::Refused(refusal) => {
                let error = refused(&refusal, room).with("cause", answered(call, &refusal));
                match room.link.as_ref().filter(|_| error.kind() == ErrorKind::Forbidden) {
                    Some(link) => error.with("where", link),
                    None => error,
                }
            }
            Self::Deferred { wait, guard: true } => Error::new(ErrorKind::RateLimited, "too many refused calls: all calls rest before Discord bans this address")
                .with_code(codes::GUARD)
                .with_retry(Retry::After(wait))
                .with_reach(Reach::Account)
                .with_fix("look in the log for what is refused again and again: a missing permission, a channel that is gone")
                .with("cause", format!("{call} is held back for {} s", wait.as_secs())),
            Self::Deferred { wait, guard: false } => limited(wait).with("cause", format!("{call} has to wait for {} ms", wait.as_millis())),
            Self::Transport(error) => DISCORD.unanswered(error, call),
            // Discord's own refusal of a token may come without a body.
            Self::Garbage { status: 401, place } => unauthorized().with("cause", format!("{call} at {place} answered 401 and something else")),
            Self::Garbage { status, place } => DISCORD.garbage(status, &place, call),
        }
    }
}

/// Describes the answer: `create message answered 403 Missing Permissions (50013)`.
fn answered(call: &str, refusal: &Refusal) -> String {
    let Refusal { status, code, message, .. } = refusal;
    // If there is no error number, Discord's message begins with the status: `401: Unauthorized`.
    let words = shorten(message, 200);
    let reason = if words.starts_with(&status.to_string()) {
        words.to_string()
    } else {
        format!("{status} {words}")
    };
    let number = if *code == 0 { String::new() } else { format!(" ({code})") };
    format!("{call} answered {}{number}", reason.trim_end())
}

fn limited(wait: Duration) -> Error {
    Error::new(ErrorKind::RateLimited, "Discord asked to wait")
        .with_code(codes::LIMITED)
        .with_retry(Retry::After(wait))
        .with_fix("nothing to do: it is sent after that time, or expires if it is too old by then")
}

fn refused(refusal: &Refusal, room: &Room) -> Error {
    let name =
        room.name.as_ref().map_or_else(|| "this channel".to_owned(), |name| format!("#{name}"));
    if let Some(wait) = refusal.wait() {
        return if refusal.global {
            limited(wait).with_reach(Reach::Account)
        } else {
            limited(wait)
        };
    }
    let forbidden = |code, message: &'static str, fix: &'static str| {
        Error::new(ErrorKind::Forbidden, message).with_code(code).with_fix(fix)
    };
    let gone = |message: &'static str| Error::not_found(message).with_code(codes::NOT_FOUND);
    match (refusal.status, refusal.code) {
        (500.., _) => DISCORD.fault(),
        (401, _) | (_, 40001 | 50014) => unauthorized(),
        (_, 50001) => {
            Error::new(ErrorKind::Forbidden, format!("Cannot see {name}: missing View Channel"))
                .with_code(codes::ACCESS)
                .with_fix(
                    "in the channel's settings → Permissions, let the bot's role View Channel",
                )
        }
        (_, 50013) => Error::new(
            ErrorKind::Forbidden,
            format!("Cannot {} in {name}: missing {}", room.does, room.needs),
        )
        .with_code(codes::PERMISSION)
        .with_fix(format!(
            "in the channel's settings → Permissions, give the bot's role {}",
            room.needs
        )),
        (_, 50007) => forbidden(
            codes::CLOSED,
            "This person does not take direct messages from the bot",
            "they have to allow direct messages from members of a server they share with it, or unblock it",
        ),
        (_, 50083) => forbidden(
            codes::FORBIDDEN,
            "This thread is archived and locked",
            "a moderator has to unlock it",
        ),
        (_, 160_002) => forbidden(
            codes::PERMISSION,
            "Cannot reply in this channel: missing Read Message History",
            "in the channel's settings → Permissions, give the bot's role Read Message History",
        ),
        (_, 50006) => {
            Error::invalid("Discord does not take an empty message").with_code(codes::INVALID)
        }
        (413, _) | (_, 40005) => Error::invalid("a file is larger than this server takes")
            .with_code(codes::INVALID)
            .with_fix("send a smaller one, or a link to it"),
        (_, 10003) => gone("this channel does not exist any more"),
        (_, 10004) => gone("this server does not exist any more, or the bot was removed from it"),
        (_, 10008) => gone("this message does not exist any more"),
        (_, 10013) => gone("Discord does not know this person"),
        (_, 10014) => Error::invalid("Discord does not know this emoji, or the bot may not use it")
            .with_code(codes::INVALID),
        (_, 10015 | 10062 | 50027) => gone("Discord does not wait for this answer any more"),
        (403, _) => forbidden(
            codes::FORBIDDEN,
            "Discord does not let the bot do this here",
            "check the bot's role in the server's settings → Roles",
        ),
        (404, _) => gone("Discord does not know this place"),
        _ => Error::invalid("Discord found the request invalid").with_code(codes::INVALID),
    }
}

/// The error for a message that the known permissions forbid. It is the one Discord's answer would
/// give, without the call.
pub(crate) fn cannot_write(room: &Room, missing: MissingPermission) -> Error {
    let code = if missing == MissingPermission::View { 50001 } else { 50013 };
    let mut error = refused(&Refusal { status: 403, code, ..Refusal::default() }, room);
    if missing == MissingPermission::TimedOut {
        error = error.with_fix(
            "a moderator timed the bot out; it ends by itself, or a moderator removes it",
        );
    }
    let error = error.with("cause", "according to the channel's permissions");
    match &room.link {
        Some(link) => error.with("where", link),
        None => error,
    }
}

/// The error for a token that Discord rejects.
pub(crate) fn unauthorized() -> Error {
    Error::new(ErrorKind::Unauthorized, "Discord rejected this token")
        .with_code(codes::UNAUTHORIZED)
        .with_fix(RESET)
}

/// The error for a malformed token, which it never repeats. `what` says what was pasted instead, or
/// is empty.
pub(crate) fn token_shape(what: &'static str) -> Error {
    let error = Error::invalid(if what.is_empty() {
        "Not a bot token; expected three parts with dots between them"
    } else {
        "Not a bot token"
    });
    let error = error.with_code(codes::TOKEN).with_fix("copy it from discord.com/developers → your application → Bot → Reset Token: DISCORD_API_TOKEN=MTE…");
    if what.is_empty() { error } else { error.with("cause", what) }
}
