//! Tests of the client against a loopback server: error mapping, limits, redaction, reuse of
//! connections.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::ConnectInfo,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect},
    routing::{get, post},
};
use futures::{StreamExt, future::join_all};
use galatea_core::{Error, ErrorKind, Retry, SecretString, SendPermit, Sent};
use galatea_http::{Form, HttpClient, HttpOptions, Part, codes};
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpSocket},
    sync::Barrier,
};

async fn serve() -> String {
    let app = Router::new()
        .route(
            "/echo",
            post(|headers: HeaderMap, body: Bytes| async move {
                axum::Json(json!({
                    "auth": headers.get("authorization").map(|v| v.to_str().unwrap()),
                    "type": headers.get("content-type").map(|v| v.to_str().unwrap()),
                    "length": headers.get("content-length").map(|v| v.to_str().unwrap()),
                    "agent": headers.get("user-agent").map(|v| v.to_str().unwrap()),
                    "body": String::from_utf8_lossy(&body),
                }))
            }),
        )
        .route(
            "/status/{code}",
            get(|axum::extract::Path(code): axum::extract::Path<u16>| async move {
                (StatusCode::from_u16(code).unwrap(), "CANARY body")
            }),
        )
        .route(
            "/slow-down",
            get(|| async { (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")], "") }),
        )
        .route(
            "/dated",
            get(|| async {
                (
                    StatusCode::SERVICE_UNAVAILABLE,
                    [
                        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                        ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
                    ],
                    "",
                )
            }),
        )
        .route("/html", get(|| async { ([("content-type", "text/html")], "<b>CANARY</b>") }))
        .route("/shape", get(|| async { axum::Json(json!({"n": "CANARY"})) }))
        .route("/redirect", get(|| async { Redirect::temporary("/echo") }))
        .route(
            "/big",
            get(|| async {
                Body::from_stream(futures::stream::repeat_with(|| {
                    Ok::<_, std::io::Error>(Bytes::from_static(&[0; 4096]))
                }))
            }),
        )
        .route("/hang", get(std::future::pending::<()>))
        .route(
            "/stall",
            get(|| async {
                let first =
                    futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"one"))]);
                Body::from_stream(first.chain(futures::stream::pending()))
            }),
        )
        .route(
            "/cut",
            get(|| async {
                Body::from_stream(futures::stream::iter([
                    Ok(Bytes::from_static(b"one")),
                    Err(std::io::Error::other("cut")),
                ]))
                .into_response()
            }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

fn client() -> HttpClient {
    HttpClient::new(HttpOptions {
        total_timeout: Duration::from_secs(10),
        max_body: 1 << 20,
        ..HttpOptions::default()
    })
    .unwrap()
}

fn clean(error: &Error) {
    let all = format!("{error} {error:?} {}", error.report());
    assert!(!all.contains("CANARY"), "{all}");
}

#[tokio::test]
async fn json_bearer_and_multipart_arrive() {
    let (base, http) = (serve().await, client());
    let got: Value = http
        .post(&format!("{base}/echo"))
        .bearer(&SecretString::from("tok"))
        .json(&json!({"a": 1}))
        .send_json()
        .await
        .unwrap();
    assert_eq!(got["auth"], "Bearer tok");
    assert_eq!(got["type"], "application/json");
    assert_eq!(got["body"], "{\"a\":1}");
    assert!(got["agent"].as_str().unwrap().starts_with("galatea/"));
    let form = Form::new().text("a", "b").part("f", Part::bytes(vec![1, 2]).file_name("x.bin"));
    let got: Value = http.post(&format!("{base}/echo")).multipart(form).send_json().await.unwrap();
    assert!(got["type"].as_str().unwrap().starts_with("multipart/form-data; boundary="));
    assert!(got["body"].as_str().unwrap().contains("filename=\"x.bin\""));
}

#[tokio::test]
async fn statuses_become_errors_without_body_or_path() {
    let (base, http) = (serve().await, client());
    for (status, kind) in [
        (401, ErrorKind::Unauthorized),
        (404, ErrorKind::NotFound),
        (429, ErrorKind::RateLimited),
        (500, ErrorKind::Unavailable),
    ] {
        let error = http
            .get(&format!("{base}/status/{status}?k=CANARY"))
            .send()
            .await
            .unwrap()
            .ok()
            .unwrap_err();
        assert_eq!(error.kind(), kind);
        clean(&error);
    }
    let wait = |path: &str| {
        let request = http.get(&format!("{base}/{path}"));
        async move { request.send().await.unwrap().ok().unwrap_err().retry() }
    };
    assert_eq!(wait("slow-down").await, Retry::After(Duration::from_secs(7)));
    assert_eq!(
        wait("dated").await,
        Retry::After(Duration::from_secs(30)),
        "counted from the server's own clock"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (base, http) = (serve().await, client());
    let error = http.get(&format!("{base}/redirect")).send().await.unwrap().ok().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unexpected);
}

#[tokio::test]
async fn wrong_json_tells_the_place_and_nothing_else() {
    let (base, http) = (serve().await, client());
    #[derive(Debug, serde::Deserialize)]
    struct N {
        #[expect(dead_code, reason = "only its type matters")]
        n: u8,
    }
    for path in ["html", "shape"] {
        let error = http.get(&format!("{base}/{path}")).send_json::<N>().await.unwrap_err();
        assert_eq!(error.code(), Some(codes::JSON));
        clean(&error);
    }
}

#[tokio::test]
async fn bodies_are_bounded_in_size_and_time() {
    let (base, http) = (serve().await, client());
    let error = http.get(&format!("{base}/big")).send().await.unwrap().bytes().await.unwrap_err();
    assert_eq!((error.code(), error.retry()), (Some(codes::TOO_BIG), Retry::Never));
    let error = http
        .get(&format!("{base}/hang?CANARY"))
        .head_timeout(Duration::from_millis(50))
        .send()
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.sent()), (ErrorKind::Timeout, Sent::Maybe));
    clean(&error);
    let error = http
        .get(&format!("{base}/stall"))
        .idle_timeout(Duration::from_millis(50))
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap_err();
    assert_eq!(error.message(), "the answer stopped coming");
    let error = http
        .get(&format!("{base}/stall"))
        // Long enough for the head, however slow the machine is; the body never ends.
        .total_timeout(Duration::from_secs(3))
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap_err();
    assert_eq!(error.message(), "the answer was not complete within the time allowed");
}

#[tokio::test]
async fn a_cut_connection_may_have_done_the_work_and_a_refused_one_has_not() {
    let (base, http) = (serve().await, client());
    let cut = http.get(&format!("{base}/cut?CANARY"));
    let error = async { cut.send().await?.bytes().await }.await.unwrap_err();
    assert_eq!(
        (error.code(), error.sent(), error.retry()),
        (Some(codes::BROKEN), Sent::Maybe, Retry::Soon)
    );
    clean(&error);

    // A socket that does not listen holds the port.
    let nowhere = TcpSocket::new_v4().unwrap();
    nowhere.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = nowhere.local_addr().unwrap();
    let error = http
        .get(&format!("http://{address}/botCANARY/x?y=CANARY"))
        .bearer(&SecretString::from("CANARY"))
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.sent(), error.retry()),
        (Some(codes::REFUSED), Sent::No, Retry::Soon)
    );
    assert!(error.to_string().contains(&address.to_string()));
    clean(&error);

    let error = http.get("http://does-not-exist.invalid/CANARY").send().await.unwrap_err();
    assert_eq!(error.sent(), Sent::No);
    clean(&error);
}

#[tokio::test]
async fn an_answer_that_never_begins_may_have_done_the_work() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 64];
        let _ = socket.read(&mut buffer).await;
    });
    let error = client()
        .post(&format!("http://{address}/CANARY"))
        .json(&json!({"t": "CANARY"}))
        .send()
        .await
        .unwrap_err();
    assert_eq!((error.code(), error.sent()), (Some(codes::BROKEN), Sent::Maybe));
    clean(&error);
}

#[tokio::test]
async fn unusable_requests_are_refused_before_sending() {
    let http = client();
    for url in ["nonsense CANARY", "ftp://host/CANARY", "http://"] {
        let error = http.get(url).send().await.unwrap_err();
        assert_eq!((error.kind(), error.sent()), (ErrorKind::Invalid, Sent::No));
        clean(&error);
    }
    let error = http
        .get("http://127.0.0.1:1/")
        .bearer(&SecretString::from("CANARY\nx"))
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    clean(&error);
    let request = http.get("http://127.0.0.1:1/CANARY").bearer(&SecretString::from("CANARY"));
    assert!(!format!("{request:?} {http:?}").contains("CANARY"));
}

#[tokio::test]
async fn connections_are_reused() {
    let ports = Arc::new(AtomicUsize::new(0));
    let seen = ports.clone();
    let app = Router::new().route(
        "/",
        get(move |ConnectInfo(peer): ConnectInfo<SocketAddr>| {
            let before = seen.swap(usize::from(peer.port()), Ordering::SeqCst);
            async move { (before == 0 || before == usize::from(peer.port())).to_string() }
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await
    });
    let http = client();
    for _ in 0..20 {
        assert_eq!(http.get(&base).send().await.unwrap().text().await.unwrap(), "true");
    }
}

/// A process that answers in a hundred rooms at once must not open a connection for each answer.
#[tokio::test]
async fn connections_of_a_burst_are_kept_for_the_next_one() {
    const AT_ONCE: usize = 100;
    let (all, ports) = (Arc::new(Barrier::new(AT_ONCE)), Arc::new(Mutex::new(BTreeSet::new())));
    let seen = ports.clone();
    let app = Router::new().route(
        "/",
        get(move |ConnectInfo(peer): ConnectInfo<SocketAddr>| {
            seen.lock().unwrap().insert(peer.port());
            let all = all.clone();
            async move { all.wait().await.is_leader().to_string() }
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await
    });
    let http = client();
    for _ in 0..2 {
        join_all(
            (0..AT_ONCE).map(async |_| http.get(&base).send().await.unwrap().text().await.unwrap()),
        )
        .await;
    }
    // Some connections may not have returned to the pool when the second burst began.
    let connections = ports.lock().unwrap().len();
    assert!((AT_ONCE..AT_ONCE * 5 / 4).contains(&connections), "{connections}");
}

/// Uses a raw socket, because the test checks the bytes that arrive and not a server's
/// interpretation of them.
#[tokio::test]
async fn without_leave_nothing_goes_out_that_anybody_could_act_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let arrived = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut all = Vec::new();
        let _ = socket.read_to_end(&mut all).await;
        String::from_utf8(all).unwrap()
    });
    let looks = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&looks);
    let permit = SendPermit::while_true(move || {
        seen.fetch_add(1, Ordering::SeqCst);
        false
    });
    assert!(client().post(&url).only_with(&permit).json(&json!({"a": 1})).send().await.is_err());
    assert_eq!(looks.load(Ordering::SeqCst), 1, "checked once, when the body is written");
    assert!(!arrived.await.unwrap().contains("{\"a\""));

    let (base, permit) = (serve().await, SendPermit::while_true(|| true));
    let got: Value = client()
        .post(&format!("{base}/echo"))
        .only_with(&permit)
        .json(&json!({"a": 1}))
        .send_json()
        .await
        .unwrap();
    assert_eq!((got["body"].as_str(), got["length"].as_str()), (Some("{\"a\":1}"), Some("7")));
}
