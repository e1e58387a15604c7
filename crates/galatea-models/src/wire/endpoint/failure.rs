//! Failures of a service as errors for people.

use std::time::Duration;

use galatea_core::{
    Error, ErrorKind, Overlong, Retry, Sent,
    model::{Finish, Spent, Usage},
};
use galatea_http::{codes as http, redact, shorten};

use super::Endpoint;
use crate::wire::{
    Auth, Fail, Names, codes,
    refusal::{Hint, Refusal},
};

/// Most characters of a service's words in an error's cause.
const MOST_WORDS: usize = 200;

/// Meaning of a status by itself.
fn hint_of_status(status: u16) -> Option<Hint> {
    match status {
        401 => Some(Hint::BadKey),
        402 => Some(Hint::NoMoney),
        413 => Some(Hint::TooLong(Overlong::default())),
        429 => Some(Hint::RateLimited),
        300..=399 => Some(Hint::WrongPath),
        500..=599 => Some(Hint::Busy),
        _ => None,
    }
}

/// Statuses of a gateway that passed the request on and got no usable answer in time: 502 and 504 (RFC
/// 9110 §15.6), and Cloudflare's 520 and 524. The service behind it may have written an answer, which
/// it bills. What a service ends with a fault of its own (500) or refuses while it is overloaded (503,
/// 529) it does not bill (Gemini API, "Billing", of failed requests), so this is a refusal.
const CUT_BY_GATEWAY: [u16; 4] = [502, 504, 520, 524];

/// Says that the provider may charge for a failed answer, by its own count; a service that counts
/// nothing says zero.
fn charged(error: Error, usage: Usage) -> Error {
    let error = error.with_sent(Sent::Maybe);
    if usage.input.max(usage.output) > 0 {
        error.with_spent(Spent { usage, whole: true })
    } else {
        error
    }
}

/// Meaning of a refusal. A 404 to a call that names no model, such as that for the list of models,
/// is about the address, whatever its words.
fn meaning(status: u16, refusal: &Refusal, model: &str) -> Option<Hint> {
    let hint = refusal.hint.or_else(|| hint_of_status(status))?;
    let names_no_model = hint == Hint::UnknownModel && status == 404 && model.is_empty();
    Some(if names_no_model { Hint::WrongPath } else { hint })
}

/// The fix of an answer that its limit cut off before the first word.
const CUT_BEFORE_WORDS: &str = "raise TEXT_LARGE_MAX_TOKENS (TEXT_SMALL_MAX_TOKENS for the small model): the answer was cut before its first visible word";

/// True if an answer was empty because its limit cut it off before the first word.
pub(crate) fn was_cut_before_words(error: &Error) -> bool {
    error.code() == Some(codes::EMPTY) && error.fix() == Some(CUT_BEFORE_WORDS)
}

impl Endpoint {
    /// The error for a failed connection, described in terms of this service.
    pub(crate) fn transport(&self, error: Error) -> Error {
        // This machine lacks a resource; the service was not called.
        if error.kind() == ErrorKind::Exhausted {
            return error;
        }
        let (label, url) = (self.names.label, self.names.url);
        let (code, message, fix) = match error.code() {
            Some(http::REFUSED) => (
                codes::CONNECT,
                format!("nothing listens at {}", self.place),
                Some(format!("start the model server there, or correct {url}")),
            ),
            Some(http::DNS | http::CONNECT) => (
                codes::CONNECT,
                format!("{label} cannot be reached at {}", self.place),
                Some(format!("check the network and proxy, or correct {url}")),
            ),
            Some(http::TIMEOUT) => {
                (codes::TIMEOUT, format!("{label} gave no answer in time"), None)
            }
            Some(http::BROKEN) => (
                codes::CUT,
                format!("the connection to {label} broke before the answer was complete"),
                None,
            ),
            Some(http::TOO_BIG | http::JSON) => (
                codes::GARBAGE,
                format!("{label} answered with something that is not a model answer"),
                Some(format!("check {url}")),
            ),
            _ => (
                codes::URL,
                format!("{label} cannot be called with these settings"),
                Some(format!("check {url} and {}", self.key)),
            ),
        };
        // An answer that cannot be used was made all the same.
        let sent = if code == codes::GARBAGE { Sent::Maybe } else { error.sent() };
        let failure = Error::new(error.kind(), message)
            .with_code(code)
            .with_retry(error.retry())
            .with_sent(sent);
        let failure = failure
            .with("cause", format!("the call to {}: {}", self.place, error.message()))
            .with("host", &self.place);
        let failure = match &self.origins.url {
            Some(place) => failure.with("where", place),
            None => failure,
        };
        let failure = match fix {
            Some(fix) => failure.with_fix(fix),
            None => failure,
        };
        failure.with_source(error)
    }

    /// The error for a refusal by the service, with a fix in terms of its settings.
    pub(crate) fn refused(
        &self,
        status: u16,
        wait: Option<Duration>,
        refusal: &Refusal,
        model: &str,
    ) -> Error {
        let wait = wait.max(refusal.wait_ms.map(Duration::from_millis));
        let retry = wait.map_or(Retry::Soon, Retry::After);
        let hint = meaning(status, refusal, model);
        let error = match hint {
            Some(hint) => self.refused_with_hint(hint, retry, model),
            None => self.refused_with_status(status, retry),
        };
        let error = if hint == Some(Hint::Busy) && CUT_BY_GATEWAY.contains(&status) {
            error.with_sent(Sent::Maybe)
        } else {
            error
        };
        let mut cause = format!("HTTP {status}");
        if let Some(code) = &refusal.code {
            cause.push(' ');
            cause.push_str(code);
        }
        // Words that only the service can say belong to what people read. Its other words may
        // repeat what was sent, and stay in the log.
        if matches!(hint, None | Some(Hint::TooLong(_) | Hint::Withheld))
            && !refusal.message.is_empty()
        {
            cause.push_str(": ");
            cause.push_str(&shorten(&refusal.message, MOST_WORDS));
        }
        let error = error.with("cause", self.clean(&cause)).with("host", &self.place);
        let error = match hint.and_then(|hint| self.setting_at_fault(hint, model)) {
            Some(place) => error.with("where", place),
            None => error,
        };
        // A message about a refused key may contain parts of the key, which redaction does not
        // find.
        if refusal.message.is_empty() || matches!(hint, Some(Hint::BadKey)) {
            error
        } else {
            error.with_source(self.clean(&refusal.message))
        }
    }

    /// The error for a refusal whose reason is known.
    fn refused_with_hint(&self, hint: Hint, retry: Retry, model: &str) -> Error {
        let Names { label, url, .. } = self.names;
        let key = self.key.as_ref();
        match hint {
            Hint::BadKey => Error::new(ErrorKind::Unauthorized, format!("{label} rejected {key}"))
                .with_code(codes::KEY)
                .with_fix(format!("put a valid key of {label} into {key}")),
            Hint::NoMoney => Error::new(
                ErrorKind::Forbidden,
                format!("the account at {label} has no money left"),
            )
            .with_code(codes::QUOTA)
            .with_fix(format!("add credit or raise the spending limit at {label}")),
            Hint::UnknownModel => self.unknown_model(model),
            Hint::TooLong(overlong) => Error::new(
                ErrorKind::TooLong,
                format!("the conversation is too long for {model}"),
            )
            .with_code(codes::TOO_LONG)
            .with_overlong(overlong)
            .with_fix(
                "shorten the character or the history, or choose a model with a longer context",
            ),
            Hint::NoTools => {
                Error::new(ErrorKind::Unsupported, format!("{model} at {label} has no tool calls"))
                    .with_code(codes::TOOLS)
                    .with_fix("set MODEL_TOOLS=false, or choose a model with tools")
            }
            Hint::Withheld => Error::invalid(format!("a filter of {label} refused the request"))
                .with_code(codes::WITHHELD)
                .with_fix("say it in other words, or take another model"),
            Hint::RateLimited => {
                Error::new(ErrorKind::RateLimited, format!("{label} asked to slow down"))
                    .with_code(codes::RATE)
                    .with_retry(retry)
            }
            Hint::Busy => {
                Error::new(ErrorKind::Unavailable, format!("{label} has a fault or is overloaded"))
                    .with_code(codes::FAULT)
                    .with_retry(retry)
            }
            Hint::WrongPath => {
                Error::not_found(format!("there is no such interface at {}", self.place))
                    .with_code(codes::URL)
                    .with_fix(format!("correct {url}; it usually ends in the version, such as /v1"))
            }
        }
    }

    fn unknown_model(&self, model: &str) -> Error {
        let Names { label, provider, .. } = self.names;
        if provider == "ollama" {
            return Error::not_found(format!("Ollama has not pulled the model {model}"))
                .with_code(codes::UNKNOWN)
                .with_fix(format!("ollama pull {model}"));
        }
        let fix = match self.origin_of(model) {
            Some((variable, _)) => format!("set {variable} to a model that {label} offers"),
            None => format!(
                "set {0}_SMALL_MODEL and {0}_LARGE_MODEL to models that {label} offers",
                provider.to_uppercase()
            ),
        };
        Error::not_found(format!("{label} has no model {model} for this key"))
            .with_code(codes::UNKNOWN)
            .with_fix(fix)
    }

    /// The error for a refusal of which only the status is known.
    fn refused_with_status(&self, status: u16, retry: Retry) -> Error {
        let label = self.names.label;
        let key = self.key.as_ref();
        match status {
            403 => Error::new(ErrorKind::Forbidden, format!("{label} refuses this to {key}"))
                .with_code(codes::FORBIDDEN)
                .with_fix(format!("check what the key in {key} may do")),
            408 => Error::new(ErrorKind::Timeout, format!("{label} gave up on the request"))
                .with_code(codes::TIMEOUT)
                .with_retry(retry),
            409 => Error::new(
                ErrorKind::Conflict,
                format!("{label} is busy with a conflicting request"),
            )
            .with_code(codes::CONFLICT)
            .with_retry(retry),
            _ => Error::invalid(format!("{label} found the request invalid"))
                .with_code(codes::INVALID),
        }
    }

    /// Place of the setting that a refusal is about.
    fn setting_at_fault(&self, hint: Hint, model: &str) -> Option<String> {
        match hint {
            Hint::BadKey | Hint::NoMoney => {
                let origin = self.origins.key.as_ref()?;
                Some(format!("{} from {origin}", self.key))
            }
            Hint::UnknownModel => self.origin_of(model).map(|(_, place)| place.to_owned()),
            Hint::WrongPath => self.origins.url.clone(),
            Hint::TooLong(_) | Hint::NoTools | Hint::Withheld | Hint::RateLimited | Hint::Busy => {
                None
            }
        }
    }

    /// The variable that names a model, and its origin.
    fn origin_of(&self, model: &str) -> Option<(&'static str, &str)> {
        self.origins
            .models
            .iter()
            .find(|(name, ..)| name == model)
            .map(|(_, variable, place)| (*variable, place.as_str()))
    }

    /// The error for an answer that could not be decoded.
    pub(crate) fn fail(&self, fail: Fail, model: &str) -> Error {
        match fail {
            Fail::Garbage(expected) => {
                self.garbage().with("expected", expected).with_sent(Sent::Maybe)
            }
            Fail::Refused(status, refusal) => self.refused(status, None, &refusal, model),
            Fail::Broken(status, refusal, usage) => {
                charged(self.refused(status, None, &refusal, model), usage)
            }
        }
    }

    /// The error for a web page in place of an answer. No model was asked.
    pub(crate) fn web_page(&self) -> Error {
        self.garbage().with("cause", format!("{} answered with a web page", self.place))
    }

    fn garbage(&self) -> Error {
        let error = Error::unexpected(format!(
            "{} answered with something that is not a model answer",
            self.names.label
        ))
        .with_code(codes::GARBAGE)
        .with("host", &self.place)
        .with_fix(format!("check {}", self.names.url));
        match &self.origins.url {
            Some(place) => error.with("where", place),
            None => error,
        }
    }

    /// The error for an empty answer. The provider charges for it like for any other.
    pub(crate) fn empty(&self, model: &str, finish: Finish, usage: Usage) -> Error {
        let error =
            Error::unexpected(format!("{model} at {} answered with nothing", self.names.label))
                .with_code(codes::EMPTY)
                .with("host", &self.place);
        let error = charged(error, usage);
        if finish == Finish::Length { error.with_fix(CUT_BEFORE_WORDS) } else { error }
    }

    /// The error for a stream that ended before the answer was complete.
    pub(crate) fn cut(&self) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("the connection to {} broke before the answer was complete", self.names.label),
        )
        .with_code(codes::CUT)
        .with_sent(Sent::Maybe)
        .with("host", &self.place)
    }

    /// The error for a timeout of the first piece or of a later one.
    pub(crate) fn silent(&self, first: bool, after: Duration) -> Error {
        let what =
            if first { "gave no answer in time" } else { "stopped in the middle of its answer" };
        Error::new(ErrorKind::Timeout, format!("{} {what}", self.names.label))
            .with_code(codes::TIMEOUT)
            .with("host", &self.place)
            .with("seconds", after.as_secs_f32())
    }

    pub(super) fn clean(&self, text: &str) -> String {
        match &self.auth {
            Auth::None => redact(text, &[]),
            Auth::Bearer(key) | Auth::Header(_, key) => redact(text, &[key]),
        }
    }
}
