//! Test cases for failures of every provider's models.

use std::time::Duration;

use galatea_core::{Error, ErrorKind, Retry, model::TextRequest};
use galatea_testkit::models::{Dialect, Fault};

use crate::{
    ask::{ask, clean, request},
    pairs::Pair,
};

/// Short limits, for a server that never continues.
const SHORT: [(&str, &str); 2] =
    [("MODEL_FIRST_TOKEN_TIMEOUT", "0.3"), ("MODEL_IDLE_TIMEOUT", "0.3")];

impl<D: Dialect> Pair<D> {
    /// Lets every attempt of a call fail with one fault and returns the last error. Short limits
    /// apply only if the server goes silent.
    pub(crate) async fn fails(&self, fault: &Fault, stream: bool) -> Error {
        let silent = matches!(fault, Fault::Hang | Fault::StallAfter(_));
        let limits = if silent { &SHORT[..] } else { &[] };
        for _ in 0..3 {
            self.server.enqueue(fault.clone());
        }
        let before = self.server.count();
        let error = match ask(&self.fresh(limits).large, &request(stream)).await.0 {
            Err(error) => error,
            Ok(answer) => panic!("{fault:?}: {answer:?}"),
        };
        clean(&error);
        let used = self.server.count() - before;
        assert!((1..=3).contains(&used), "{fault:?}: {used}");
        // Use up the remaining faults, so that they do not affect the next case.
        for _ in used..3 {
            let _ = ask(&self.fresh(limits).small, &TextRequest::prompt(None, "drain")).await;
        }
        error
    }

    pub(crate) async fn faults(&self) {
        let wait = Fault::RateLimited(Some("90"));
        let table: [(Fault, &str, ErrorKind, bool); 14] = [
            (Fault::BadKey, "GAL-MODEL-401", ErrorKind::Unauthorized, false),
            (Fault::NoMoney, "GAL-MODEL-QUOTA", ErrorKind::Forbidden, false),
            (Fault::UnknownModel, "GAL-MODEL-404", ErrorKind::NotFound, false),
            (Fault::TooLong, "GAL-MODEL-413", ErrorKind::TooLong, false),
            (Fault::TooBig, "GAL-MODEL-413", ErrorKind::TooLong, false),
            (Fault::NoTools, "GAL-MODEL-TOOLS", ErrorKind::Unsupported, false),
            (wait, "GAL-MODEL-429", ErrorKind::RateLimited, true),
            (Fault::Overloaded, "GAL-MODEL-5XX", ErrorKind::Unavailable, true),
            (Fault::Internal, "GAL-MODEL-5XX", ErrorKind::Unavailable, true),
            (Fault::ServerTimeout, "GAL-MODEL-TIMEOUT", ErrorKind::Timeout, true),
            (
                Fault::Status { status: 409, retry_after: None, body: "{}" },
                "GAL-MODEL-409",
                ErrorKind::Conflict,
                true,
            ),
            (
                Fault::Status {
                    status: 400,
                    retry_after: None,
                    body: "{\"error\":{\"message\":\"bad\"}}",
                },
                "GAL-MODEL-400",
                ErrorKind::Invalid,
                false,
            ),
            (Fault::Html, "GAL-MODEL-GARBAGE", ErrorKind::Unexpected, false),
            (Fault::Empty, "GAL-MODEL-EMPTY", ErrorKind::Unexpected, false),
        ];
        for (fault, code, kind, again) in table {
            for stream in [false, true] {
                let error = self.fails(&fault, stream).await;
                assert_eq!(
                    (error.code(), error.kind(), error.retry() != Retry::Never),
                    (Some(code), kind, again),
                    "{fault:?} {stream}: {}",
                    error.report()
                );
            }
        }
        let error = self.fails(&Fault::RateLimited(Some("90")), false).await;
        assert_eq!(
            error.retry(),
            Retry::After(Duration::from_secs(90)),
            "the wait exceeds the deadline, so the error is returned"
        );
        for (fault, stream) in [
            (Fault::Garbage, false),
            (Fault::OtherShape, false),
            (Fault::Garbage, true),
            (Fault::OtherShape, true),
        ] {
            assert_eq!(
                self.fails(&fault, stream).await.code(),
                Some("GAL-MODEL-GARBAGE"),
                "{fault:?} {stream}"
            );
        }
        for (fault, stream, code) in [
            (Fault::CutAfter(40), false, "GAL-MODEL-CUT"),
            (Fault::CutAfter(0), true, "GAL-MODEL-CUT"),
            (Fault::Hang, true, "GAL-MODEL-TIMEOUT"),
            (Fault::StallAfter(10), true, "GAL-MODEL-TIMEOUT"),
            (Fault::Endless, false, "GAL-MODEL-GARBAGE"),
        ] {
            assert_eq!(self.fails(&fault, stream).await.code(), Some(code), "{fault:?} {stream}");
        }
        for fault in [Fault::CutAfter(300), Fault::ErrorInStream] {
            let error = self.fails(&fault, true).await;
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{fault:?}: {}", error.report());
        }
        self.server.assert_clean();
    }
}
