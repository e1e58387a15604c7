//! Latched refusals: errors that every further call would meet again. No call is made until the
//! owner has acted or the pause has ended.

use galatea_core::{Error, ErrorKind, Retry, Timestamp};

use crate::error::codes;

/// Codes that latch: keys, login, enrolment and permission until the configuration changes, credits
/// for a limited time.
const STANDING: [&str; 5] =
    [codes::UNAUTHORIZED, codes::LOGIN, codes::ENROLL, codes::PERMISSION, codes::CREDITS];

/// A latched refusal.
#[derive(Debug, Clone)]
pub(crate) struct Latch {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    fix: Option<String>,
    /// The error's context: its cause and the origin of the setting.
    context: Vec<(&'static str, String)>,
    until: Option<Timestamp>,
}

impl Latch {
    /// The latch for an error; `None` if its code does not latch.
    pub(crate) fn of(error: &Error, now: Timestamp) -> Option<Self> {
        let code = error.code().filter(|code| STANDING.contains(code))?;
        let until = match error.retry() {
            Retry::After(wait) => Some(now.plus(wait)),
            _ => None,
        };
        Some(Self {
            kind: error.kind(),
            code,
            message: error.message().to_owned(),
            fix: error.fix().map(str::to_owned),
            context: error.context().to_vec(),
            until,
        })
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// True if its pause has ended.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// The error that a call returns while this is latched.
    pub(crate) fn error(&self, now: Timestamp) -> Error {
        let retry = self.until.map_or(Retry::Never, |until| Retry::After(until.since(now)));
        let mut error =
            Error::new(self.kind, self.message.clone()).with_code(self.code).with_retry(retry);
        for (key, value) in &self.context {
            error = error.with(key, value);
        }
        match &self.fix {
            Some(fix) => error.with_fix(fix.clone()),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn keys_stand_and_credits_end() {
        let keys = Latch::of(
            &Error::new(ErrorKind::Unauthorized, "no")
                .with_code(codes::UNAUTHORIZED)
                .with_fix("new ones"),
            Timestamp(0),
        )
        .unwrap();
        assert!(!keys.is_over(Timestamp(i64::MAX)));
        let error = keys.error(Timestamp(0));
        assert_eq!(
            (error.kind(), error.retry(), error.fix()),
            (ErrorKind::Unauthorized, Retry::Never, Some("new ones"))
        );
        let error = Error::new(ErrorKind::RateLimited, "none")
            .with_code(codes::CREDITS)
            .with_retry(Retry::After(Duration::from_secs(9)));
        let credits = Latch::of(&error, Timestamp(1_000)).unwrap();
        assert_eq!(credits.error(Timestamp(4_000)).retry(), Retry::After(Duration::from_secs(6)));
        assert!(credits.is_over(Timestamp(10_000)));
        assert!(Latch::of(&Error::invalid("x").with_code(codes::INVALID), Timestamp(0)).is_none());
    }
}
