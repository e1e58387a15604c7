//! Passwords, and access that programs renew.

use axum::http::StatusCode;
use galatea_core::store::OperatorRole;
use serde_json::{Value, json};

use crate::support::{Answer, Server, ask};

const PASSWORD: &str = "correct horse battery staple";

/// A user with a password, and a cookie of theirs.
async fn user(server: &Server, name: &str) -> String {
    let owner = server.token(OperatorRole::Owner).await;
    let invite = json!({ "name": name, "role": "operator" });
    let made = server.answer(ask("POST", "/api/v1/users").token(&owner).body(invite)).await;
    let path = made.json()["path"].as_str().unwrap().to_owned();
    let cookie = server.sign_in(path.strip_prefix("/login#").unwrap()).await.cookie();
    let set = set(server, &cookie, json!({ "password": PASSWORD })).await;
    assert_eq!(set.status, StatusCode::NO_CONTENT, "{}", set.text);
    cookie
}

async fn set(server: &Server, cookie: &str, body: Value) -> Answer {
    let request = ask("PUT", "/api/v1/session/password").header("cookie", cookie);
    server.answer(request.header("origin", "http://localhost:3000").body(body)).await
}

async fn sign_in(server: &Server, name: &str, password: &str) -> Answer {
    let body = json!({ "name": name, "password": password });
    let request = ask("POST", "/api/v1/session/password").header("origin", "http://localhost:3000");
    server.answer(request.body(body)).await
}

#[tokio::test]
async fn a_password_signs_in_and_is_never_shown() {
    let server = Server::new().await;
    let ways = server.answer(ask("GET", "/api/v1/session/ways")).await;
    assert_eq!(ways.json()["password"], false);
    let cookie = user(&server, "jo").await;
    let ways = server.answer(ask("GET", "/api/v1/session/ways")).await;
    assert_eq!(ways.json()["password"], true);
    let answer = sign_in(&server, "jo", PASSWORD).await;
    assert_eq!((answer.status, &answer.json()["role"]), (StatusCode::OK, &json!("operator")));
    let second = answer.cookie();
    let wrong = sign_in(&server, "jo", "wrong horse battery staple").await;
    let unknown = sign_in(&server, "nobody", PASSWORD).await;
    assert_eq!(wrong.code(), "GAL-AUTH-PASSWORD");
    assert_eq!(wrong.text, unknown.text, "an unknown name is not told from a wrong password");
    for (body, code) in [
        (json!({ "password": "another password of jo" }), "GAL-AUTH-PASSWORD"),
        (json!({ "current": PASSWORD, "password": "short" }), "GAL-AUTH-WEAK"),
    ] {
        assert_eq!(set(&server, &cookie, body).await.code(), code);
    }
    let changed =
        set(&server, &cookie, json!({ "current": PASSWORD, "password": "another password of jo" }));
    assert_eq!(changed.await.status, StatusCode::NO_CONTENT);
    let me = |cookie: &str| ask("GET", "/api/v1/session").header("cookie", cookie);
    assert_eq!(server.answer(me(&cookie)).await.status, StatusCode::OK);
    assert_eq!(server.answer(me(&second)).await.status, 401, "other sessions end");
    let users = server.store.users().await.unwrap();
    let stored = users.iter().find(|user| user.name == "jo").unwrap().password.clone().unwrap();
    assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
    let owner = server.token(OperatorRole::Owner).await;
    for path in ["/api/v1/users", "/api/v1/changes"] {
        let text = server.answer(ask("GET", path).token(&owner)).await.text;
        assert!(!text.contains("argon2") && !text.contains("horse"), "{path}");
    }
}

#[tokio::test]
async fn a_reset_ends_the_password() {
    let server = Server::new().await;
    user(&server, "jo").await;
    let owner = server.token(OperatorRole::Owner).await;
    let users = server.answer(ask("GET", "/api/v1/users").token(&owner)).await.json();
    let jo = users["items"].as_array().unwrap().iter().find(|user| user["name"] == "jo").unwrap();
    let path = format!("/api/v1/users/{}/reset", jo["id"].as_str().unwrap());
    assert_eq!(server.answer(ask("POST", &path).token(&owner)).await.status, 201);
    assert_eq!(sign_in(&server, "jo", PASSWORD).await.code(), "GAL-AUTH-PASSWORD");
}

#[tokio::test]
async fn of_ten_thousand_passwords_twenty_are_checked() {
    let server = Server::new().await;
    let mut checked = 0;
    for guess in 0..10_000 {
        let answer = sign_in(&server, "jo", &format!("guess {guess}")).await;
        match answer.code().as_str() {
            "GAL-AUTH-PASSWORD" => checked += 1,
            code => assert_eq!(code, "GAL-AUTH-RATE"),
        }
    }
    assert_eq!(checked, 20);
}

async fn begin(server: &Server) -> Value {
    let body = json!({ "name": "jo", "password": PASSWORD });
    let answer = server.answer(ask("POST", "/api/v1/access").body(body)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    answer.json()
}

async fn renew(server: &Server, refresh: &Value) -> Answer {
    server.answer(ask("POST", "/api/v1/access/refresh").body(json!({ "refresh": refresh }))).await
}

#[tokio::test]
async fn access_is_renewed_once_and_reuse_ends_it() {
    let server = Server::new().await;
    user(&server, "jo").await;
    let first = begin(&server).await;
    let me = |access: &Value| ask("GET", "/api/v1/session").token(access.as_str().unwrap());
    let answer = server.answer(me(&first["access"])).await;
    assert_eq!((answer.status, &answer.json()["name"]), (StatusCode::OK, &json!("jo")));
    let second = renew(&server, &first["refresh"]).await;
    assert_eq!(second.status, StatusCode::CREATED, "{}", second.text);
    let second = second.json();
    assert_eq!(server.answer(me(&second["access"])).await.status, StatusCode::OK);
    assert_eq!(renew(&server, &first["refresh"]).await.code(), "GAL-AUTH-REUSE");
    assert_eq!(
        renew(&server, &second["refresh"]).await.code(),
        "GAL-AUTH-NONE",
        "the family ended"
    );
    assert_eq!(server.answer(me(&second["access"])).await.status, 401, "at once");
    let other = begin(&server).await;
    assert_eq!(server.answer(me(&other["access"])).await.status, StatusCode::OK);
    let end = ask("POST", "/api/v1/access/end").body(json!({ "refresh": other["refresh"] }));
    assert_eq!(server.answer(end).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.answer(me(&other["access"])).await.status, 401);
    let refresh = server.answer(me(&second["refresh"])).await;
    assert_eq!(refresh.status, 401, "a refresh token is no access");
}

#[tokio::test]
async fn a_role_for_one_agent_is_for_that_agent_only() {
    let server = Server::new().await;
    let owner = server.token(OperatorRole::Owner).await;
    let invite = json!({ "name": "jo", "role": "viewer" });
    let made = server.answer(ask("POST", "/api/v1/users").token(&owner).body(invite)).await.json();
    let link = made["path"].as_str().unwrap().strip_prefix("/login#").unwrap().to_owned();
    let cookie = server.sign_in(&link).await.cookie();
    let (own, other) = (galatea_core::AgentId::fresh(), galatea_core::AgentId::fresh());
    let path = format!("/api/v1/users/{}", made["user"]["id"].as_str().unwrap());
    let body = json!({ "agents": { own.to_string(): "owner" } });
    let changed = server.answer(ask("PATCH", &path).token(&owner).body(body)).await;
    assert_eq!(changed.json()["agents"][own.to_string()], "owner", "{}", changed.text);
    for (agent, allowed) in [(own, true), (other, false)] {
        let grant = json!({ "tools": "weather/*", "from": "member" });
        let path = format!("/api/v1/agents/{agent}/grants");
        let request = ask("POST", &path).header("cookie", &cookie).body(grant);
        let answer = server.answer(request.header("origin", "http://localhost:3000")).await;
        let expected = if allowed { "GAL-GRANT-TOOL" } else { "GAL-AUTH-ROLE" };
        assert_eq!(answer.code(), expected, "{}", answer.text);
    }
    let users = ask("GET", "/api/v1/users").header("cookie", &cookie);
    assert_eq!(server.answer(users).await.code(), "GAL-AUTH-ROLE", "users are not of an agent");
}
