//! The loopback Bot API server notices broken rules and does its faults, called with plain HTTP
//! requests.

mod faults;
mod rules;

use galatea_testkit::telegram::Handle;
use serde_json::{Value, json};

thread_local! {
    /// A client per test, because each test has its own thread and runtime. It loads no
    /// certificates, which the loopback does not need.
    static CLIENT: reqwest::Client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
}

pub(crate) fn client() -> reqwest::Client {
    CLIENT.with(Clone::clone)
}

/// Calls a method with a JSON body; returns status and body.
pub(crate) async fn call(api: &Handle, method: &str, params: Value) -> (u16, Value) {
    let url = format!("{}/bot{}/{method}", api.url(), api.token());
    let response = client().post(url).json(&params).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// Makes a call that must succeed; returns its result.
pub(crate) async fn ok(api: &Handle, method: &str, params: Value) -> Value {
    let (status, body) = call(api, method, params).await;
    assert_eq!((status, &body["ok"]), (200, &json!(true)), "{method}: {body}");
    body["result"].clone()
}

/// Makes a call that must fail; returns status and description, and checks that `error_code`
/// agrees.
pub(crate) async fn fails(api: &Handle, method: &str, params: Value) -> (u16, String) {
    let (status, body) = call(api, method, params).await;
    assert_eq!(
        (&body["ok"], &body["error_code"]),
        (&json!(false), &json!(status)),
        "{method}: {body}"
    );
    (status, body["description"].as_str().unwrap().to_owned())
}

/// As `fails`, for a request that a correct client must not send. Checks that it is recorded as a
/// violation, and allows it.
pub(crate) async fn violates(api: &Handle, method: &str, params: Value) -> (u16, String) {
    let before = api.violations().len();
    let answer = fails(api, method, params).await;
    assert!(api.violations().len() > before, "{method}: {answer:?} is not a violation");
    api.allow_violation("");
    answer
}

pub(crate) async fn updates(api: &Handle, params: Value) -> Vec<Value> {
    ok(api, "getUpdates", params).await.as_array().unwrap().clone()
}
