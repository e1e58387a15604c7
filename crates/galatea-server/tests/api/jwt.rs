//! Tokens of another program: which sign in, and each known attack.

use axum::http::StatusCode;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use galatea_core::store::OperatorRole;
use galatea_host::config::{ForeignTokens, SignInOptions};
use ring::{
    hmac,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::support::{Server, ask};

const SECRET: &str = "a secret of at least thirty-two bytes";
/// A public key of RSA, and a token that its private key signed, good until 2100. The private key was
/// thrown away.
const MODULUS: &str = include_str!("rsa_modulus.txt");
const TOKEN: &str = include_str!("rsa_token.txt");

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn claims() -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    json!({ "iss": "https://id.example", "aud": "galatea", "sub": "ada", "exp": now.as_secs() + 300 })
}

fn hs256(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let message = format!("{}.{}", part(header), part(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let signature = hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn ed25519(pair: &Ed25519KeyPair, header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", part(header), part(claims));
    let signature = pair.sign(message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn options(secret: Option<&str>, keys: Option<String>) -> SignInOptions {
    let foreign = ForeignTokens {
        issuer: "https://id.example".to_owned(),
        audience: "galatea".to_owned(),
        secret: secret.map(Into::into),
        keys: keys.map(|keys| keys.parse().unwrap()),
        role: OperatorRole::Operator,
    };
    SignInOptions { foreign: Some(foreign), ..SignInOptions::default() }
}

async fn status(server: &Server, token: &str) -> StatusCode {
    server.answer(ask("GET", "/api/v1/session").token(token)).await.status
}

/// Serves a key set on a port of this machine, until the test ends.
async fn serve(keys: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let body = keys.to_string();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/keys")
}

#[tokio::test]
async fn a_token_with_a_shared_secret_signs_in_and_attacks_do_not() {
    let server = Server::with(options(Some(SECRET), None)).await;
    let header = json!({ "alg": "HS256", "typ": "JWT" });
    let good = hs256(&header, &claims(), SECRET.as_bytes());
    let me = server.answer(ask("GET", "/api/v1/session").token(&good)).await;
    assert_eq!(me.status, StatusCode::OK, "{}", me.text);
    assert_eq!((&me.json()["name"], &me.json()["role"]), (&json!("ada"), &json!("operator")));
    let with = |key: &str, value: Value| {
        let mut claims = claims();
        claims[key] = value;
        claims
    };
    let less = hs256(&header, &with("galatea_role", json!("viewer")), SECRET.as_bytes());
    let me = server.answer(ask("GET", "/api/v1/session").token(&less)).await;
    assert_eq!(me.json()["role"], "viewer");
    let more = hs256(&header, &with("galatea_role", json!("owner")), SECRET.as_bytes());
    let me = server.answer(ask("GET", "/api/v1/session").token(&more)).await;
    assert_eq!(me.json()["role"], "operator", "never more than the setting");
    let without = |key: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(key);
        claims
    };
    let sign = |claims: &Value| hs256(&header, claims, SECRET.as_bytes());
    let none = json!({ "alg": "none" });
    let attacks = [
        ("expired", sign(&with("exp", json!(1)))),
        ("not yet", sign(&with("nbf", json!(4_102_444_800_u64)))),
        ("another audience", sign(&with("aud", json!("elsewhere")))),
        ("another issuer", sign(&with("iss", json!("https://evil.example")))),
        ("a role that is none", sign(&with("galatea_role", json!("king")))),
        ("no end", sign(&without("exp"))),
        ("no audience", sign(&without("aud"))),
        ("no issuer", sign(&without("iss"))),
        ("no subject", sign(&without("sub"))),
        ("another secret", hs256(&header, &claims(), b"another secret of thirty-two bytes!")),
        ("an empty secret", hs256(&header, &claims(), b"")),
        ("alg none", format!("{}.{}.", part(&none), part(&claims()))),
        ("alg None", format!("{}.{}.", part(&json!({ "alg": "None" })), part(&claims()))),
        ("alg none with a signature", hs256(&none, &claims(), SECRET.as_bytes())),
        ("HS384", hs256(&json!({ "alg": "HS384" }), &claims(), SECRET.as_bytes())),
        ("RS256 over the secret", hs256(&json!({ "alg": "RS256" }), &claims(), SECRET.as_bytes())),
        (
            "the server's own key",
            hs256(&json!({ "alg": "HS256", "kid": "galatea" }), &claims(), SECRET.as_bytes()),
        ),
        (
            "a key in the header",
            hs256(&json!({ "alg": "HS256", "jwk": { "kty": "oct", "k": "eA" } }), &claims(), b"x"),
        ),
        ("no signature", good.rsplit_once('.').unwrap().0.to_owned() + "."),
        ("changed claims", {
            let mut parts: Vec<&str> = good.split('.').collect();
            let other = part(&with("sub", json!("owner")));
            parts[1] = &other;
            parts.join(".")
        }),
        ("not a token", "a.b.c".to_owned()),
    ];
    for (attack, token) in attacks {
        assert_eq!(status(&server, &token).await, StatusCode::UNAUTHORIZED, "{attack}");
    }
    let without_setting = Server::new().await;
    assert_eq!(status(&without_setting, &good).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn tokens_of_a_key_set_sign_in_by_the_algorithm_of_their_key() {
    let random = ring::rand::SystemRandom::new();
    let document = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let x = URL_SAFE_NO_PAD.encode(pair.public_key());
    let keys = json!({ "keys": [
        { "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": x, "use": "sig" },
        { "kty": "OKP", "crv": "Ed25519", "kid": "enc", "x": x, "use": "enc" },
        { "kty": "RSA", "kid": "rsa", "n": MODULUS.trim(), "e": "AQAB" },
    ]});
    let server = Server::with(options(None, Some(serve(keys).await))).await;
    let header = json!({ "alg": "EdDSA", "kid": "ed" });
    assert_eq!(status(&server, &ed25519(&pair, &header, &claims())).await, StatusCode::OK);
    assert_eq!(status(&server, TOKEN.trim()).await, StatusCode::OK, "RS256");
    let (rest, signature) = TOKEN.trim().rsplit_once('.').unwrap();
    let swapped = format!("{}.{}", rest, signature.replace('A', "B"));
    let modulus = URL_SAFE_NO_PAD.decode(MODULUS.trim()).unwrap();
    let confused =
        |kid: &str, key: &[u8]| hs256(&json!({ "alg": "HS256", "kid": kid }), &claims(), key);
    let with = |header: Value| ed25519(&pair, &header, &claims());
    let attacks = [
        ("another signature", swapped),
        ("a public key as a secret", confused("rsa", &modulus)),
        ("the same in text", confused("rsa", MODULUS.trim().as_bytes())),
        ("the same of Ed25519", confused("ed", pair.public_key().as_ref())),
        ("an unknown key", with(json!({ "alg": "EdDSA", "kid": "other" }))),
        ("a key of encryption", with(json!({ "alg": "EdDSA", "kid": "enc" }))),
        ("no key of several", with(json!({ "alg": "EdDSA" }))),
        ("a path as key", with(json!({ "alg": "EdDSA", "kid": "../../etc/passwd" }))),
        ("the key of another sort", with(json!({ "alg": "EdDSA", "kid": "rsa" }))),
        ("another algorithm", with(json!({ "alg": "RS256", "kid": "ed" }))),
    ];
    for (attack, token) in attacks {
        assert_eq!(status(&server, &token).await, StatusCode::UNAUTHORIZED, "{attack}");
    }
}

#[tokio::test]
async fn the_token_of_elizaos_does_everything_and_a_part_of_it_nothing() {
    let options = SignInOptions { static_token: Some(SECRET.into()), ..SignInOptions::default() };
    let server = Server::with(options).await;
    for (name, value) in
        [("x-api-key", SECRET.to_owned()), ("authorization", format!("Bearer {SECRET}"))]
    {
        let me = server.answer(ask("GET", "/api/v1/session").header(name, &value)).await;
        assert_eq!((me.status, &me.json()["role"]), (StatusCode::OK, &json!("owner")), "{name}");
    }
    for wrong in ["", "a", &SECRET[1..], &format!("{SECRET} ")[..SECRET.len() - 1]] {
        assert_eq!(status(&server, wrong).await, StatusCode::UNAUTHORIZED, "{wrong:?}");
    }
}
