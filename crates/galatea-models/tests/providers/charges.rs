//! What the error of an answer that cannot be used says about its price: the provider charges for
//! it.

use galatea_core::{Sent, model::Spent};
use galatea_testkit::models::{Fault, Reply};
use serde_json::json;

use crate::{
    ask::{ask, request},
    pairs::{anthropic, openai},
};

#[tokio::test]
async fn an_answer_of_thoughts_only_has_used_what_the_provider_counted() {
    let pair = anthropic().await;
    let body = json!({ "id": "x", "type": "message", "role": "assistant", "content": [{ "type": "thinking", "thinking": "hm" }],
        "stop_reason": "max_tokens", "usage": { "input_tokens": 20, "cache_read_input_tokens": 80, "output_tokens": 8_192 } });
    pair.server.answer_with(move |_| Reply::Json(body.clone()));
    let error = ask(&pair.models.large, &request(false)).await.0.unwrap_err();
    assert_eq!((error.code(), error.sent()), (Some("GAL-MODEL-EMPTY"), Sent::Maybe));
    let Some(Spent { usage, whole: true }) = error.spent() else { panic!("{error:?}") };
    assert_eq!((usage.input, usage.cached, usage.output), (100, 80, 8_192));
    let fix = error.fix().unwrap();
    assert!(fix.contains("TEXT_LARGE_MAX_TOKENS"), "a setting that exists: {fix}");
}

#[tokio::test]
async fn a_stream_that_breaks_has_used_what_was_read_so_far() {
    for (fault, code) in
        [(Fault::CutAfter(900), "GAL-MODEL-CUT"), (Fault::ErrorInStream, "GAL-MODEL-5XX")]
    {
        let pair = anthropic().await;
        pair.server.enqueue(fault);
        let error = ask(&pair.models.large, &request(true)).await.0.unwrap_err();
        assert_eq!((error.code(), error.sent()), (Some(code), Sent::Maybe));
        let Some(Spent { usage, whole: false }) = error.spent() else { panic!("{error:?}") };
        assert!(usage.input > 0 && usage.output > 0, "{usage:?}");
    }
}

#[tokio::test]
async fn what_a_gateway_cut_may_have_been_answered_behind_it() {
    for status in [502, 504, 520, 524] {
        let pair = anthropic().await;
        let fault = Fault::Status { status, retry_after: None, body: "<html>gateway</html>" };
        let error = pair.fails(&fault, true).await;
        assert_eq!((error.code(), error.sent()), (Some("GAL-MODEL-5XX"), Sent::Maybe), "{status}");
    }
}

#[tokio::test]
async fn an_error_beside_half_an_answer_has_used_what_the_provider_counted() {
    let pair = openai().await;
    let body = json!({ "choices": [{ "message": { "content": "half" }, "finish_reason": "error", "error": { "code": 500, "message": "x" } }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 40 } });
    pair.server.answer_with(move |_| Reply::Json(body.clone()));
    let error = ask(&pair.models.large, &request(false)).await.0.unwrap_err();
    assert_eq!((error.code(), error.sent()), (Some("GAL-MODEL-5XX"), Sent::Maybe));
    let Some(Spent { usage, whole: true }) = error.spent() else { panic!("{error:?}") };
    assert_eq!((usage.input, usage.output), (100, 40));
}

#[tokio::test]
async fn what_provably_used_nothing_says_so() {
    for fault in [
        Fault::BadKey,
        Fault::RateLimited(Some("90")),
        Fault::NoMoney,
        Fault::Overloaded,
        Fault::Internal,
        Fault::TooLong,
        Fault::Html,
    ] {
        let pair = anthropic().await;
        let error = pair.fails(&fault, true).await;
        assert_eq!((error.sent(), error.spent()), (Sent::No, None), "{fault:?}");
    }
}
