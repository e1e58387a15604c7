//! Sign-in with OAuth: two processes share a login whose tokens expire and rotate.

use crate::stage::{FIXTURE, Stage, call, until};
use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use galatea_mcp::{Phase, Server, login, probe};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long an access token lasts.
const LASTS: Duration = Duration::from_secs(2);

/// An authorization server and an MCP server in one.
#[derive(Default)]
struct House {
    base: String,
    number: u64,
    access: HashMap<String, Instant>,
    /// The only refresh token that is worth something; each is used once.
    refresh: String,
    refreshes: usize,
    /// Refresh tokens that were spent twice: a lost sign-in.
    reused: usize,
    calls: usize,
    resources: HashSet<String>,
}

type Shared = Arc<Mutex<House>>;

impl House {
    fn tokens(&mut self) -> Value {
        self.number += 1;
        let (access, refresh) =
            (format!("access-{}", self.number), format!("refresh-{}", self.number));
        self.access.insert(access.clone(), Instant::now() + LASTS);
        self.refresh.clone_from(&refresh);
        json!({ "access_token": access, "token_type": "Bearer", "expires_in": LASTS.as_secs(), "refresh_token": refresh, "scope": "tools" })
    }
}

async fn open() -> (String, Shared) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let house: Shared = Arc::new(Mutex::new(House { base: base.clone(), ..House::default() }));
    let router = Router::new()
        .route("/.well-known/oauth-protected-resource", get(resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(resource))
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/register", post(register))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .route("/mcp", post(mcp))
        .with_state(Arc::clone(&house));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (base, house)
}

async fn resource(State(house): State<Shared>) -> Json<Value> {
    let base = house.lock().base.clone();
    Json(
        json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["tools"] }),
    )
}

async fn metadata(State(house): State<Shared>) -> Json<Value> {
    let base = house.lock().base.clone();
    Json(json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"), "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"], "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"], "authorization_response_iss_parameter_supported": true,
    }))
}

async fn register(Json(asked): Json<Value>) -> impl IntoResponse {
    (
        StatusCode::CREATED,
        Json(json!({
            "client_id": "galatea-1", "client_name": asked["client_name"], "redirect_uris": asked["redirect_uris"],
            "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        })),
    )
}

async fn authorize(
    State(house): State<Shared>,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    assert_eq!(asked["code_challenge_method"], "S256");
    let base = house.lock().base.clone();
    house.lock().resources.insert(asked["resource"].clone());
    let mut back = url::Url::parse(&asked["redirect_uri"]).unwrap();
    back.query_pairs_mut()
        .append_pair("code", "code-1")
        .append_pair("state", &asked["state"])
        .append_pair("iss", &base);
    (StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response()
}

async fn token(State(house): State<Shared>, body: String) -> Response {
    let asked: HashMap<String, String> =
        url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    // The answer takes a while, so that two processes would meet here.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut house = house.lock();
    house.resources.insert(asked.get("resource").cloned().unwrap_or_default());
    match asked["grant_type"].as_str() {
        "authorization_code" => {
            assert!(asked.contains_key("code_verifier"));
            Json(house.tokens()).into_response()
        }
        _ if asked["refresh_token"] == house.refresh => {
            house.refreshes += 1;
            Json(house.tokens()).into_response()
        }
        _ => {
            house.reused += 1;
            (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response()
        }
    }
}

async fn mcp(
    State(house): State<Shared>,
    headers: HeaderMap,
    Json(asked): Json<Value>,
) -> Response {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    let (valid, base) = {
        let house = house.lock();
        (house.access.get(given).is_some_and(|until| *until > Instant::now()), house.base.clone())
    };
    if !valid {
        let challenge =
            format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource\"");
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response();
    }
    let id = asked["id"].clone();
    let answer = |result: Value| {
        Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
    };
    match asked["method"].as_str().unwrap_or_default() {
        "initialize" => answer(json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "house", "version": "1" },
        })),
        "tools/list" => answer(json!({ "tools": [{ "name": "ping", "description": "Answers.", "inputSchema": { "type": "object" } }] })),
        "tools/call" => {
            house.lock().calls += 1;
            answer(json!({ "content": [{ "type": "text", "text": "pong" }] }))
        }
        method if method.starts_with("notifications/") => StatusCode::ACCEPTED.into_response(),
        _ => Json(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no such method" } })).into_response(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_survives_expiry_and_rotation_in_two_processes() {
    let (base, house) = open().await;
    let stage = Stage::new();
    let config = stage.entry(&json!({ "url": format!("{base}/mcp"), "allowLoopback": true }));
    let error = probe(&config, &stage.around).await.unwrap_err();
    assert_eq!(error.code(), Some("GAL-MCP-LOGIN"), "{}", error.report());
    // The owner signs in; the browser follows the redirect to this machine.
    let begun = login::begin(&config, &stage.around.places).await.unwrap();
    let address = begun.address.clone();
    let browser =
        tokio::spawn(async move { reqwest::get(address).await.unwrap().text().await.unwrap() });
    begun.finish().await.unwrap();
    assert!(browser.await.unwrap().contains("Signed in"));
    let probed = probe(&config, &stage.around).await.unwrap();
    probed.approve(&config, &stage.around.places, None).unwrap();
    // Two processes call through five expiries.
    let caller = || {
        let mut command = Command::new(FIXTURE);
        command.args([
            "caller",
            stage.folder.path().to_str().unwrap(),
            &format!("{base}/mcp"),
            "10",
        ]);
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let (one, two) = (caller(), caller());
    for output in [one.await.unwrap(), two.await.unwrap()] {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.trim(), "0 failed", "{said} {}", String::from_utf8_lossy(&output.stderr));
    }
    let house = house.lock();
    assert_eq!(house.reused, 0, "a refresh token was spent twice");
    assert!(house.refreshes >= 3, "{} refreshes", house.refreshes);
    assert_eq!(
        house.resources.len(),
        1,
        "the resource is named in each request: {:?}",
        house.resources
    );
    println!("{} calls, {} refreshes", house.calls, house.refreshes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_login_is_said_and_a_new_one_repairs_it() {
    let (base, house) = open().await;
    let stage = Stage::new();
    let config = stage.entry(&json!({ "url": format!("{base}/mcp"), "allowLoopback": true }));
    let sign_in = || async {
        let begun = login::begin(&config, &stage.around.places).await.unwrap();
        let address = begun.address.clone();
        tokio::spawn(async move { reqwest::get(address).await.unwrap().text().await });
        begun.finish().await.unwrap();
    };
    sign_in().await;
    probe(&config, &stage.around)
        .await
        .unwrap()
        .approve(&config, &stage.around.places, None)
        .unwrap();
    let server = Server::start(config.clone(), stage.around.clone());
    until(|| server.is_ready()).await;
    // The server forgets everybody.
    {
        let mut house = house.lock();
        house.access.clear();
        house.refresh = "another".to_owned();
    }
    let failed = call(&server, "ping", json!({})).await;
    assert!(!failed.success && failed.text.contains("sign in"), "{}", failed.text);
    until(|| server.view().phase == Phase::NeedsSignIn).await;
    assert!(server.view().detail.contains("galatea mcp login"), "{:?}", server.view());
    sign_in().await;
    until(|| server.is_ready()).await;
    assert_eq!(call(&server, "ping", json!({})).await.text, "pong");
    server.stop().await;
}

#[tokio::test]
async fn addresses_inside_are_refused_before_anything_is_sent() {
    let stage = Stage::new();
    for url in
        ["https://169.254.169.254/mcp", "https://10.0.0.1/mcp", "https://[::ffff:127.0.0.1]/mcp"]
    {
        let value = json!({ "mcpServers": { "x": { "url": url } } });
        let read = galatea_mcp::config::read(&value, "", stage.folder.path(), &|_| None);
        let refused = match read.servers.first() {
            None => true,
            Some(config) => probe(config, &stage.around)
                .await
                .is_err_and(|e| e.report().contains("GAL-HTTP") || e.report().contains("network")),
        };
        assert!(refused, "{url}");
    }
}
