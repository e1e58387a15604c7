//! What goes wrong on Discord, as [`galatea_core::Error`]: kind, retry advice, a sentence for
//! people. Never a token, an address's path, or message text.

use galatea_core::{Error, ErrorKind, Reach, Retry, Sent};
use galatea_http::{shorten, status_error};
use std::time::Duration;

use crate::decode::directory::Missing;

/// Stable codes that `galatea explain` knows.
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

/// What to do about a refused token.
const RESET: &str = "discord.com/developers → your application → Bot → Reset Token, then set DISCORD_API_TOKEN and start galatea again";
/// What to do about a missing intent.
pub(crate) const GRANT: &str = "`galatea connector check discord --fix`, or discord.com/developers → your application → Bot → Privileged Gateway Intents → Message Content Intent";
/// What to do about a fault of the other side.
const PASSES: &str =
    "it is tried again by itself; if it stays, check DISCORD_API_ROOT and the proxy variables";
/// Longest wait that is believed; bans of addresses last an hour or so.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// What became of a call that did not work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Discord said no, so nothing happened (below 500) or something may have (500 and above).
    Refused(Refusal),
    /// A limit known beforehand: the call was not made.
    Held {
        /// How long to wait.
        wait: Duration,
        /// Whether the guard against bans holds, not an ordinary limit.
        guard: bool,
    },
    /// No answer, or none in full.
    Transport(Error),
    /// An answer that is not Discord's.
    Garbage {
        /// HTTP status.
        status: u16,
        /// Host that answered.
        place: String,
    },
}

/// Discord's error body (Discord, "Opcodes and Status Codes": JSON).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Refusal {
    /// HTTP status.
    pub(crate) status: u16,
    /// Discord's own number; 0 without one.
    pub(crate) code: u32,
    /// Discord's own words, with the first field at fault.
    pub(crate) message: String,
    /// How long to wait.
    pub(crate) retry_after: Option<Duration>,
    /// The wait is about every call.
    pub(crate) global: bool,
}

/// The room a call is about, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    /// Its page.
    pub(crate) link: Option<String>,
    /// What is done there.
    pub(crate) does: &'static str,
    /// The permission that takes, as the settings call it.
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
    /// How long to wait, if it is a rate limit.
    pub(crate) fn wait(&self) -> Option<Duration> {
        // A little more than asked for: Discord's clock and ours differ, and an early call counts
        // against the address.
        (self.status == 429).then(|| {
            (self.retry_after.unwrap_or(Duration::from_secs(1)) + Duration::from_millis(50))
                .min(MAX_WAIT)
        })
    }
}

impl Failure {
    /// The refusal, if Discord gave one below 500: then nothing happened.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) if refusal.status < 500 => Some(refusal),
            _ => None,
        }
    }

    /// Discord's own number of the refusal.
    pub(crate) fn code(&self) -> Option<u32> {
        self.refusal().map(|r| r.code)
    }

    /// As the workspace's error. `call` names the call without its ids.
    pub(crate) fn into_error(self, call: &'static str) -> Error {
        self.into_error_in(&Room::default(), call)
    }

    /// The same about a room that has a name.
    pub(crate) fn into_error_in(self, room: &Room, call: &'static str) -> Error {
        match self {
            Self::Refused(refusal) => {
                let error = refused(&refusal, room).with("cause", answered(call, &refusal));
                match room.link.as_ref().filter(|_| error.kind() == ErrorKind::Forbidden) {
                    Some(link) => error.with("where", link),
                    None => error,
                }
            }
            Self::Held { wait, guard: true } => Error::new(ErrorKind::RateLimited, "too many refused calls: all calls rest before Discord bans this address")
                .with_code(codes::GUARD)
                .with_retry(Retry::After(wait))
                .with_reach(Reach::Account)
                .with_fix("look in the log for what is refused again and again: a missing permission, a channel that is gone")
                .with("cause", format!("{call} is held back for {} s", wait.as_secs())),
            Self::Held { wait, guard: false } => limited(wait).with("cause", format!("{call} has to wait for {} ms", wait.as_millis())),
            Self::Transport(error) => transport(error, call),
            Self::Garbage { status, place } => garbage(status, &place).with("cause", format!("{call} at {place} answered {status} and something else")),
        }
    }
}

/// What was seen: `create message answered 403 Missing Permissions (50013)`.
fn answered(call: &str, refusal: &Refusal) -> String {
    let Refusal { status, code, message, .. } = refusal;
    // Discord's own words begin with the status where it has no number of its own:
    // `401: Unauthorized`.
    let words = shorten(message, 200);
    let told = if words.starts_with(&status.to_string()) {
        words.to_string()
    } else {
        format!("{status} {words}")
    };
    let number = if *code == 0 { String::new() } else { format!(" ({code})") };
    format!("{call} answered {}{number}", told.trim_end())
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
        (500.., _) => Error::new(ErrorKind::Unavailable, "Discord has a fault")
            .with_code(codes::CONNECT)
            .with_sent(Sent::Maybe)
            .with_fix(PASSES),
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

/// The permissions that are known do not let the bot write: what Discord would answer, without
/// asking.
pub(crate) fn cannot_write(room: &Room, missing: Missing) -> Error {
    let code = if missing == Missing::View { 50001 } else { 50013 };
    let mut error = refused(&Refusal { status: 403, code, ..Refusal::default() }, room);
    if missing == Missing::TimedOut {
        error = error.with_fix(
            "a moderator timed the bot out; it ends by itself, or a moderator removes it",
        );
    }
    let error = error.with("cause", "as the permissions of the channel tell");
    match &room.link {
        Some(link) => error.with("where", link),
        None => error,
    }
}

/// The token is refused.
pub(crate) fn unauthorized() -> Error {
    Error::new(ErrorKind::Unauthorized, "Discord rejected this token")
        .with_code(codes::UNAUTHORIZED)
        .with_fix(RESET)
}

/// What a close code of the gateway says about going on (Discord, "Gateway Close Event Codes"):
/// none when the session may be resumed.
pub(crate) fn fatal_close(code: u16) -> Option<Error> {
    let gateway = |message: &'static str| {
        Error::new(ErrorKind::Unsupported, message)
            .with_code(codes::GATEWAY)
            .with("cause", closed(code))
    };
    Some(match code {
        4004 => unauthorized().with("cause", closed(code)),
        4014 => Error::new(
            ErrorKind::Forbidden,
            "Discord does not grant an intent this connector asks for",
        )
        .with_code(codes::INTENTS)
        .with("cause", closed(code))
        .with_fix(GRANT),
        4010 => gateway("Discord does not know this shard")
            .with_fix("restart; report it if it comes again"),
        4011 => gateway("the bot is in too many servers for this number of shards")
            .with_fix("restart: the number of shards is asked for at start"),
        4012 => gateway("Discord does not speak this version of the gateway any more")
            .with_fix("install a newer Galatea"),
        4013 => gateway("Discord does not know an intent this connector asks for")
            .with_fix("install a newer Galatea"),
        _ => return None,
    })
}

fn closed(code: u16) -> String {
    format!("the gateway closed the connection with {code}")
}

fn transport(error: Error, call: &str) -> Error {
    let (code, message) = match error.kind() {
        ErrorKind::Timeout => (codes::TIMEOUT, "Discord did not answer in time"),
        ErrorKind::Unavailable => (codes::CONNECT, "Discord cannot be reached"),
        _ => return error.with("call", call),
    };
    let mut made = Error::new(error.kind(), message)
        .with_code(code)
        .with_sent(error.sent())
        .with_retry(error.retry());
    for (key, value) in error.context() {
        made = made.with(key, value);
    }
    made.with("cause", format!("{call}: {}", error.message()))
        .with_fix("check the network, the proxy variables and DISCORD_API_ROOT")
        .with_source(error)
}

fn garbage(status: u16, place: &str) -> Error {
    const FIX: &str = "check DISCORD_API_ROOT: it must be the address of the Discord API";
    if (200..300).contains(&status) {
        let error = Error::new(ErrorKind::Unavailable, "the answer is not Discord's")
            .with_code(codes::GARBAGE)
            .with_sent(Sent::Maybe);
        return error.with_fix(FIX);
    }
    let error = status_error(status, place, None);
    match status {
        401 => unauthorized(),
        500.. => error.with_code(codes::CONNECT),
        _ => error.with_code(codes::GARBAGE).with_fix(FIX),
    }
}

/// The failure of a token's shape; the token itself is never repeated.
pub(crate) fn token_shape(what: &'static str) -> Error {
    let error = Error::invalid(if what.is_empty() {
        "Not a bot token; expected three parts with dots between them"
    } else {
        "Not a bot token"
    });
    let error = error.with_code(codes::TOKEN).with_fix("copy it from discord.com/developers → your application → Bot → Reset Token: DISCORD_API_TOKEN=MTE…");
    if what.is_empty() { error } else { error.with("cause", what) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, code: u32) -> Error {
        Failure::Refused(Refusal { status, code, ..Refusal::default() })
            .into_error("create message")
    }

    #[test]
    fn refusals_have_code_kind_and_advice() {
        let cases = [
            (401, 0, codes::UNAUTHORIZED, ErrorKind::Unauthorized),
            (403, 50001, codes::ACCESS, ErrorKind::Forbidden),
            (403, 50013, codes::PERMISSION, ErrorKind::Forbidden),
            (403, 50007, codes::CLOSED, ErrorKind::Forbidden),
            (403, 0, codes::FORBIDDEN, ErrorKind::Forbidden),
            (404, 10003, codes::NOT_FOUND, ErrorKind::NotFound),
            (404, 10008, codes::NOT_FOUND, ErrorKind::NotFound),
            (404, 10062, codes::NOT_FOUND, ErrorKind::NotFound),
            (400, 50035, codes::INVALID, ErrorKind::Invalid),
            (413, 40005, codes::INVALID, ErrorKind::Invalid),
        ];
        for (status, number, code, kind) in cases {
            let error = refusal(status, number);
            assert_eq!(
                (error.code(), error.kind(), error.retry(), error.sent()),
                (Some(code), kind, Retry::Never, Sent::No),
                "{status} {number}"
            );
        }
        let fault = refusal(502, 0);
        assert_eq!(
            (fault.code(), fault.retry(), fault.sent()),
            (Some(codes::CONNECT), Retry::Soon, Sent::Maybe)
        );
    }

    #[test]
    fn a_rate_limit_carries_discords_time() {
        let refusal = Refusal {
            status: 429,
            retry_after: Some(Duration::from_millis(1_337)),
            ..Refusal::default()
        };
        let error = Failure::Refused(refusal).into_error("create message");
        assert_eq!(
            (error.kind(), error.retry(), error.sent()),
            (ErrorKind::RateLimited, Retry::After(Duration::from_millis(1_387)), Sent::No)
        );
    }

    #[test]
    fn close_codes_that_need_a_person_are_final() {
        for code in [4004, 4010, 4011, 4012, 4013, 4014] {
            let error = fatal_close(code).unwrap();
            assert!(error.retry() == Retry::Never && error.fix().is_some(), "{code}");
        }
        for code in [1000, 1006, 4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009] {
            assert!(fatal_close(code).is_none(), "{code}");
        }
        assert_eq!(fatal_close(4014).unwrap().code(), Some("GAL-DC-4014"));
    }

    #[test]
    fn answers_of_something_else_are_told_apart() {
        let page = Failure::Garbage { status: 200, place: "h".into() }.into_error("x");
        assert_eq!(
            (page.code(), page.retry(), page.sent()),
            (Some(codes::GARBAGE), Retry::Soon, Sent::Maybe)
        );
        let proxy = Failure::Garbage { status: 502, place: "h".into() }.into_error("x");
        assert_eq!(
            (proxy.code(), proxy.retry(), proxy.sent()),
            (Some(codes::CONNECT), Retry::Soon, Sent::Maybe)
        );
    }
}
