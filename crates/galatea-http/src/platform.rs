//! Errors that every platform's connector makes in the same way: no answer, and an answer of
//! something else than the platform.

use galatea_core::{Error, ErrorKind, Sent};

use crate::error::status_error;

/// Name of a platform in its errors. A connector has one constant of this type.
#[derive(Debug, Clone, Copy)]
pub struct Platform {
    /// Name for people: `Telegram`.
    pub name: &'static str,
    /// Its interface, for people: `the Telegram Bot API`.
    pub api: &'static str,
    /// The setting with the address of the interface, such as `TELEGRAM_API_ROOT`.
    pub root: &'static str,
    /// Code for a platform that cannot be reached or has a fault.
    pub connect: &'static str,
    /// Code for a platform that does not answer in time.
    pub timeout: &'static str,
    /// Code for an answer of something else.
    pub garbage: &'static str,
}

impl Platform {
    /// The error for a call without a complete answer. `error` is the HTTP client's; what it says
    /// about the effect and about a retry stays. `call` is the platform's name of the call.
    pub fn unanswered(&self, error: Error, call: &str) -> Error {
        let (code, message) = match error.kind() {
            ErrorKind::Timeout => (self.timeout, format!("{} did not answer in time", self.name)),
            ErrorKind::Unavailable => (self.connect, format!("{} cannot be reached", self.name)),
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
            .with_fix(format!("check the network, the proxy variables and {}", self.root))
            .with_source(error)
    }

    /// The error for a fault on the platform's side. The call may have taken effect.
    pub fn fault(&self) -> Error {
        Error::new(ErrorKind::Unavailable, format!("{} has a fault", self.name))
            .with_code(self.connect)
            .with_sent(Sent::Maybe)
            .with_fix(self.passes())
    }

    /// The error for an answer without the platform's form. It comes from a proxy, a login page or
    /// a firewall at `place`. Each of these can go away, so the call may be retried, whatever the
    /// status. Below 500 the call did not pass it, except after a success or a timeout.
    pub fn garbage(&self, status: u16, place: &str, call: &str) -> Error {
        let error = match status {
            408 | 429 => {
                status_error(status, place, None).with_code(self.connect).with_fix(self.passes())
            }
            500.. => {
                let message = format!("{}, or something on the way to it, has a fault", self.name);
                Error::new(ErrorKind::Unavailable, message)
                    .with_code(self.connect)
                    .with_sent(Sent::Maybe)
                    .with_fix(self.passes())
            }
            _ => {
                let sent = if (200..300).contains(&status) { Sent::Maybe } else { Sent::No };
                Error::new(ErrorKind::Unavailable, format!("the answer is not {}'s", self.api))
                    .with_code(self.garbage)
                    .with_sent(sent)
                    .with_fix(format!(
                        "check {}: it must be the address of {}",
                        self.root, self.api
                    ))
            }
        };
        error.with("cause", format!("{call} at {place} answered {status} and something else"))
    }

    fn passes(&self) -> String {
        format!(
            "it is tried again by itself; if it stays, check {} and the proxy variables",
            self.root
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Retry;

    const PARROT: Platform = Platform {
        name: "Parrot",
        api: "the Parrot API",
        root: "PARROT_API_ROOT",
        connect: "GAL-PARROT-CONNECT",
        timeout: "GAL-PARROT-TIMEOUT",
        garbage: "GAL-PARROT-GARBAGE",
    };

    #[test]
    fn an_answer_of_something_else_may_be_retried_whatever_its_status() {
        let cases = [
            (200, PARROT.garbage, ErrorKind::Unavailable, Sent::Maybe),
            (302, PARROT.garbage, ErrorKind::Unavailable, Sent::No),
            (401, PARROT.garbage, ErrorKind::Unavailable, Sent::No),
            (403, PARROT.garbage, ErrorKind::Unavailable, Sent::No),
            (404, PARROT.garbage, ErrorKind::Unavailable, Sent::No),
            (407, PARROT.garbage, ErrorKind::Unavailable, Sent::No),
            (408, PARROT.connect, ErrorKind::Timeout, Sent::Maybe),
            (429, PARROT.connect, ErrorKind::RateLimited, Sent::No),
            (502, PARROT.connect, ErrorKind::Unavailable, Sent::Maybe),
        ];
        for (status, code, kind, sent) in cases {
            let error = PARROT.garbage(status, "h:1", "speak");
            assert_eq!(
                (error.code(), error.kind(), error.retry(), error.sent()),
                (Some(code), kind, Retry::Soon, sent),
                "{status}"
            );
            assert!(error.fix().unwrap().contains(PARROT.root), "{status}");
            assert!(error.report().contains("speak at h:1 answered"), "{status}");
        }
    }

    #[test]
    fn what_the_client_says_about_effect_and_retry_stays() {
        let lost = Error::new(ErrorKind::Unavailable, "the connection broke")
            .with_sent(Sent::Maybe)
            .with("host", "h:1");
        let error = PARROT.unanswered(lost, "speak");
        assert_eq!((error.code(), error.sent()), (Some(PARROT.connect), Sent::Maybe));
        let report = error.report();
        assert!(report.contains("h:1") && report.contains("speak: the connection broke"));
        let late = Error::new(ErrorKind::Timeout, "no answer").with_sent(Sent::No);
        let error = PARROT.unanswered(late, "speak");
        assert_eq!((error.code(), error.sent()), (Some(PARROT.timeout), Sent::No));
        let other = PARROT.unanswered(Error::invalid("too long").with_code("GAL-X"), "speak");
        assert_eq!((other.code(), other.message()), (Some("GAL-X"), "too long"));
    }
}
