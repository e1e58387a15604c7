//! The one error of the workspace: what kind, whether to try again, where, and why.

pub(crate) mod finding;
pub(crate) mod usage;

use std::{borrow::Cow, fmt, time::Duration};

use crate::{
    error::usage::Spent,
    redact::{masked_string, masked_text},
};

/// Result whose error is [`Error`] unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Kind of a failure, in terms every layer understands. Layers, outbox and HTTP answers branch on
/// this, never on a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The input breaks a rule; sending it again cannot help.
    Invalid,
    /// More than the other side takes at once, such as a prompt beyond a model's window: less of
    /// the same may pass.
    TooLong,
    /// The thing asked for does not exist (any more).
    NotFound,
    /// Credentials are missing or refused.
    Unauthorized,
    /// Credentials are fine, the right is missing.
    Forbidden,
    /// The other side asked us to slow down.
    RateLimited,
    /// The other side is down or unreachable.
    Unavailable,
    /// A resource of this machine is used up, such as open files or ports. The other side was not
    /// asked, so this says nothing about it.
    Exhausted,
    /// No answer within the time allowed; the work may have been done.
    Timeout,
    /// This platform, model or build cannot do it.
    Unsupported,
    /// Another process or person holds it, or it exists already.
    Conflict,
    /// A fault of ours or an undocumented answer.
    Unexpected,
}

/// Retry advice carried by the error, so that the one retrying layer needs no knowledge of
/// platforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Trying again gives the same failure.
    Never,
    /// Try again with backoff.
    Soon,
    /// Try again, not before this long from now (a server's Retry-After).
    After(Duration),
}

/// A failure: kind, retry advice, a sentence for people, context pairs, an optional stable code
/// and the source.
///
/// `Display` prints the sentence and the context, never the source: what a chat user reads must not
/// contain it. Whatever has the shape of a secret is masked when it is added
/// ([`crate::redact::mask_shapes`]), because another system may have echoed it.
///
/// ```
/// use galatea_core::{Error, ErrorKind, Retry, Sent};
/// use std::time::Duration;
///
/// let error = Error::new(ErrorKind::RateLimited, "the platform asks to wait")
///     .with("method", "sendMessage")
///     .with_retry(Retry::After(Duration::from_secs(3)))
///     .with_sent(Sent::No)
///     .with_fix("nothing: it is sent again by itself");
/// assert_eq!(error.to_string(), "the platform asks to wait (method=sendMessage)");
/// assert_eq!(error.retry(), Retry::After(Duration::from_secs(3)));
/// ```
#[derive(Debug)]
pub struct Error(Box<ErrorParts>);

#[derive(Debug)]
struct ErrorParts {
    kind: ErrorKind,
    retry: Retry,
    message: Cow<'static, str>,
    code: Option<&'static str>,
    fix: Option<Cow<'static, str>>,
    context: Vec<(&'static str, String)>,
    sent: Sent,
    reach: Reach,
    spent: Option<Spent>,
    overlong: Option<Overlong>,
    source: Option<Source>,
}

/// The numbers of a refusal for length, in tokens as the other side counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlong {
    /// The most that it takes, prompt and answer together where it counts both.
    pub most: Option<u64>,
    /// The text was too long for it.
    pub asked: Option<u64>,
}

/// Possible effect of the request on the other side when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sent {
    /// Provably not: refused, or it never left.
    #[default]
    No,
    /// Bytes may have left and no answer came: only a read-back can tell.
    Maybe,
}

/// Calls of an account that have to wait after a platform's rate limit. Each reach binds calls of
/// the refused call's priority and of lower ones ([`crate::Priority`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Calls to the Room of the refused call.
    #[default]
    Room,
    /// Calls to every Room in the World of the refused call, such as all topics of a Telegram chat.
    /// For platforms that count the messages of a World together. Forgotten by a restart, after
    /// which the platform refuses one more call.
    World,
    /// Every call of the account. Outlives a restart.
    Account,
}

impl Error {
    /// A failure with the usual retry advice of its kind: `RateLimited`, `Unavailable`, `Exhausted`
    /// and `Timeout` soon, others never.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        let retry = match kind {
            ErrorKind::RateLimited
            | ErrorKind::Unavailable
            | ErrorKind::Exhausted
            | ErrorKind::Timeout => Retry::Soon,
            _ => Retry::Never,
        };
        let sent = if kind == ErrorKind::Timeout { Sent::Maybe } else { Sent::No };
        Self(Box::new(ErrorParts {
            kind,
            retry,
            message: masked_text(message.into()),
            code: None,
            fix: None,
            context: Vec::new(),
            sent,
            reach: Reach::Room,
            spent: None,
            overlong: None,
            source: None,
        }))
    }

    /// [`ErrorKind::Invalid`]: the input is at fault, and a retry would fail too.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// [`ErrorKind::NotFound`]; the message names what was looked for.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// [`ErrorKind::Unexpected`]: a fault in this program, or an answer that no case covers.
    pub fn unexpected(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unexpected, message)
    }

    /// Replaces the retry advice.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// Adds a stable code such as `GAL-TG-409` that `galatea explain` knows.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Adds the one next action that repairs it.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<Cow<'static, str>>) -> Self {
        self.0.fix = Some(masked_text(fix.into()));
        self
    }

    /// Adds a context pair, printed after the sentence. Never put secrets or message text here.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((key, masked_string(value.to_string())));
        self
    }

    /// States whether the request may have taken effect.
    #[must_use]
    pub fn with_sent(mut self, sent: Sent) -> Self {
        self.0.sent = sent;
        self
    }

    /// States that the rate limit binds more than the Room of the call.
    #[must_use]
    pub fn with_reach(mut self, reach: Reach) -> Self {
        self.0.reach = reach;
        self
    }

    /// States the tokens that a failed model call used.
    #[must_use]
    pub fn with_spent(mut self, spent: Spent) -> Self {
        self.0.spent = Some(spent);
        self
    }

    /// States the numbers of a refusal for length.
    #[must_use]
    pub fn with_overlong(mut self, overlong: Overlong) -> Self {
        self.0.overlong = Some(overlong);
        self
    }

    /// The numbers of a refusal for length; `None` if it names none.
    pub fn overlong(&self) -> Option<Overlong> {
        self.0.overlong
    }

    /// The tokens that a failed model call used; `None` if the provider counted none.
    pub fn spent(&self) -> Option<Spent> {
        self.0.spent
    }

    /// Calls that the rate limit binds; read only from `RateLimited` errors.
    pub fn reach(&self) -> Reach {
        self.0.reach
    }

    /// Attaches the underlying failure (for logs only).
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Kind that callers branch on; never the platform or the text.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Advice about another attempt.
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// The sentence without context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The stable code, if this failure has one.
    pub fn code(&self) -> Option<&'static str> {
        self.0.code
    }

    /// The next action, if one is known.
    pub fn fix(&self) -> Option<&str> {
        self.0.fix.as_deref()
    }

    /// Possible effect of the request on the other side.
    pub fn sent(&self) -> Sent {
        self.0.sent
    }

    /// Context pairs in the order they were added.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// The sentence and what was seen, in a few words, for lists of failures.
    pub fn brief(&self) -> String {
        let cause = self.0.context.iter().find(|(key, _)| *key == "cause");
        cause.map_or_else(
            || self.0.message.to_string(),
            |(_, cause)| format!("{}: {cause}", self.0.message),
        )
    }

    /// A copy of this failure for a further caller that it affects; without its source.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let ErrorParts {
            kind,
            retry,
            message,
            code,
            fix,
            context,
            sent,
            reach,
            spent,
            overlong,
            ..
        } = &*self.0;
        let (message, fix, context) = (message.clone(), fix.clone(), context.clone());
        Self(Box::new(ErrorParts {
            kind: *kind,
            retry: *retry,
            message,
            code: *code,
            fix,
            context,
            sent: *sent,
            reach: *reach,
            spent: *spent,
            overlong: *overlong,
            source: None,
        }))
    }

    /// The sentence, the context and every source, for a log line.
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(source) = next {
            text.push_str(": ");
            text.push_str(&source.to_string());
            next = source.source();
        }
        masked_string(text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        for (i, (key, value)) in self.0.context.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { " (" } else { ", " })?;
        }
        if !self.0.context.is_empty() {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|s| s as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_has_context_but_not_the_source() {
        let error =
            Error::invalid("bad room").with("room", 7).with_source("https://host/botSECRET/x");
        assert_eq!(error.to_string(), "bad room (room=7)");
        assert!(error.report().contains("botSECRET"));
    }

    #[test]
    fn what_another_system_echoes_is_masked_in_every_part() {
        let token = format!("{}:AA{}", 123_456_789, "x9".repeat(17));
        let echo = format!("no method /bot{token}/x");
        let error = Error::invalid(echo.clone())
            .with("cause", &echo)
            .with_fix(echo.clone())
            .with_source(echo.clone());
        let texts = [
            error.to_string(),
            error.brief(),
            error.report(),
            error.fix().unwrap().to_owned(),
            error.duplicate().report(),
        ];
        for text in texts {
            assert!(!text.contains(&token) && text.contains("/bot[secret]/x"), "{text}");
        }
    }

    #[test]
    fn kinds_carry_their_usual_advice() {
        assert_eq!(Error::invalid("x").retry(), Retry::Never);
        assert_eq!(Error::new(ErrorKind::Timeout, "x").retry(), Retry::Soon);
        assert_eq!(Error::new(ErrorKind::Timeout, "x").sent(), Sent::Maybe);
    }
}
