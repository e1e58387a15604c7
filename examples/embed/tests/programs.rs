//! The three programs as tests. Without a model in the settings the offline script answers.

#[allow(dead_code, reason = "the test calls what is below `main`")]
#[path = "../src/bin/once.rs"]
mod once;
#[allow(dead_code, reason = "the test calls what is below `main`")]
#[path = "../src/bin/terminal.rs"]
mod terminal;
#[allow(dead_code, reason = "the test calls what is below `main`")]
#[path = "../src/bin/web.rs"]
mod web;

use galatea_host::{Builder, Galatea, Platforms};
use std::{path::Path, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn builder(folder: &Path) -> Builder {
    Galatea::builder().folder(folder).database("sqlite::memory:")
}

#[tokio::test]
async fn the_terminal_answers_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut shown = Vec::new();
    terminal::talk(builder(folder.path()), &b"Hello\nI am sad\n"[..], &mut shown).await.unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.lines().count(), 2, "{shown}");
}

#[tokio::test]
async fn the_web_server_answers_a_post() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path()).platforms(Platforms::None).build().await.unwrap();
    let nova = serde_json::json!({"name": "Nova", "bio": "A gardener."});
    let nova = galatea.add_agent(nova).await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async { axum::serve(listener, web::router(nova)).await });
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = "POST /ask/alice HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n\
                   Content-Length: 5\r\nConnection: close\r\n\r\nHello";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.split("\r\n\r\n").nth(1).is_some_and(|body| !body.trim().is_empty()),
        "{answer}"
    );
    serving.abort();
    galatea.shutdown(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn one_shot_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("characters/ada.json");
    let answer = once::answer(builder(folder.path()), &from, "Hello").await.unwrap();
    assert!(!answer.trim().is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
