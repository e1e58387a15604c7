//! Converts failures of the X API into [`galatea_core::Error`], with kind, retry advice and a
//! message for people. An error never contains a key, the path of an address, or the text of a
//! post.

mod pages;
mod problem;
#[cfg(test)]
mod tests;

use galatea_core::{Error, ErrorKind, Reach, Retry};
use galatea_http::{Platform, shorten};
use std::time::Duration;

pub(crate) use pages::PAGES;
pub(crate) use problem::Problem;

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
/// How these errors name the platform.
const X: Platform = Platform {
    name: "X",
    api: "the X API",
    root: "TWITTER_API_ROOT",
    connect: codes::CONNECT,
    timeout: codes::TIMEOUT,
    garbage: codes::GARBAGE,
};
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
            // The connector's own refusals, such as an exhausted budget, need no translation.
            Self::Transport(error) if error.code().is_some_and(|c| c.starts_with("GAL-X-")) => {
                error
            }
            Self::Transport(error) => X.unanswered(error, call),
            Self::Garbage { status, place } => X.garbage(status, &place, call),
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
        500.. => X.fault(),
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
        .with_fix("add credits in console.x.com; the connector then continues")
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
            .with_fix("it is tried again by itself; if it stays, check the keys and the clock of this machine");
    }
    Error::new(ErrorKind::Forbidden, "X does not allow this").with_code(codes::FORBIDDEN)
}
