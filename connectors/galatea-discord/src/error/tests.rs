//! Tests of the errors: kind, code, retry advice and effect.

use super::*;

fn refusal(status: u16, code: u32) -> Error {
    Failure::Refused(Refusal { status, code, ..Refusal::default() }).into_error("create message")
}

#[test]
fn refusals_have_code_kind_and_advice() {
    let cases = [
        (401, 0, codes::UNAUTHORIZED, ErrorKind::Unauthorized),
        (403, 50001, codes::ACCESS, ErrorKind::Forbidden),
        (403, 50013, codes::PERMISSION, ErrorKind::Forbidden),
        (403, 50007, codes::CLOSED, ErrorKind::Forbidden),
        (403, 0, codes::FORBIDDEN, ErrorKind::Forbidden),
        (404, 10003, codes::NOT_FOUND, ErrorKind::NotFound),
        (404, 10008, codes::NOT_FOUND, ErrorKind::NotFound),
        (404, 10062, codes::NOT_FOUND, ErrorKind::NotFound),
        (400, 50035, codes::INVALID, ErrorKind::Invalid),
        (413, 40005, codes::INVALID, ErrorKind::Invalid),
    ];
    for (status, number, code, kind) in cases {
        let error = refusal(status, number);
        assert_eq!(
            (error.code(), error.kind(), error.retry(), error.sent()),
            (Some(code), kind, Retry::Never, Sent::No),
            "{status} {number}"
        );
    }
    let fault = refusal(502, 0);
    assert_eq!(
        (fault.code(), fault.retry(), fault.sent()),
        (Some(codes::CONNECT), Retry::Soon, Sent::Maybe)
    );
}

#[test]
fn a_rate_limit_carries_discords_time() {
    let refusal = Refusal {
        status: 429,
        retry_after: Some(Duration::from_millis(1_337)),
        ..Refusal::default()
    };
    let error = Failure::Refused(refusal).into_error("create message");
    assert_eq!(
        (error.kind(), error.retry(), error.sent()),
        (ErrorKind::RateLimited, Retry::After(Duration::from_millis(1_387)), Sent::No)
    );
}

#[test]
fn close_codes_that_need_a_person_are_final() {
    for code in [4004, 4010, 4011, 4012, 4013, 4014] {
        let error = fatal_close(code).unwrap();
        assert!(error.retry() == Retry::Never && error.fix().is_some(), "{code}");
    }
    for code in [1000, 1006, 4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009] {
        assert!(fatal_close(code).is_none(), "{code}");
    }
    assert_eq!(fatal_close(4014).unwrap().code(), Some("GAL-DC-4014"));
}

#[test]
fn answers_of_something_else_are_distinguished() {
    let page = Failure::Garbage { status: 200, place: "h".into() }.into_error("x");
    assert_eq!(
        (page.code(), page.retry(), page.sent()),
        (Some(codes::GARBAGE), Retry::Soon, Sent::Maybe)
    );
    let proxy = Failure::Garbage { status: 502, place: "h".into() }.into_error("x");
    assert_eq!(
        (proxy.code(), proxy.retry(), proxy.sent()),
        (Some(codes::CONNECT), Retry::Soon, Sent::Maybe)
    );
}
