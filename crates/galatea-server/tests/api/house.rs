//! Sign-in, users, tokens, and what a browser must not do.

use axum::http::StatusCode;
use galatea_core::store::OperatorRole;
use serde_json::json;

use crate::support::{Server, ask};

#[tokio::test]
async fn a_link_signs_in_once_and_the_session_ends() {
    let server = Server::new().await;
    let link = server.link().await;
    let answer = server.sign_in(&link).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.json()["role"], "owner");
    let set = answer.headers["set-cookie"].to_str().unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Path=/"));
    assert!(!answer.text.contains(set.split(['=', ';']).nth(1).unwrap()), "only the cookie has it");
    let cookie = answer.cookie();
    let me = server.answer(ask("GET", "/api/v1/session").header("cookie", &cookie)).await;
    assert_eq!((me.status, &me.json()["name"]), (StatusCode::OK, &json!("owner")));
    let again = server.sign_in(&link).await;
    assert_eq!((again.status, again.code().as_str()), (StatusCode::UNAUTHORIZED, "GAL-AUTH-LINK"));
    let out = ask("DELETE", "/api/v1/session").header("origin", "http://localhost:3000");
    let out = server.answer(out.header("cookie", &cookie)).await;
    assert_eq!(out.status, StatusCode::NO_CONTENT);
    let me = server.answer(ask("GET", "/api/v1/session").header("cookie", &cookie)).await;
    assert_eq!(me.status, StatusCode::UNAUTHORIZED, "the cookie is worth nothing any more");
}

#[tokio::test]
async fn a_session_that_a_page_planted_is_not_continued() {
    let server = Server::new().await;
    let (first, second) = (server.link().await, server.link().await);
    let planted = server.sign_in(&first).await.cookie();
    let request = ask("POST", "/api/v1/session").header("origin", "http://localhost:3000");
    let request = request.header("cookie", &planted).body(json!({ "link": second }));
    let fresh = server.answer(request).await.cookie();
    assert_ne!(planted, fresh);
    let two = format!("{planted}; {fresh}");
    let answer = server.answer(ask("GET", "/api/v1/session").header("cookie", &two)).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "two cookies of the name are none");
}

#[tokio::test]
async fn a_session_changes_nothing_without_its_own_page() {
    let server = Server::new().await;
    let cookie = server.sign_in(&server.link().await).await.cookie();
    let make = || {
        let body = json!({ "name": "a", "role": "viewer" });
        ask("POST", "/api/v1/tokens").header("cookie", &cookie).body(body)
    };
    let answer = server.answer(make()).await;
    assert_eq!((answer.status, answer.code().as_str()), (StatusCode::FORBIDDEN, "GAL-ORIGIN"));
    for site in ["cross-site", "same-site", "none"] {
        let answer = server.answer(make().header("sec-fetch-site", site)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{site}");
    }
    for (name, value) in [("origin", "http://localhost:3000"), ("sec-fetch-site", "same-origin")] {
        let answer = server.answer(make().header(name, value)).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{name}");
    }
}

#[tokio::test]
async fn guesses_are_limited() {
    let server = Server::new().await;
    let mut looked_at = 0;
    for n in 0..200 {
        let answer = server.sign_in(&format!("guess {n}")).await;
        looked_at += u32::from(answer.code() == "GAL-AUTH-LINK");
        let limited = answer.status == StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(limited, n >= 20, "{n}: {}", answer.text);
    }
    assert_eq!(looked_at, 20);
    assert_eq!(server.sign_in(&server.link().await).await.code(), "GAL-AUTH-RATE");
}

#[tokio::test]
async fn tokens_are_shown_once_and_end_when_they_are_revoked() {
    let server = Server::new().await;
    let owner = server.token(OperatorRole::Owner).await;
    let body = json!({ "name": "backup", "role": "viewer", "days": 7 });
    let request = ask("POST", "/api/v1/tokens").token(&owner).body(body);
    let made = server.answer(request.header("idempotency-key", "k")).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let (secret, id) = (made.json()["secret"].clone(), made.json()["token"]["id"].clone());
    let (secret, id) = (secret.as_str().unwrap(), id.as_str().unwrap());
    let list = server.answer(ask("GET", "/api/v1/tokens").token(&owner)).await;
    assert!(list.text.contains("backup") && !list.text.contains(secret));
    let changes = server.answer(ask("GET", "/api/v1/changes").token(&owner)).await;
    assert!(changes.text.contains("token.make") && !changes.text.contains(secret));
    assert_eq!(server.answer(ask("GET", "/api/v1/counts").token(secret)).await.status, 200);
    let key = ask("GET", "/api/v1/counts").header("x-api-key", secret);
    assert_eq!(server.answer(key).await.status, 200);
    let session =
        ask("GET", "/api/v1/counts").header("cookie", &format!("galatea_session={secret}"));
    assert_eq!(server.answer(session).await.status, 401, "a token is no session");
    let revoke = ask("DELETE", &format!("/api/v1/tokens/{id}")).token(&owner);
    assert_eq!(server.answer(revoke).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.answer(ask("GET", "/api/v1/counts").token(secret)).await.status, 401);
}

#[tokio::test]
async fn users_are_invited_changed_and_removed() {
    let server = Server::new().await;
    let owner = server.token(OperatorRole::Owner).await;
    let invite = |name: &str| {
        ask("POST", "/api/v1/users").token(&owner).body(json!({ "name": name, "role": "operator" }))
    };
    let made = server.answer(invite("jo")).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    assert_eq!(server.answer(invite("jo")).await.code(), "GAL-AUTH-NAME");
    let path = made.json()["path"].as_str().unwrap().to_owned();
    let link = path.strip_prefix("/login#").unwrap();
    let cookie = server.sign_in(link).await.cookie();
    let counts = || ask("GET", "/api/v1/counts").header("cookie", &cookie);
    let users = ask("GET", "/api/v1/users").header("cookie", &cookie);
    assert_eq!(server.answer(users).await.code(), "GAL-AUTH-ROLE");
    assert_eq!(server.answer(counts()).await.status, 200);
    let id = made.json()["user"]["id"].as_str().unwrap().to_owned();
    let change = |body| ask("PATCH", &format!("/api/v1/users/{id}")).token(&owner).body(body);
    assert_eq!(server.answer(change(json!({ "disabled": true }))).await.status, 200);
    assert_eq!(server.answer(counts()).await.status, 401, "at once");
    assert_eq!(server.answer(change(json!({ "disabled": false }))).await.status, 200);
    assert_eq!(server.answer(counts()).await.status, 200);
    let reset = ask("POST", &format!("/api/v1/users/{id}/reset")).token(&owner);
    assert_eq!(server.answer(reset).await.status, StatusCode::CREATED);
    assert_eq!(server.answer(counts()).await.status, 401, "a reset ends the sessions");
    let remove = ask("DELETE", &format!("/api/v1/users/{id}")).token(&owner);
    assert_eq!(server.answer(remove).await.status, StatusCode::NO_CONTENT);
    let users = server.answer(ask("GET", "/api/v1/users").token(&owner)).await.json();
    let last = users["items"][0]["id"].as_str().unwrap();
    let remove = ask("DELETE", &format!("/api/v1/users/{last}")).token(&owner);
    assert_eq!(server.answer(remove).await.code(), "GAL-AUTH-OWNER");
}
