//! What goes wrong on this platform, for people; and the pages that explain each code.

use galatea_core::{Error, ErrorKind, Retry, character::Explanation};
use std::time::Duration;

/// Stable codes of this connector. What the network does has codes of its own in `galatea-http`.
pub(crate) mod codes {
    pub(crate) const OK: &str = "GAL-PARROT-OK";
    pub(crate) const TOKEN: &str = "GAL-PARROT-TOKEN";
    pub(crate) const UNAUTHORIZED: &str = "GAL-PARROT-401";
    pub(crate) const FORBIDDEN: &str = "GAL-PARROT-403";
}

const fn page(
    code: &'static str,
    title: &'static str,
    cause: &'static str,
    fix: &'static str,
) -> Explanation {
    Explanation { code, title, cause, fix }
}

/// What `galatea explain` says about each code.
pub(crate) const PAGES: &[Explanation] = &[
    page(codes::OK, "Parrot answers", "The token is accepted.", "Nothing has to be done."),
    page(
        codes::TOKEN,
        "PARROT_TOKEN is not shaped like a token",
        "A token is the account's number, a colon and a secret. A part is missing, or something else was pasted.",
        "Copy the whole token from the account's page into PARROT_TOKEN.",
    ),
    page(
        codes::UNAUTHORIZED,
        "Parrot does not accept the token",
        "The token was withdrawn, or it belongs to another server.",
        "Make a new token and set PARROT_TOKEN; check PARROT_API_ROOT if you run a server of your own.",
    ),
    page(
        codes::FORBIDDEN,
        "The agent may not do this on Parrot",
        "It was removed from the room, or may only read there.",
        "Let an owner of the room invite the account again and allow it to write.",
    ),
];

/// How long to stay away when the server says "slow down" and not for how long.
const UNSAID_WAIT: Duration = Duration::from_secs(5);

/// A failed call in this platform's words. Kind, retry advice and `sent` are those of
/// [`galatea_http::status_error`].
pub(crate) fn explain(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Unauthorized => {
            error.with_code(codes::UNAUTHORIZED).with_fix("make a new token and set PARROT_TOKEN")
        }
        ErrorKind::Forbidden => error
            .with_code(codes::FORBIDDEN)
            .with_fix("let an owner of the room invite the account again"),
        // The outbox waits as long as this says; without a time it would guess.
        ErrorKind::RateLimited if error.retry() == Retry::Soon => {
            error.with_retry(Retry::After(UNSAID_WAIT))
        }
        _ => error,
    }
}

pub(crate) fn token_shape() -> Error {
    Error::invalid("PARROT_TOKEN is not shaped like a token")
        .with_code(codes::TOKEN)
        .with_fix("copy all of it: number, colon, secret")
}

pub(crate) fn unsupported(what: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, what)
}

pub(crate) fn foreign_id() -> Error {
    Error::invalid("this id is not one of this platform's")
}

/// A line without a number: the place in the stream would be lost.
pub(crate) fn unreadable() -> Error {
    Error::new(ErrorKind::Unavailable, "the server sent something that is not an event")
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Sent;
    use galatea_http::status_error;

    #[test]
    fn statuses_become_advice() {
        for (status, kind, retry, sent) in [
            (401, ErrorKind::Unauthorized, Retry::Never, Sent::No),
            (403, ErrorKind::Forbidden, Retry::Never, Sent::No),
            (429, ErrorKind::RateLimited, Retry::After(UNSAID_WAIT), Sent::No),
            (503, ErrorKind::Unavailable, Retry::Soon, Sent::Maybe),
        ] {
            let error = explain(status_error(status, "h:1", None));
            assert_eq!(
                (error.kind(), error.retry(), error.sent()),
                (kind, retry, sent),
                "{status}"
            );
        }
        let wait = Duration::from_secs(40);
        assert_eq!(explain(status_error(429, "h:1", Some(wait))).retry(), Retry::After(wait));
    }
}
