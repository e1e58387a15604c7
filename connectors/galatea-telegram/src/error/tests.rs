//! Tests of the errors: kind, code, retry advice and effect.

use super::*;
use galatea_core::Sent;

fn refusal(code: u16, description: &str) -> Error {
    Failure::Refused(Refusal { code, description: description.into(), ..Refusal::default() })
        .into_error("sendMessage")
}

#[test]
fn refusals_have_code_kind_and_advice() {
    let cases = [
        (401, "Unauthorized", codes::UNAUTHORIZED, ErrorKind::Unauthorized, Retry::Never),
        (404, "Not Found", codes::UNAUTHORIZED, ErrorKind::Unauthorized, Retry::Never),
        (
            403,
            "Forbidden: bot was blocked by the user",
            codes::FORBIDDEN,
            ErrorKind::Forbidden,
            Retry::Never,
        ),
        (400, "Bad Request: chat not found", codes::NOT_FOUND, ErrorKind::NotFound, Retry::Never),
        (
            400,
            "Bad Request: not enough rights to send text messages to the chat",
            codes::FORBIDDEN,
            ErrorKind::Forbidden,
            Retry::Never,
        ),
        (
            400,
            "Bad Request: message text is empty",
            codes::INVALID,
            ErrorKind::Invalid,
            Retry::Never,
        ),
        (
            409,
            "Conflict: terminated by other getUpdates request",
            codes::CONFLICT,
            ErrorKind::Conflict,
            Retry::After(CONFLICT_WAIT),
        ),
        (
            409,
            "Conflict: can't use getUpdates method while webhook is active",
            codes::WEBHOOK,
            ErrorKind::Conflict,
            Retry::Never,
        ),
        (500, "Internal Server Error", codes::CONNECT, ErrorKind::Unavailable, Retry::Soon),
    ];
    for (status, words, code, kind, retry) in cases {
        let error = refusal(status, words);
        assert_eq!(
            (error.code(), error.kind(), error.retry()),
            (Some(code), kind, retry),
            "{words}"
        );
        assert!(!error.to_string().contains("expected digits"), "{words}: its shape was right");
        assert_eq!(error.sent(), if status >= 500 { Sent::Maybe } else { Sent::No }, "{words}");
    }
}

#[test]
fn what_people_paste_in_place_of_a_token_is_named() {
    for (pasted, named) in [
        ("sk-proj-canaryCANARYcanary", "OpenAI"),
        ("sk-ant-api03-canaryCANARYcanary", "Anthropic"),
        ("MTE4MjAwMDAwMDAwMDAwMDAw.GcanAr.canaryCANARYcanaryCANARYcanaryCANARYcanary", "Discord"),
        ("bot123456789:AAcanaryCANARYcanaryCANARYcanaryCAN", "word bot"),
        ("Bot 123456789:AAcanaryCANARYcanaryCANARYcanaryCAN", "word bot"),
        ("“123456789:AAcanaryCANARYcanaryCANARYcanaryCAN”", "quotes"),
        ("123456789: AAcanaryCANARY", "spaces"),
        ("123456789", "a number only"),
        ("AAcanaryCANARY", "no colon"),
        ("123456789:AA/canary", "no token has"),
    ] {
        let error = token_shape(pasted);
        assert!(error.to_string().contains(named), "{pasted}: {error}");
        assert!(!format!("{error:?}").to_lowercase().contains("canary"), "{pasted}");
    }
}

#[test]
fn flood_waits_carry_telegrams_time() {
    let error = Failure::Refused(Refusal {
        code: 429,
        description: "Too Many Requests: retry after 17".into(),
        retry_after: Some(17),
        migrate_to: None,
    });
    let error = error.into_error("sendMessage");
    assert_eq!(
        (error.kind(), error.retry(), error.sent()),
        (ErrorKind::RateLimited, Retry::After(Duration::from_secs(17)), Sent::No)
    );
    assert_eq!(error.reach(), Reach::World, "a flood wait binds every topic of the chat");
}

#[test]
fn answers_of_something_else_are_distinguished() {
    let page = Failure::Garbage { status: 200, place: "h:1".into() }.into_error("getMe");
    assert_eq!(
        (page.code(), page.retry(), page.sent()),
        (Some(codes::GARBAGE), Retry::Soon, Sent::Maybe)
    );
    let proxy = Failure::Garbage { status: 502, place: "h:1".into() }.into_error("getMe");
    assert_eq!(
        (proxy.code(), proxy.retry(), proxy.sent()),
        (Some(codes::CONNECT), Retry::Soon, Sent::Maybe)
    );
}

#[test]
fn transport_failures_keep_what_they_say_about_the_effect() {
    let lost = Error::new(ErrorKind::Unavailable, "broke").with_sent(Sent::Maybe);
    assert_eq!(Failure::Transport(lost).into_error("x").sent(), Sent::Maybe);
    let refused = Error::new(ErrorKind::Unavailable, "nothing listens").with_sent(Sent::No);
    let error = Failure::Transport(refused).into_error("x");
    assert_eq!((error.sent(), error.code()), (Sent::No, Some(codes::CONNECT)));
}

/// A Bot API server, or a proxy before it, may echo the path of the call.
#[test]
fn an_echoed_token_is_in_no_error() {
    let token = format!("{}:AA{}", 123_456_789, "h7".repeat(17));
    for (code, method) in [
        (400, "sendMessage"),
        (403, "sendMessage"),
        (404, "getMe"),
        (409, "getUpdates"),
        (502, "x"),
    ] {
        let description = format!("Not Found: /bot{token}/{method} on this server");
        let refusal = Refusal { code, description, ..Refusal::default() };
        let error = Failure::Refused(refusal).into_error(method);
        for text in [error.to_string(), error.brief(), error.report(), format!("{error:?}")] {
            assert!(!text.contains(&token[12..]), "{text}");
            assert!(text.contains(&format!("/bot[secret]/{method}")), "{text}");
        }
    }
}
