//! Converts failures of the X API into [`galatea_core::Error`], with kind, retry advice and a
//! message for people. An error never contains a key, the path of an address, or the text of a
//! post.

use galatea_core::{Error, ErrorKind, Reach, Retry, Sent};
use galatea_http::{json, shorten, status_error};
use serde_json::Value;
use std::time::Duration;

/// Stable codes that `galatea explain` knows.
pub(crate) mod codes {
    pub(crate) const TOKEN: &str = "GAL-X-TOKEN";
    pub(crate) const LOGIN: &str = "GAL-X-LOGIN";
    pub(crate) const UNAUTHORIZED: &str = "GAL-X-401";
    pub(crate) const CREDITS: &str = "GAL-X-402";
    pub(crate) const FORBIDDEN: &str = "GAL-X-403";
    pub(crate) const PERMISSION: &str = "GAL-X-403-PERM";
    pub(crate) const ENROLL: &str = "GAL-X-403-ENROLL";
    pub(crate) const NOT_FOUND: &str = "GAL-X-404";
    pub(crate) const INVALID: &str = "GAL-X-400";
    pub(crate) const SLOW: &str = "GAL-X-429";
    pub(crate) const DUPLICATE: &str = "GAL-X-DUPLICATE";
    pub(crate) const SIMILAR: &str = "GAL-X-SIMILAR";
    pub(crate) const NOT_SUMMONED: &str = "GAL-X-NOT-SUMMONED";
    pub(crate) const TARGET: &str = "GAL-X-TARGET";
    pub(crate) const TIER: &str = "GAL-X-TIER";
    pub(crate) const MEDIA: &str = "GAL-X-MEDIA";
    pub(crate) const BUDGET: &str = "GAL-X-BUDGET";
    pub(crate) const DRY_RUN: &str = "GAL-X-DRY-RUN";
    pub(crate) const CONNECT: &str = "GAL-X-CONNECT";
    pub(crate) const TIMEOUT: &str = "GAL-X-TIMEOUT";
    pub(crate) const GARBAGE: &str = "GAL-X-GARBAGE";
}

/// The call that posts.
pub(crate) const POST: &str = "POST /2/tweets";
/// Pause after X reports that the credits are used up.
pub(crate) const CREDITS_WAIT: Duration = Duration::from_secs(15 * 60);
/// Fix shown for faults on X's side.
const PASSES: &str =
    "it is tried again by itself; if it stays, check TWITTER_API_ROOT and the proxy variables";
/// Pause after a 429 that does not say how long to wait: one window (X API, rate limits).
const WINDOW: Duration = Duration::from_secs(15 * 60);

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// X refused the call.
    Refused(Box<Problem>),
    /// No complete answer arrived, or the call was not made because of a latched refusal, a rate
    /// limit or a missing login.
    Transport(Error),
    /// The answer does not have the X API's form.
    Garbage {
        /// HTTP status.
        status: u16,
        /// Host that answered.
        place: String,
    },
}

/// A refusal in the API's form (X API v2, "Response codes and errors"; RFC 7807).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Problem {
    /// HTTP status.
    pub(crate) status: u16,
    /// Short name.
    pub(crate) title: String,
    /// X's explanation.
    pub(crate) detail: String,
    /// URI that identifies the kind of problem.
    pub(crate) kind: String,
    /// Machine-readable reason, such as `client-not-enrolled`.
    pub(crate) reason: String,
    /// Time until the limit is lifted.
    pub(crate) reset: Option<Duration>,
    /// How far this machine's clock is off, in seconds, when the answer carries a `date`.
    pub(crate) skew: Option<i64>,
}

impl Problem {
    /// Reads the body of a refusal; `None` if it does not have the API's form.
    pub(crate) fn read(status: u16, body: &[u8]) -> Option<Self> {
        let body: Value = json::read(body).ok()?;
        let errors = body.get("errors").and_then(Value::as_array).and_then(|list| list.first());
        let text = |name: &str| {
            body.get(name)
                .or_else(|| errors?.get(name))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let detail = [text("detail"), text("message"), text("error_description")]
            .into_iter()
            .find(|t| !t.is_empty())
            .unwrap_or_default();
        let (title, kind) = (
            [text("title"), text("error")].into_iter().find(|t| !t.is_empty()).unwrap_or_default(),
            text("type"),
        );
        (!title.is_empty() || !detail.is_empty()).then(|| Self {
            status,
            title,
            detail,
            kind,
            reason: text("reason"),
            reset: None,
            skew: None,
        })
    }

    fn says(&self, words: &str) -> bool {
        format!("{} {} {} {}", self.title, self.detail, self.kind, self.reason)
            .to_ascii_lowercase()
            .contains(words)
    }

    /// X refused the post because the same text was posted recently.
    pub(crate) fn is_duplicate(&self) -> bool {
        self.status == 403 && self.says("duplicate content")
    }
}

impl Failure {
    /// The refusal if its status is below 500; such a call had no effect.
    pub(crate) fn refusal(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) if problem.status < 500 => Some(problem),
            _ => None,
        }
    }

    /// Converts to the workspace's error. `call` is the API's name of the call.
    pub(crate) fn into_error(self, call: &'static str) -> Error {
        let error = self.described(call);
        // X keeps a rate limit window per kind of call (X API, "Rate limits"): a limit on reads or
        // uploads must not pause posts.
        if error.code() == Some(codes::SLOW) && call != POST {
            error.with_reach(Reach::Room)
        } else {
            error
        }
    }

    fn described(self, call: &'static str) -> Error {
        match self {
            Self::Refused(problem) => {
                let words =
                    if problem.detail.is_empty() { &problem.title } else { &problem.detail };
                refused(&problem).with(
                    "cause",
                    format!("{call} answered {} {}", problem.status, shorten(words, 200))
                        .trim_end(),
                )
            }
            Self::Transport(error) => transport(error, call),
            Self::Garbage { status, place } => garbage(status, &place)
                .with("cause", format!("{call} at {place} answered {status} and something else")),
        }
    }
}

fn refused(problem: &Problem) -> Error {
    match problem.status {
        401 => unauthorized(problem),
        402 => credits(),
        429 if problem.says("usagecap") || problem.says("credits") => credits(),
        429 => slow(problem.reset.unwrap_or(WINDOW)),
        403 => forbidden(problem),
        404 => Error::not_found("this post or account does not exist any more")
            .with_code(codes::NOT_FOUND),
        500.. => Error::new(ErrorKind::Unavailable, "X has a fault")
            .with_code(codes::CONNECT)
            .with_sent(Sent::Maybe)
            .with_fix(PASSES),
        _ => Error::invalid("X found the request invalid").with_code(codes::INVALID),
    }
}

fn unauthorized(problem: &Problem) -> Error {
    let error =
        |message| Error::new(ErrorKind::Unauthorized, message).with_code(codes::UNAUTHORIZED);
    match problem.skew.filter(|skew| skew.abs() > 60) {
        Some(skew) => error(format!("X does not accept the keys: this machine's clock is off by {} s", skew.abs()))
            .with_fix("set this machine's clock: X refuses signatures that are minutes old"),
        None => error("X does not accept the keys: they do not match".to_owned())
            .with_fix("console.x.com → your app → Keys and tokens: generate them again, set all four TWITTER_… variables and start galatea again"),
    }
}

fn credits() -> Error {
    Error::new(ErrorKind::RateLimited, "No credits at X: reading and posting pause")
        .with_code(codes::CREDITS)
        .with_retry(Retry::After(CREDITS_WAIT))
        .with_reach(Reach::Account)
        .with_fix("add credits in console.x.com; it goes on by itself")
}

/// The error for a rate limit that ends after `wait`.
pub(crate) fn slow(wait: Duration) -> Error {
    Error::new(ErrorKind::RateLimited, "X asked to wait")
        .with_code(codes::SLOW)
        .with_retry(Retry::After(wait))
        .with_reach(Reach::Account)
        .with_fix("nothing to do: what is to be read or posted waits until then")
}

/// The error for an access token without write permission.
pub(crate) fn read_only() -> Error {
    Error::new(ErrorKind::Forbidden, "the access token is read-only")
        .with_code(codes::PERMISSION)
        .with_fix("console.x.com → your app → User authentication settings → Read and write; then regenerate access token and secret: tokens keep the permission they were made with")
}

/// X lets an app reply only to those who mentioned or quoted it.
pub(crate) fn not_summoned() -> Error {
    Error::new(ErrorKind::Forbidden, "Not sent: X permits replies only when mentioned")
        .with_code(codes::NOT_SUMMONED)
        .with_fix("nothing to repair: the author has to mention or quote the account first; Enterprise contracts set TWITTER_TIER=enterprise")
}

fn forbidden(problem: &Problem) -> Error {
    if problem.is_duplicate() {
        return Error::new(ErrorKind::Conflict, "X refuses the same words twice")
            .with_code(codes::DUPLICATE);
    }
    if problem.says("client-not-enrolled") || problem.says("client-forbidden") {
        return Error::new(ErrorKind::Forbidden, "the app is not enrolled for this API")
            .with_code(codes::ENROLL)
            .with_fix(
                "console.x.com: move the app to a Pay-per-use project, environment Production",
            );
    }
    if problem.says("oauth1-permissions")
        || problem.says("app permissions")
        || problem.says("oauth2-permissions")
    {
        return read_only();
    }
    if problem.says("have not been mentioned") || problem.says("not summoned") {
        return not_summoned();
    }
    // X occasionally answers correctly signed calls with this.
    if problem.says("unsupported-authentication") {
        return Error::new(ErrorKind::Unavailable, "X did not recognise the signature")
            .with_code(codes::FORBIDDEN)
            .with_fix(PASSES);
    }
    Error::new(ErrorKind::Forbidden, "X does not allow this").with_code(codes::FORBIDDEN)
}

fn transport(error: Error, call: &str) -> Error {
    let (code, message) = match error.kind() {
        _ if error.code().is_some_and(|code| code.starts_with("GAL-X-")) => return error,
        ErrorKind::Timeout => (codes::TIMEOUT, "X did not answer in time"),
        ErrorKind::Unavailable => (codes::CONNECT, "X cannot be reached"),
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
        .with_fix("check the network, the proxy variables and TWITTER_API_ROOT")
        .with_source(error)
}

fn garbage(status: u16, place: &str) -> Error {
    const FIX: &str = "check TWITTER_API_ROOT: it must be the address of the X API";
    if (200..300).contains(&status) {
        return Error::new(ErrorKind::Unavailable, "the answer is not the X API's")
            .with_code(codes::GARBAGE)
            .with_sent(Sent::Maybe)
            .with_fix(FIX);
    }
    if status >= 500 || matches!(status, 408 | 429) {
        return status_error(status, place, None).with_code(codes::CONNECT).with_fix(PASSES);
    }
    // The answer is not X's, whatever the status: it comes from a proxy, a login page or a
    // firewall. Each of these can go away, so the call may be retried.
    Error::new(ErrorKind::Unavailable, "something in front of X refused the call")
        .with_code(codes::GARBAGE)
        .with_sent(Sent::No)
        .with_fix(FIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(status: u16, body: Value) -> Error {
        Failure::Refused(Box::new(Problem::read(status, body.to_string().as_bytes()).unwrap()))
            .into_error("POST /2/tweets")
    }

    #[test]
    fn refusals_have_code_kind_and_advice() {
        let about = |title: &str, detail: &str| json!({"title": title, "detail": detail, "type": "about:blank"});
        let cases = [
            (
                401,
                about("Unauthorized", "Unauthorized"),
                codes::UNAUTHORIZED,
                ErrorKind::Unauthorized,
                Retry::Never,
            ),
            (
                402,
                about("CreditsDepleted", "no credits"),
                codes::CREDITS,
                ErrorKind::RateLimited,
                Retry::After(CREDITS_WAIT),
            ),
            (
                429,
                about("UsageCapExceeded", "monthly"),
                codes::CREDITS,
                ErrorKind::RateLimited,
                Retry::After(CREDITS_WAIT),
            ),
            (
                429,
                about("Too Many Requests", "Too Many Requests"),
                codes::SLOW,
                ErrorKind::RateLimited,
                Retry::After(WINDOW),
            ),
            (
                403,
                about("Forbidden", "You are not allowed to create a Tweet with duplicate content."),
                codes::DUPLICATE,
                ErrorKind::Conflict,
                Retry::Never,
            ),
            (
                403,
                json!({"title": "Client Forbidden", "reason": "client-not-enrolled"}),
                codes::ENROLL,
                ErrorKind::Forbidden,
                Retry::Never,
            ),
            (
                403,
                json!({"title": "Forbidden", "type": "https://api.twitter.com/2/problems/oauth1-permissions"}),
                codes::PERMISSION,
                ErrorKind::Forbidden,
                Retry::Never,
            ),
            (
                403,
                about(
                    "Forbidden",
                    "you have not been mentioned or otherwise engaged by the author",
                ),
                codes::NOT_SUMMONED,
                ErrorKind::Forbidden,
                Retry::Never,
            ),
            (
                403,
                about("Forbidden", "blocked"),
                codes::FORBIDDEN,
                ErrorKind::Forbidden,
                Retry::Never,
            ),
            (
                404,
                about("Not Found Error", "gone"),
                codes::NOT_FOUND,
                ErrorKind::NotFound,
                Retry::Never,
            ),
            (
                400,
                json!({"errors": [{"message": "bad"}], "title": "Invalid Request"}),
                codes::INVALID,
                ErrorKind::Invalid,
                Retry::Never,
            ),
            (
                503,
                about("Service Unavailable", "over capacity"),
                codes::CONNECT,
                ErrorKind::Unavailable,
                Retry::Soon,
            ),
        ];
        for (status, body, code, kind, retry) in cases {
            let error = error(status, body.clone());
            assert_eq!(
                (error.code(), error.kind(), error.retry()),
                (Some(code), kind, retry),
                "{body}"
            );
            assert_eq!(error.sent(), if status >= 500 { Sent::Maybe } else { Sent::No }, "{body}");
        }
    }

    #[test]
    fn a_wrong_clock_is_told() {
        let problem = Problem {
            status: 401,
            title: "Unauthorized".into(),
            skew: Some(-400),
            ..Problem::default()
        };
        let error = Failure::Refused(Box::new(problem)).into_error("x");
        assert!(
            error.to_string().contains("off by 400 s") && error.fix().unwrap().contains("clock")
        );
    }

    #[test]
    fn answers_of_something_else_are_told_apart() {
        let page = Failure::Garbage { status: 200, place: "h:1".into() }.into_error("x");
        assert_eq!(
            (page.code(), page.retry(), page.sent()),
            (Some(codes::GARBAGE), Retry::Soon, Sent::Maybe)
        );
        let proxy = Failure::Garbage { status: 502, place: "h:1".into() }.into_error("x");
        assert_eq!(
            (proxy.code(), proxy.retry(), proxy.sent()),
            (Some(codes::CONNECT), Retry::Soon, Sent::Maybe)
        );
        for status in [302, 401, 403, 404, 407] {
            let wall = Failure::Garbage { status, place: "h:1".into() }.into_error("x");
            assert_eq!(
                (wall.code(), wall.kind(), wall.retry(), wall.sent()),
                (Some(codes::GARBAGE), ErrorKind::Unavailable, Retry::Soon, Sent::No)
            );
        }
        assert!(Problem::read(502, b"<html>").is_none() && Problem::read(200, b"[]").is_none());
    }

    #[test]
    fn transport_failures_keep_what_they_say_about_the_effect() {
        let lost = Error::new(ErrorKind::Unavailable, "broke").with_sent(Sent::Maybe);
        assert_eq!(Failure::Transport(lost).into_error("x").sent(), Sent::Maybe);
        let ours = || Failure::Transport(slow(Duration::from_secs(3)));
        assert_eq!(
            (ours().into_error("x").code(), ours().into_error("x").reach()),
            (Some(codes::SLOW), Reach::Room)
        );
        assert_eq!(ours().into_error(POST).reach(), Reach::Account);
    }
}
