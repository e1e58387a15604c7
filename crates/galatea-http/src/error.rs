//! Converts failures of the HTTP library and HTTP statuses into [`galatea_core::Error`].

use std::{error::Error as StdError, io, time::Duration};

use galatea_core::{Error, ErrorKind, Retry, Sent};

use crate::redact::redact;

/// Stable codes of the errors made here.
pub mod codes {
    /// No server listens at the address.
    pub const REFUSED: &str = "GAL-HTTP-REFUSED";
    /// The host's name has no address.
    pub const DNS: &str = "GAL-HTTP-DNS";
    /// No connection for another reason, such as a TLS failure.
    pub const CONNECT: &str = "GAL-HTTP-CONNECT";
    /// This machine has no more open files, ports or memory for a connection.
    pub const LOCAL: &str = "GAL-LOCAL-LIMIT";
    /// No answer in time.
    pub const TIMEOUT: &str = "GAL-HTTP-TIMEOUT";
    /// The connection broke after the request was sent.
    pub const BROKEN: &str = "GAL-HTTP-BROKEN";
    /// The answer is longer than allowed.
    pub const TOO_BIG: &str = "GAL-HTTP-TOO-BIG";
    /// The answer is not the JSON expected.
    pub const JSON: &str = "GAL-HTTP-JSON";
    /// The address is unusable.
    pub const URL: &str = "GAL-HTTP-URL";
    /// The address lies inside our network.
    pub const SSRF: &str = "GAL-HTTP-SSRF";
    /// The other side answered with an error status.
    pub const STATUS: &str = "GAL-HTTP-STATUS";
    /// The client could not be set up.
    pub const SETUP: &str = "GAL-HTTP-SETUP";
}

/// Converts a failure of the HTTP library, without its URL.
pub(crate) fn transport(error: reqwest::Error, place: &str) -> Error {
    let error = error.without_url();
    let source = chain(&error);
    if error.is_builder() {
        return Error::invalid("the request could not be built")
            .with_code(codes::URL)
            .with("host", place)
            .with_source(source);
    }
    let made = if error.is_connect() {
        if is_local(&error) {
            return exhausted().with("host", place).with_source(source);
        }
        if io_kind(&error) == Some(io::ErrorKind::ConnectionRefused) {
            Error::new(ErrorKind::Unavailable, "nothing listens at this address")
                .with_code(codes::REFUSED)
        } else if error.is_dns() {
            Error::new(ErrorKind::Unavailable, "this host name has no address")
                .with_code(codes::DNS)
        } else if error.is_timeout() {
            Error::new(ErrorKind::Unavailable, "no connection within the time allowed")
                .with_code(codes::CONNECT)
        } else {
            Error::new(ErrorKind::Unavailable, "no connection could be made")
                .with_code(codes::CONNECT)
        }
        .with_sent(Sent::No)
    } else if error.is_timeout() {
        Error::new(ErrorKind::Timeout, "no answer within the time allowed")
            .with_code(codes::TIMEOUT)
    } else {
        Error::new(ErrorKind::Unavailable, "the connection broke before the answer was complete")
            .with_code(codes::BROKEN)
            .with_sent(Sent::Maybe)
    };
    made.with("host", place).with_source(source)
}

/// The error for a connection that this machine has no resources for.
pub fn exhausted() -> Error {
    Error::new(ErrorKind::Exhausted, "this machine has no more open files, ports or memory for a connection")
        .with_code(codes::LOCAL)
        .with_fix("raise the limit of open files (`ulimit -n`, LimitNOFILE= of the unit), or look at what else uses them; it is tried again meanwhile")
}

/// True if a failure means that this machine lacks a resource: open files of the process or of the
/// system, ports, buffers, memory.
pub fn is_local(error: &(dyn StdError + 'static)) -> bool {
    // ENOMEM, ENFILE and EMFILE of every Unix; EADDRNOTAVAIL and ENOBUFS, which differ.
    const WANTS: [i32; 5] =
        if cfg!(target_os = "linux") { [12, 23, 24, 99, 105] } else { [12, 23, 24, 49, 55] };
    let mut next = Some(error);
    while let Some(error) = next {
        let Some(failure) = error.downcast_ref::<io::Error>() else {
            next = error.source();
            continue;
        };
        if let Some(number) = failure.raw_os_error() {
            return WANTS.contains(&number);
        }
        // `source` of an `io::Error` skips the error that it wraps.
        next = failure.get_ref().map(|wrapped| wrapped as &(dyn StdError + 'static));
    }
    false
}

/// The error for a timeout of this client. The request may have been sent.
pub(crate) fn timed_out(what: &'static str, place: &str, after: Duration) -> Error {
    Error::new(ErrorKind::Timeout, what)
        .with_code(codes::TIMEOUT)
        .with("host", place)
        .with("seconds", after.as_secs_f32())
}

/// The error for an HTTP status (RFC 9110 §15; 529 is Anthropic's "overloaded").
///
/// A 4xx is a refusal, so the request had no effect. After a 5xx or 408 the outcome is unknown,
/// since a proxy may have answered for a server that did the work.
pub fn status_error(status: u16, place: &str, retry_after: Option<Duration>) -> Error {
    let (kind, message, sent) = match status {
        401 => (ErrorKind::Unauthorized, "the credentials were refused", Sent::No),
        402 | 403 | 451 => (ErrorKind::Forbidden, "the other side refused this", Sent::No),
        404 | 410 => (ErrorKind::NotFound, "the other side does not know this", Sent::No),
        405 | 501 => (ErrorKind::Unsupported, "the other side cannot do this", Sent::No),
        408 => (ErrorKind::Timeout, "the other side gave up waiting for the request", Sent::Maybe),
        409 => {
            (ErrorKind::Conflict, "the other side is in a state that conflicts with this", Sent::No)
        }
        425 => (ErrorKind::Unavailable, "the other side is not ready yet", Sent::No),
        429 => (ErrorKind::RateLimited, "the other side asked to slow down", Sent::No),
        400..=499 => (ErrorKind::Invalid, "the other side found the request invalid", Sent::No),
        500..=599 => (ErrorKind::Unavailable, "the other side has a fault", Sent::Maybe),
        _ => (ErrorKind::Unexpected, "the other side answered in an undocumented way", Sent::Maybe),
    };
    let error = Error::new(kind, message)
        .with_code(codes::STATUS)
        .with_sent(sent)
        .with("host", place)
        .with("status", status);
    match retry_after {
        Some(after) if error.retry() != Retry::Never => error.with_retry(Retry::After(after)),
        _ => error,
    }
}

/// The messages of an error and its sources, with addresses cut to their host.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let part = error.to_string();
        if !text.ends_with(&part) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&part);
        }
        next = error.source();
    }
    redact(&text, &[])
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_kind_advice_and_effect() {
        let cases = [
            (400, ErrorKind::Invalid, Retry::Never, Sent::No),
            (401, ErrorKind::Unauthorized, Retry::Never, Sent::No),
            (403, ErrorKind::Forbidden, Retry::Never, Sent::No),
            (404, ErrorKind::NotFound, Retry::Never, Sent::No),
            (408, ErrorKind::Timeout, Retry::Soon, Sent::Maybe),
            (409, ErrorKind::Conflict, Retry::Never, Sent::No),
            (413, ErrorKind::Invalid, Retry::Never, Sent::No),
            (429, ErrorKind::RateLimited, Retry::Soon, Sent::No),
            (500, ErrorKind::Unavailable, Retry::Soon, Sent::Maybe),
            (501, ErrorKind::Unsupported, Retry::Never, Sent::No),
            (529, ErrorKind::Unavailable, Retry::Soon, Sent::Maybe),
            (302, ErrorKind::Unexpected, Retry::Never, Sent::Maybe),
        ];
        for (status, kind, retry, sent) in cases {
            let error = status_error(status, "host:1", None);
            assert_eq!(
                (error.kind(), error.retry(), error.sent()),
                (kind, retry, sent),
                "{status}"
            );
        }
    }

    #[test]
    fn faults_of_this_machine_are_distinguished_from_faults_of_the_other_side() {
        let wrapped = |number| io::Error::other(io::Error::from_raw_os_error(number));
        for number in [23, 24, 12] {
            assert!(
                is_local(&io::Error::from_raw_os_error(number)) && is_local(&wrapped(number)),
                "{number}"
            );
        }
        assert!(
            !is_local(&io::Error::from(io::ErrorKind::ConnectionRefused))
                && !is_local(&wrapped(111))
        );
        assert_eq!(
            (exhausted().kind(), exhausted().retry(), exhausted().sent()),
            (ErrorKind::Exhausted, Retry::Soon, Sent::No)
        );
    }

    #[test]
    fn a_servers_wish_is_kept_only_where_trying_again_helps() {
        let wait = Some(Duration::from_secs(7));
        assert_eq!(status_error(503, "h", wait).retry(), Retry::After(Duration::from_secs(7)));
        assert_eq!(status_error(403, "h", wait).retry(), Retry::Never);
    }
}
