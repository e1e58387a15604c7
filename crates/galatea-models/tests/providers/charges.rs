//! What the error of an answer that cannot be used says about its price: the provider charges for
//! it.

use galatea_core::{Sent, model::Spent};
use galatea_testkit::models::{Fault, Reply};
use serde_json::json;

use crate::{
    ask::{ask, request},
    pairs::anthropic,
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
