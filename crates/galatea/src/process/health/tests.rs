//! Tests of the health server.

use super::*;
use galatea_host::readiness::{Readiness, Reason};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn probe(ready: bool) -> Probe {
    Arc::new(move || {
        Box::pin(async move {
            let reason = Reason {
                subject: "model".into(),
                message: "no model answers correct-horse-battery".into(),
                ..Reason::default()
            };
            let reasons = if ready { Vec::new() } else { vec![reason] };
            Readiness {
                ready,
                reasons,
                agents: Vec::new(),
                remarks: Vec::new(),
                cluster: None,
                breakers: Vec::new(),
                budgets: Vec::new(),
                servers: Vec::new(),
                version: "0".into(),
                pid: 1,
                uptime: 2,
                statements: 3,
                rows: None,
            }
        })
    })
}

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn server(ready: bool) -> SocketAddr {
    let listener = bind("127.0.0.1:0".parse().unwrap(), "here").await.unwrap();
    let address = listener.local_addr().unwrap();
    let redactor = Redactor::default();
    redactor.learn("correct-horse-battery");
    tokio::spawn(serve(listener, probe(ready), redactor));
    address
}

#[tokio::test]
async fn the_three_questions() {
    let address = server(true).await;
    for (path, expect) in [
        ("/healthz", "\"alive\""),
        ("/readyz", "\"ready\":true"),
        ("/version", env!("CARGO_PKG_VERSION")),
    ] {
        let answer = ask(
            address,
            &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(expect), "{answer}");
    }
    let address = server(false).await;
    let answer =
        ask(address, "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:3000\r\nConnection: close\r\n\r\n")
            .await;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("no model answers [secret]"),
        "{answer}"
    );
}

#[tokio::test]
async fn half_sent_requests_take_no_room() {
    let address = server(true).await;
    let mut halves = Vec::new();
    for _ in 0..500 {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: local").await.unwrap();
        halves.push(stream);
    }
    let answer =
        ask(address, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // The server closes the oldest connections beyond its limit.
    for stream in &mut halves[..500 - Limits::LOCAL.connections] {
        assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
    }
}

#[tokio::test]
async fn strange_hosts_and_methods_are_refused() {
    let address = server(true).await;
    for host in [
        "Host: evil.example\r\n",
        "Host: 127.0.0.1.evil.example\r\n",
        "Host: 10.0.0.1\r\n",
        "",
        "Host: localhost\r\nHost: evil.example\r\n",
    ] {
        let answer =
            ask(address, &format!("GET /readyz HTTP/1.1\r\n{host}Connection: close\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{host}: {answer}");
        assert!(!answer.contains("\"ready\""), "{host}: {answer}");
    }
    let answer = ask(
        address,
        "GET http://evil.example/readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let answer = ask(address, "POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
}

#[test]
fn hosts_are_distinguished() {
    for good in ["localhost", "LOCALHOST:3000", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:3000"] {
        assert!(is_this_host(good), "{good}");
    }
    for bad in [
        "",
        "evil",
        "[::1",
        "[::1]evil",
        "[::2]",
        "localhost.evil",
        "0.0.0.0",
        "192.168.0.1:80",
        "::1",
    ] {
        assert!(!is_this_host(bad), "{bad}");
    }
}

#[tokio::test]
async fn a_taken_port_names_its_owner() {
    let first = bind("127.0.0.1:0".parse().unwrap(), "here").await.unwrap();
    let error = bind(first.local_addr().unwrap(), "here").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Some("GAL-PORT")));
    #[cfg(target_os = "linux")]
    assert!(error.message().contains(&std::process::id().to_string()), "{error}");
    assert!(error.fix().unwrap().contains("--port"));
}

#[test]
fn only_the_loopback_interface() {
    let settings =
        |host: &str| Settings::from_pairs([("SERVER_HOST", host), ("SERVER_PORT", "8080")]);
    assert_eq!(address(&settings("localhost"), None).unwrap().to_string(), "127.0.0.1:8080");
    assert_eq!(address(&settings("::1"), Some(9)).unwrap().to_string(), "[::1]:9");
    assert_eq!(address(&Settings::default(), None).unwrap().to_string(), "127.0.0.1:3000");
    for open in ["0.0.0.0", "::", "192.168.1.1"] {
        assert_eq!(address(&settings(open), None).unwrap_err().code(), Some("GAL-BIND"), "{open}");
    }
    assert_eq!(address(&settings("example.org"), None).unwrap_err().code(), Some("GAL-CFG-VALUE"));
    assert_eq!(
        address(&Settings::from_pairs([("SERVER_PORT", "70000")]), None).unwrap_err().code(),
        Some("GAL-CFG-VALUE")
    );
}
