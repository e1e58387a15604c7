//! Who may ask what: every operation for every role, every path for foreign names and pages.

use axum::http::StatusCode;
use galatea_core::store::OperatorRole::{self, Operator, Owner, Viewer};
use serde_json::json;
use std::collections::BTreeMap;

use crate::support::{Server, ask};

/// The role that each operation needs. A new operation has to be added here.
const NEEDS: &[(OperatorRole, &[&str])] = &[
    (
        Viewer,
        &[
            "getSession",
            "signOut",
            "setPassword",
            "listSessions",
            "endSession",
            "listTokens",
            "revokeToken",
            "listAgents",
            "getAgent",
            "listWorlds",
            "listBlocks",
            "listRooms",
            "getRoom",
            "listMessages",
            "listPeople",
            "getPerson",
            "listMemories",
            "getMemory",
            "listTurns",
            "getTurn",
            "listTraces",
            "getTrace",
            "getTraceStep",
            "listOutbox",
            "getDelivery",
            "getCounts",
            "listConnectors",
            "listUsage",
            "followEvents",
            "getMessage",
            "listChats",
            "listTasks",
            "listPlugins",
            "listServices",
            "listTools",
            "listGrants",
            "listAllBlocks",
            "listLinks",
            "listDocuments",
            "askDocuments",
            "listServers",
            "getCluster",
            "listBudgets",
            "getSystem",
            "listSettings",
            "getCharacter",
            "listCharacterVersions",
            "diffCharacter",
            "validateCharacter",
        ],
    ),
    (
        Operator,
        &[
            "sendMessage",
            "startAgent",
            "stopAgent",
            "restartAgent",
            "deleteMemory",
            "retryDelivery",
            "dryRunTurn",
            "listLogs",
            "dropDelivery",
            "runTask",
            "pauseTask",
            "removeTask",
            "listApprovals",
            "approveActions",
            "refuseActions",
            "listPairings",
            "approvePairing",
            "refusePairing",
            "inviteFriend",
            "addBlock",
            "removeBlock",
            "blockPerson",
            "addDocument",
            "removeDocument",
            "beginUpload",
            "getUpload",
            "continueUpload",
            "checkConnector",
            "reconnectConnector",
            "saveCharacter",
            "revertCharacter",
            "previewCharacter",
        ],
    ),
    (
        Owner,
        &[
            "makeToken",
            "listUsers",
            "inviteUser",
            "changeUser",
            "removeUser",
            "resetUser",
            "listChanges",
            "changePlugin",
            "addGrant",
            "removeGrant",
            "addServer",
            "removeServer",
            "testServer",
            "approveServer",
            "repairConnector",
            "setSetting",
            "listWebhooks",
            "addWebhook",
            "removeWebhook",
            "createAgent",
            "removeAgent",
        ],
    ),
];
/// Open to everybody: it is how one signs in.
const OPEN: [&str; 8] = [
    "signIn",
    "getSignInWays",
    "signInWithPassword",
    "beginAccess",
    "refreshAccess",
    "endAccess",
    "beginOidc",
    "finishOidc",
];

fn operations() -> Vec<(String, String, String)> {
    let document = serde_json::to_value(galatea_server::openapi()).unwrap();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            let named = "018f5f3a-0000-7000-8000-000000000000";
            let path =
                path.replace("{id}", named).replace("{grant}", named).replace("{name}", "nobody");
            let path = path.replace("{n}", "0");
            all.push((id, method.to_uppercase(), path));
        }
    }
    all
}

#[tokio::test]
async fn every_operation_for_every_role() {
    let server = Server::new().await;
    let needs: BTreeMap<&str, OperatorRole> =
        NEEDS.iter().flat_map(|(role, ids)| ids.iter().map(|id| (*id, *role))).collect();
    let operations = operations();
    assert_eq!(operations.len(), needs.len() + OPEN.len(), "each is in the table once");
    let mut tokens = Vec::new();
    for role in [Viewer, Operator, Owner] {
        tokens.push((role, server.token(role).await));
    }
    for (id, method, path) in operations {
        if OPEN.contains(&id.as_str()) {
            continue;
        }
        let need = *needs.get(id.as_str()).unwrap_or_else(|| panic!("{id} is not in the table"));
        for stranger in [None, Some("galatea_0000"), Some("")] {
            let mut request = ask(&method, &path).body(json!({}));
            if let Some(token) = stranger {
                request = request.token(token);
            }
            let answer = server.answer(request).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{id} by {stranger:?}");
            assert_eq!(answer.code(), "GAL-AUTH-NONE", "{id}");
        }
        for (role, token) in &tokens {
            let request = ask(&method, &path).token(token).body(json!({}));
            let status = server.raw(request).await.status();
            let refused = status == StatusCode::FORBIDDEN || status == StatusCode::UNAUTHORIZED;
            assert_eq!(refused, *role < need, "{id} by {role}: {status}");
            assert!(!status.is_server_error(), "{id} by {role}: {status}");
        }
    }
}

#[tokio::test]
async fn nothing_is_served_to_foreign_names_and_pages() {
    let server = Server::new().await;
    let token = server.token(Owner).await;
    let mut paths: Vec<String> = operations().into_iter().map(|(_, _, path)| path).collect();
    let others = [
        "/",
        "/login",
        "/docs",
        "/openapi.json",
        "/traces",
        "/manifest.webmanifest",
        "/assets/docs.js",
        "/assets/page.css",
        "/healthz",
        "/readyz",
        "/version",
        "/metrics",
        "/nowhere",
        "/socket.io/",
        "/socket.io/?EIO=4&transport=polling",
        "/api/agents",
        "/api/messaging/sessions",
        "/api/server/ping",
        "/health",
        "/api/v1/",
    ];
    paths.extend(others.map(str::to_owned));
    for path in paths {
        for host in ["evil.example", "127.0.0.1.evil.example:3000", "192.168.0.1:3000"] {
            let answer = server.answer(ask("GET", &path).header("host", host).token(&token)).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (StatusCode::FORBIDDEN, "GAL-HOST")
            );
        }
        for origin in ["null", "http://evil.example", "https://localhost:3000"] {
            let request = ask("GET", &path).header("origin", origin).token(&token);
            let answer = server.answer(request).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (StatusCode::FORBIDDEN, "GAL-ORIGIN")
            );
        }
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_of_the_guard() {
    let server = Server::new().await;
    for path in ["/", "/docs", "/nowhere", "/api/v1/agents", "/readyz", "/openapi.json"] {
        let answer = server.answer(ask("GET", path)).await;
        let csp = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(csp.starts_with("default-src 'none'") && !csp.contains("unsafe"), "{path}: {csp}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["x-frame-options"], "DENY");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
        assert!(answer.headers.contains_key("cache-control"), "{path}");
    }
}

#[tokio::test]
async fn pages_contain_no_foreign_address_and_nothing_inline() {
    let server = Server::new().await;
    for path in ["/login", "/docs", "/assets/docs.js", "/assets/page.css"] {
        let answer = server.answer(ask("GET", path)).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        for bad in ["http://", "https://", "<script>", "onclick", "style=", "innerHTML", "eval("] {
            assert!(!answer.text.contains(bad), "{path}: {bad}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_in_problem_details() {
    let server = Server::new().await;
    let token = server.token(Owner).await;
    let cases = [
        (ask("GET", "/api/v1/rooms?limit=0"), 400),
        (ask("GET", "/api/v1/rooms?limit=201"), 400),
        (ask("GET", "/api/v1/rooms?limit=x"), 400),
        (ask("GET", "/api/v1/rooms?agent=x"), 400),
        (ask("GET", "/api/v1/rooms/x"), 400),
        (ask("GET", "/api/v1/turns?before=1"), 400),
        (ask("GET", "/api/v1/turns?state=asleep"), 400),
        (ask("GET", "/api/v1/memories"), 400),
        (ask("GET", "/api/v1/nowhere"), 404),
        (ask("PUT", "/api/v1/agents"), 405),
        (ask("POST", "/api/v1/tokens"), 415),
        (ask("POST", "/api/v1/tokens").body(json!({"name": "a"})), 422),
        (ask("POST", "/api/v1/tokens").body(json!({"name": "a", "role": "king"})), 400),
        (ask("POST", "/api/v1/tokens").body(json!({"name": "", "role": "owner"})), 400),
        (ask("POST", "/api/v1/tokens").body(json!({"name": "a", "role": "owner", "x": 1})), 422),
        (ask("POST", "/api/v1/tokens").body(json!({"name": "a", "role": "owner", "days": 0})), 400),
        (ask("POST", "/api/v1/tokens").body(json!("x".repeat(1 << 21))), 413),
    ];
    for (request, status) in cases {
        let what = format!("{} {}", request.method, request.path);
        let answer = server.answer(request.token(&token)).await;
        assert_eq!(answer.status.as_u16(), status, "{what}: {}", answer.text);
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{what}");
        assert_eq!(answer.json()["status"], status, "{what}");
        assert!(answer.code().starts_with("GAL-"), "{what}");
        assert!(
            galatea_host::catalogue::find(&answer.code()).is_some(),
            "{what}: {}",
            answer.code()
        );
    }
}

#[tokio::test]
async fn health_is_open_and_without_secrets() {
    let server = Server::new().await;
    assert_eq!(server.answer(ask("GET", "/healthz")).await.json()["status"], "alive");
    assert_eq!(server.answer(ask("GET", "/version")).await.json()["version"], "0.1.0");
    let ready = server.answer(ask("GET", "/readyz")).await;
    assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(ready.text.contains("no model answers [secret]"), "{}", ready.text);
}
