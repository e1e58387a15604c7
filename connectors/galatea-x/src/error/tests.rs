//! Tests of the errors: kind, code, retry advice and effect.

use super::*;
use galatea_core::Sent;
use serde_json::{Value, json};

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
            about("Forbidden", "you have not been mentioned or otherwise engaged by the author"),
            codes::NOT_SUMMONED,
            ErrorKind::Forbidden,
            Retry::Never,
        ),
        (403, about("Forbidden", "blocked"), codes::FORBIDDEN, ErrorKind::Forbidden, Retry::Never),
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
fn a_wrong_clock_is_reported() {
    let problem = Problem {
        status: 401,
        title: "Unauthorized".into(),
        skew: Some(-400),
        ..Problem::default()
    };
    let error = Failure::Refused(Box::new(problem)).into_error("x");
    assert!(error.to_string().contains("off by 400 s") && error.fix().unwrap().contains("clock"));
}

#[test]
fn answers_of_something_else_are_distinguished() {
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
