//! Tests of the guard with a canary server on loopback, which no request may reach.

use super::*;
use crate::{
    HttpOptions,
    resolver::{Lookup, guard_with},
};
use axum::{Router, http::StatusCode, response::Redirect, routing::get};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::net::TcpListener;

const FRIEND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Serves on 127.0.0.2 (exempt, representing the public internet) and counts connections on
/// 127.0.0.1 (representing the internal network).
async fn servers() -> (u16, Arc<AtomicUsize>) {
    let (public, inside, port) = loop {
        let public = TcpListener::bind((FRIEND, 0)).await.unwrap();
        let port = public.local_addr().unwrap().port();
        // The server of another test may have this port on the other address.
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(inside) => break (public, inside, port),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse),
        }
    };
    let hits = Arc::new(AtomicUsize::new(0));
    let counter = hits.clone();
    tokio::spawn(async move {
        while inside.accept().await.is_ok() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    let app = Router::new()
        .route("/ok", get(|| async { ([("content-type", "Text/Plain; charset=utf-8")], "hello") }))
        .route("/big", get(|| async { vec![b'x'; 100_000] }))
        .route("/gone", get(|| async { StatusCode::GONE }))
        .route("/loop", get(|| async { Redirect::temporary("/loop") }))
        .route("/hop", get(|| async { Redirect::temporary("/ok") }))
        .route("/hang", get(std::future::pending::<()>))
        .route("/file", get(|| async { Redirect::temporary("file:///etc/passwd") }))
        .route("/inside", get(move || async move { Redirect::temporary(&format!("http://127.0.0.1:{port}/")) }))
        .route("/named", get(move || async move { Redirect::temporary(&format!("http://inside.example:{port}/")) }));
    tokio::spawn(async move { axum::serve(public, app).await });
    (port, hits)
}

fn clients() -> (HttpClient, reqwest::Client) {
    let client = HttpClient::new(HttpOptions {
        untrusted_exceptions: vec![FRIEND],
        ..HttpOptions::default()
    })
    .unwrap();
    let flips = AtomicUsize::new(0);
    let lookup: Lookup = Arc::new(move |host| {
        let inside = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let public = SocketAddr::new(FRIEND, 0);
        let found = match host.as_str() {
            "public.example" => vec![public],
            "inside.example" => vec![inside],
            "mixed.example" => vec![public, inside],
            // Answers with a public address first, and with an internal one from then on.
            "rebind.example" if flips.fetch_add(1, Ordering::SeqCst) == 0 => vec![public],
            "rebind.example" => vec![inside],
            _ => vec![],
        };
        Box::pin(async move {
            if found.is_empty() { Err(io::Error::other("no such name")) } else { Ok(found) }
        })
    });
    let guarded = guard_with(
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()),
        &[FRIEND],
        lookup,
    )
    .build()
    .unwrap();
    (client, guarded)
}

fn limits() -> FetchLimits {
    FetchLimits { max_bytes: 1000, total: Duration::from_secs(5), max_redirects: 3 }
}

#[tokio::test]
async fn public_names_and_redirects_work() {
    let (port, _) = servers().await;
    let (client, guarded) = clients();
    for path in ["ok", "hop"] {
        let got =
            fetch(&client, &guarded, &format!("http://public.example:{port}/{path}"), &limits())
                .await
                .unwrap();
        assert_eq!(
            (got.bytes.as_ref(), got.media_type.as_str()),
            (b"hello".as_slice(), "text/plain")
        );
    }
}

#[tokio::test]
async fn no_form_of_an_inside_address_is_reached() {
    let (port, hits) = servers().await;
    let (client, guarded) = clients();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "169.254.169.254",
        "10.0.0.1",
        "[fd00:ec2::254]",
        "inside.example",
        "mixed.example",
        "127.0.0.1.",
        "\u{ff11}27.0.0.1",
        "①27.0.0.1",
    ];
    for host in hosts {
        let error = fetch(&client, &guarded, &format!("http://{host}:{port}/"), &limits())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some(codes::SSRF), "{host}: {}", error.report());
    }
    for path in ["inside", "named"] {
        let error =
            fetch(&client, &guarded, &format!("http://public.example:{port}/{path}"), &limits())
                .await
                .unwrap_err();
        assert_eq!(error.code(), Some(codes::SSRF), "{path}");
    }
    let rebind = format!("http://rebind.example:{port}/ok");
    assert!(fetch(&client, &guarded, &rebind, &limits()).await.is_ok());
    assert_eq!(
        fetch(&client, &guarded, &rebind, &limits()).await.unwrap_err().code(),
        Some(codes::SSRF)
    );
    assert_eq!(hits.load(Ordering::SeqCst), 0, "the canary behind the guard was reached");
}

#[tokio::test]
async fn the_real_resolver_is_guarded_too() {
    let (port, hits) = servers().await;
    let client = HttpClient::new(HttpOptions::default()).unwrap();
    let error =
        client.fetch_untrusted(&format!("http://localhost:{port}/"), &limits()).await.unwrap_err();
    assert_eq!(error.code(), Some(codes::SSRF), "{}", error.report());
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn limits_hold_and_nothing_of_the_path_is_reported() {
    let (port, _) = servers().await;
    let (client, guarded) = clients();
    let at = |path: &str| format!("http://public.example:{port}/{path}?token=CANARY");
    let short = FetchLimits { total: Duration::from_millis(200), ..limits() };
    let cases = [
        ("big", limits(), codes::TOO_BIG),
        ("gone", limits(), codes::STATUS),
        ("loop", limits(), codes::URL),
        ("file", limits(), codes::URL),
        ("hang", short, codes::TIMEOUT),
    ];
    for (path, limits, code) in cases {
        let error = fetch(&client, &guarded, &at(path), &limits).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{path}: {}", error.report());
        assert!(!format!("{error:?} {error} {}", error.report()).contains("CANARY"), "{path}");
    }
    for url in [
        "ftp://public.example/",
        "gopher://x",
        "http://user:CANARY@public.example/",
        "not a url CANARY",
        "http://",
    ] {
        let error = fetch(&client, &guarded, url, &limits()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!format!("{error:?} {error}").contains("CANARY"), "{url}");
    }
}
