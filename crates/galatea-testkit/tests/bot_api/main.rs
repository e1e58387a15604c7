//! The Bot API server's own rules, proven with plain HTTP requests.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod chats;
mod edits;
mod faults;
mod files;
mod identity;
mod load;
mod sends;
mod updates;
mod webhooks;

use galatea_testkit::telegram::Handle;
use serde_json::{Value, json};

thread_local! {
    /// One per test, as each test has its own thread and runtime. It loads no certificates: the
    /// loopback needs none.
    static CLIENT: reqwest::Client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
}

/// The test's client.
pub(crate) fn client() -> reqwest::Client {
    CLIENT.with(Clone::clone)
}

/// Calls a method with a JSON body and returns status and body.
pub(crate) async fn call(api: &Handle, method: &str, params: Value) -> (u16, Value) {
    let url = format!("{}/bot{}/{method}", api.url(), api.token());
    let response = client().post(url).json(&params).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// A call that must succeed; its result.
pub(crate) async fn ok(api: &Handle, method: &str, params: Value) -> Value {
    let (status, body) = call(api, method, params).await;
    assert_eq!((status, &body["ok"]), (200, &json!(true)), "{method}: {body}");
    body["result"].clone()
}

/// A call that must fail; status and description, which must agree with `error_code`.
pub(crate) async fn fails(api: &Handle, method: &str, params: Value) -> (u16, String) {
    let (status, body) = call(api, method, params).await;
    assert_eq!(
        (&body["ok"], &body["error_code"]),
        (&json!(false), &json!(status)),
        "{method}: {body}"
    );
    (status, body["description"].as_str().unwrap().to_owned())
}

/// Same, for a request a correct client must not send: it must be recorded as a violation; it is
/// allowed here.
pub(crate) async fn violates(api: &Handle, method: &str, params: Value) -> (u16, String) {
    let before = api.violations().len();
    let answer = fails(api, method, params).await;
    assert!(api.violations().len() > before, "{method}: {answer:?} is no violation");
    api.allow_violation("");
    answer
}

/// Text of the answer to `fails`, for refusals that are no violation.
pub(crate) async fn refused(api: &Handle, method: &str, params: Value) -> String {
    let before = api.violations();
    let (_, text) = fails(api, method, params).await;
    assert_eq!(api.violations(), before, "{text}");
    text
}

pub(crate) async fn updates(api: &Handle, params: Value) -> Vec<Value> {
    ok(api, "getUpdates", params).await.as_array().unwrap().clone()
}
