//! Why an action failed, as the chat may read it.

use galatea_core::{
    Error, ErrorKind,
    model::{LIMIT_CODE, WITHHELD_CODE},
};

/// The reason in words without hosts, settings and codes: the model may repeat it to anyone. The log
/// and `explain` have the whole error. An action's own sentence about what it was asked has no code.
pub(super) fn reason(error: &Error) -> String {
    let own = matches!(
        error.kind(),
        ErrorKind::Invalid
            | ErrorKind::NotFound
            | ErrorKind::Forbidden
            | ErrorKind::Conflict
            | ErrorKind::Unsupported
            | ErrorKind::TooLong
    );
    let words = match (error.code(), error.kind()) {
        (None, _) if own => error.message(),
        (Some(WITHHELD_CODE), _) => "the service's filter refused it",
        (Some(LIMIT_CODE), _) => "a limit on what may be spent is reached for now",
        (_, ErrorKind::TooLong) => "it is too long for the service",
        (_, ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Timeout) => {
            "the service does not answer just now"
        }
        _ => "it did not work, for a reason that the owner finds in the log",
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_neither_hosts_nor_settings() {
        let of = |kind, code: Option<&'static str>| {
            let error = Error::new(kind, "the model server rejected OPENAI_API_KEY")
                .with("host", "127.0.0.1:36025");
            reason(&code.into_iter().fold(error, Error::with_code))
        };
        for (kind, code, words) in [
            (ErrorKind::Unauthorized, Some("GAL-MODEL-401"), "owner"),
            (ErrorKind::Invalid, Some("GAL-MODEL-400"), "owner"),
            (ErrorKind::Unexpected, None, "owner"),
            (ErrorKind::Unavailable, Some("GAL-MODEL-CONNECT"), "just now"),
            (ErrorKind::TooLong, Some("GAL-MODEL-413"), "too long"),
            (ErrorKind::Invalid, Some(WITHHELD_CODE), "filter"),
            (ErrorKind::Invalid, Some(LIMIT_CODE), "limit"),
        ] {
            let said = of(kind, code);
            assert!(said.contains(words), "{kind:?} {code:?}: {said}");
            assert!(!said.contains("OPENAI") && !said.contains("127.0.0.1"), "{said}");
        }
        let own = Error::invalid("it is not said when").with("host", "127.0.0.1");
        assert_eq!(reason(&own), "it is not said when");
    }
}
