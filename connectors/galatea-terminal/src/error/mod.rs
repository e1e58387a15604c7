//! The errors of the terminal connector, with their kinds and retry advice.

mod pages;

use galatea_core::{Error, ErrorKind, Retry, error::Sent};
use std::{io, path::Path, time::Duration};

pub(crate) use pages::PAGES;

/// Longest socket path in bytes. `sun_path` holds 108 on Linux (unix(7)) and 104 on macOS and the
/// BSDs (sys/un.h); one of these is the final zero, and one the suffix of the temporary name.
pub(crate) const MAX_PATH: usize = if cfg!(target_os = "linux") { 106 } else { 102 };

pub(crate) fn broken(source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the terminal connection broke")
        .with_code("GAL-TERM-CLOSED")
        .with_sent(Sent::Maybe)
        .with_source(source)
}

pub(crate) fn line_too_long(limit: usize) -> Error {
    Error::invalid("a line is longer than the protocol allows")
        .with_code("GAL-TERM-LINE")
        .with("limit", limit)
}

pub(crate) fn not_a_frame(cause: &serde_json::Error) -> Error {
    // serde's message can repeat the input, so only the position and class of the error are used.
    Error::invalid("a line is not a frame of this protocol")
        .with_code("GAL-TERM-FRAME")
        .with("column", cause.column())
        .with("class", format!("{:?}", cause.classify()).to_lowercase())
        .with_fix("write one JSON object per line, as README.md of galatea-terminal describes")
}

pub(crate) fn wrong_version(ours: u32, theirs: u32) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "this galatea speaks another version of the terminal protocol",
    )
    .with_code("GAL-TERM-VERSION")
    .with("ours", ours)
    .with("theirs", theirs)
    .with_fix(
        "use the same galatea for `start` and `chat`; restart the running one after an update",
    )
}

pub(crate) fn expected_hello() -> Error {
    Error::invalid("the first line must be a hello").with_code("GAL-TERM-HELLO")
}

pub(crate) fn bad_name() -> Error {
    Error::invalid(
        "a terminal name must have 1 to 64 characters, none of them a control character or a slash",
    )
    .with_code("GAL-TERM-NAME")
    .with_fix("choose another with `--as NAME`")
}

pub(crate) fn bad_say(message: &'static str) -> Error {
    Error::invalid(message).with_code("GAL-TERM-SAY")
}

pub(crate) fn stopping() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "galatea is stopping; answers under way still arrive, nothing new is taken in",
    )
    .with_code("GAL-TERM-STOPPING")
    .with_fix("say it again once it runs")
}

pub(crate) fn foreign_room() -> Error {
    Error::invalid("this room is not a terminal's").with_code("GAL-TERM-ROOM")
}

/// Pause before an answer checks again for a disconnected terminal.
const AWAY_PAUSE: Duration = Duration::from_secs(5);

/// The error for a disconnected terminal. Other terminals of the account may be connected, so this
/// pauses only the room (`RateLimited`: no attempt is used up, no breaker opens) and does not
/// report the platform as unavailable. The answer's time to live bounds the wait.
fn away(message: &'static str) -> Error {
    Error::new(ErrorKind::RateLimited, message)
        .with_retry(Retry::After(AWAY_PAUSE))
        .with_fix("open it again with `galatea chat`")
}

pub(crate) fn no_client() -> Error {
    away("no chat is connected to this terminal room; the answer waits")
        .with_code("GAL-TERM-OFFLINE")
}

pub(crate) fn left_before_ack() -> Error {
    away("the terminal closed before it confirmed the message")
        .with_code("GAL-TERM-CLOSED")
        .with_sent(Sent::Maybe)
}

pub(crate) fn no_ack() -> Error {
    Error::new(ErrorKind::Timeout, "the terminal did not confirm the message")
        .with_code("GAL-TERM-ACK")
}

pub(crate) fn unsupported(what: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, what).with_code("GAL-TERM-ABILITY")
}

#[cfg(not(unix))]
pub(crate) fn no_unix_sockets() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the terminal connector needs Unix sockets, which this build for Windows does not have",
    )
    .with_code("GAL-TERM-OS")
    .with_fix("run Galatea in WSL or a container to use `galatea chat`; other connectors work")
}

pub(crate) fn path_too_long(path: &Path) -> Error {
    Error::invalid("the terminal socket's path is longer than the system allows")
        .with_code("GAL-TERM-PATH")
        .with("path", path.display())
        .with("limit", MAX_PATH)
        .with_fix("set TERMINAL_SOCKET to a shorter path, or use a data folder nearer to the root")
}

pub(crate) fn socket_taken(path: &Path) -> Error {
    Error::new(ErrorKind::Conflict, "another process answers on the terminal socket")
        .with_code("GAL-TERM-TAKEN")
        .with("path", path.display())
        .with_retry(Retry::Soon)
        .with_fix("stop the other galatea, or set TERMINAL_SOCKET to another path")
}

pub(crate) fn not_a_socket(path: &Path) -> Error {
    Error::new(ErrorKind::Conflict, "a file that is not a socket is in the terminal socket's place")
        .with_code("GAL-TERM-PATH")
        .with("path", path.display())
        .with_fix("move that file away, or set TERMINAL_SOCKET to another path")
}

pub(crate) fn cannot_listen(path: &Path, source: io::Error) -> Error {
    let kind = if source.kind() == io::ErrorKind::PermissionDenied {
        ErrorKind::Forbidden
    } else {
        ErrorKind::Unavailable
    };
    Error::new(kind, "cannot listen on the terminal socket")
        .with_code("GAL-TERM-LISTEN")
        .with("path", path.display())
        .with("cause", &source)
        .with_fix(
            "make the data folder writable for this user, or set TERMINAL_SOCKET to another path",
        )
        .with_source(source)
}

#[cfg(unix)]
pub(crate) fn not_running(path: &Path, source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "no galatea answers on the terminal socket")
        .with_code("GAL-TERM-CONNECT")
        .with("path", path.display())
        .with("cause", &source)
        .with_fix("start it with `galatea start`")
        .with_source(source)
}

#[cfg(unix)]
pub(crate) fn received(code: &str, message: String, fix: Option<String>) -> Error {
    let error = Error::invalid(message).with("code", code);
    match fix {
        Some(fix) => error.with_fix(fix),
        None => error,
    }
}
