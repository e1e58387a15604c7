//! The loopback X server verifies RFC 7636, notices broken rules and does its faults.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use galatea_testkit::x::{Effect, ErrorBody, Fault, XApi};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

/// A client with the bearer token of its own login.
struct Caller {
    http: Client,
    base: String,
    token: String,
    refresh: String,
}

/// The verifier and challenge of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn page(challenge: &str) -> String {
    format!(
        "https://x.com/i/oauth2/authorize?response_type=code&client_id=testkitClient&redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fcallback\
         &scope=tweet.read%20tweet.write%20users.read%20offline.access&state=s&code_challenge={challenge}&code_challenge_method=S256"
    )
}

async fn token(http: &Client, base: &str, form: &[(&str, &str)]) -> (StatusCode, Value) {
    let response = http.post(format!("{base}/2/oauth2/token")).form(form).send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

fn code(back: &str) -> String {
    back.split("code=").nth(1).unwrap().to_owned()
}

impl Caller {
    async fn logged_in(api: &XApi) -> Self {
        let (http, base) = (Client::new(), api.url().to_owned());
        let code = code(&api.allow(&page(CHALLENGE)));
        let redirect = "http://127.0.0.1:8765/callback";
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", "testkitClient"),
            ("code", &code),
            ("redirect_uri", redirect),
            ("code_verifier", VERIFIER),
        ];
        let (status, body) = token(&http, &base, &form).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(token(&http, &base, &form).await.0, 400, "a code is good once");
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        Self { http, base, token: text("access_token"), refresh: text("refresh_token") }
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        let mut request =
            self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        (
            response.status(),
            serde_json::from_str(&response.text().await.unwrap()).unwrap_or(Value::Null),
        )
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.call(Method::GET, path, Value::Null).await
    }

    async fn post(&self, body: Value) -> (StatusCode, Value) {
        self.call(Method::POST, "/2/tweets", body).await
    }
}

#[tokio::test]
async fn pkce_is_verified_and_refresh_tokens_are_good_once() {
    let api = XApi::start().await;
    let me = Caller::logged_in(&api).await;
    assert_eq!(me.get("/2/users/me").await.1["data"]["username"], "galatea_test");
    let wrong = code(&api.allow(&page(CHALLENGE)));
    let redirect = "http://127.0.0.1:8765/callback";
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", "testkitClient"),
        ("code", &wrong),
        ("redirect_uri", redirect),
        ("code_verifier", "another"),
    ];
    assert_eq!(token(&me.http, &me.base, &form).await.0, 400);
    api.allow_violation("wrong code_verifier");
    let again = [
        ("grant_type", "refresh_token"),
        ("client_id", "testkitClient"),
        ("refresh_token", me.refresh.as_str()),
    ];
    assert_eq!(token(&me.http, &me.base, &again).await.0, 200);
    assert_eq!(me.get("/2/users/me").await.0, 401, "older access tokens end");
    assert_eq!(token(&me.http, &me.base, &again).await.0, 400);
    assert!(api.violations().iter().any(|v| v.contains("used twice")), "{:?}", api.violations());
    api.allow_violation("used twice");
}

#[tokio::test]
async fn what_the_documents_do_not_allow_is_refused_and_noticed() {
    let api = XApi::start().await;
    let me = Caller::logged_in(&api).await;
    let ann = api.user("Ann", "ann_b");
    let apart = ann.posts("to everyone");
    let own = api.account();
    for (n, path) in [
        format!("/2/users/{own}/mentions?max_results=4"),
        format!("/2/users/{own}/mentions?since_id=undefined"),
        format!("/2/users/{own}/mentions?tweet.fields=autor_id"),
        format!("/2/users/{own}/mentions?page=2"),
        "/2/users/1/mentions".to_owned(),
        "/1.1/statuses/update.json".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        assert!(me.get(path).await.0.is_client_error(), "{path}");
        assert_eq!(api.violations().len(), n + 1, "{path}");
    }
    let before = api.violations().len();
    for (n, body) in [
        json!({ "text": "漢".repeat(141) }),
        json!({ "text": "" }),
        json!({ "text": " x" }),
        json!({ "text": "x", "in_reply_to": "1" }),
        json!({ "text": "x", "reply": { "in_reply_to_tweet_id": 5 } }),
        json!({ "text": "x", "media": { "media_ids": ["7"] } }),
        json!({ "text": "x", "reply_settings": "unknown" }),
        json!({ "text": "x", "reply": { "in_reply_to_tweet_id": apart.to_string() } }),
        json!({ "text": "x", "quote_tweet_id": apart.to_string() }),
    ]
    .into_iter()
    .enumerate()
    {
        let shown = body.to_string();
        assert!(me.post(body).await.0.is_client_error(), "{shown}");
        assert_eq!(api.violations().len(), before + n + 1, "{shown}");
    }
    assert!(api.shown().is_empty());
    for known in ["GET ", "POST "] {
        api.allow_violation(known);
    }
}

#[tokio::test]
async fn limits_and_faults_do_what_they_say() {
    let api = XApi::start().await;
    let me = Caller::logged_in(&api).await;
    api.fault(Fault::new(Effect::RateLimited(60)).on("GET /2/users/me"));
    let response =
        me.http.get(format!("{}/2/users/me", me.base)).bearer_auth(&me.token).send().await.unwrap();
    assert_eq!(
        (response.status(), response.headers()["x-rate-limit-remaining"].to_str().unwrap()),
        (StatusCode::TOO_MANY_REQUESTS, "0")
    );
    assert_eq!(me.get("/2/users/me").await.0, 429);
    assert!(api.violations()[0].contains("before x-rate-limit-reset"));
    api.allow_violation("x-rate-limit-reset");
    api.fault(Fault::new(Effect::ServerError(503, ErrorBody::Html)).on("POST /2/tweets"));
    api.fault(Fault::new(Effect::ApplyThenFail).on("POST /2/tweets"));
    assert_eq!(
        (me.post(json!({ "text": "x" })).await.0, api.shown().len()),
        (StatusCode::SERVICE_UNAVAILABLE, 0)
    );
    assert_eq!(
        (me.post(json!({ "text": "x" })).await.0, api.shown().len()),
        (StatusCode::INTERNAL_SERVER_ERROR, 1)
    );
    api.set_credits(false);
    assert_eq!(me.post(json!({ "text": "y" })).await.1["title"], "CreditsDepleted");
    api.set_credits(true);
    api.set_enrolled(false);
    assert_eq!(me.post(json!({ "text": "y" })).await.1["reason"], "client-not-enrolled");
}
