//! Tests of the listener with callers that send half a request, send slowly, or stay silent.
//! Deadlines that must not matter are an hour long, so that results do not depend on how busy the
//! machine is.

use axum::{Router, extract::Request, routing::post};
use galatea_http::listen::{Body, Limits, read_body, serve};
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(3600);
const LASTING: Limits = Limits { head: LONG, idle: LONG, answer: LONG, ..Limits::WEBHOOK };

struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn start(limits: Limits, router: Router) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let task = tokio::spawn(serve(listener, router, limits, stop.clone().cancelled_owned()));
    Server { address, stop, task }
}

fn echo() -> Router {
    let answer = |request: Request| async move {
        match read_body(request.into_body(), 1 << 20, 1 << 20, LONG).await {
            Body::Whole(body) => body,
            Body::TooLong(_) | Body::Broken => "broken".into(),
        }
    };
    Router::new().route("/", post(answer))
}

async fn connect(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// Reads until the other side closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await;
    String::from_utf8(all).unwrap()
}

const CALL: &[u8] =
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
const HALF: &[u8] = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Le";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn among_1500_half_sent_requests_a_true_call_is_answered_and_files_are_bounded() {
    const HALVES: usize = 1_500;
    let server = start(LASTING, echo()).await;
    let mut halves = Vec::new();
    for _ in 0..HALVES {
        halves.push(connect(server.address, HALF).await);
    }
    // Only an eviction can close it: the deadline for its headers is an hour away.
    let begun = Instant::now();
    let answer = rest(connect(server.address, CALL).await).await;
    println!("answered after {:?} among {HALVES} half-sent requests", begun.elapsed());
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
    // All connections above the limit are closed, and so are their file descriptors.
    let mut closed = 0;
    for stream in &mut halves[..HALVES - LASTING.connections] {
        let mut byte = [0];
        assert!(
            matches!(stream.read(&mut byte).await, Ok(0) | Err(_)),
            "it is closed without an answer"
        );
        closed += 1;
    }
    println!("{closed} closed");
    server.stop.cancel();
    server.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn calls_under_way_are_answered_whatever_comes_meanwhile() {
    let (entered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (inside, leave) = (entered.clone(), go.clone());
    let slow = move || async move {
        inside.notify_one();
        leave.notified().await;
        "done"
    };
    let limits = Limits { connections: 8, ..LASTING };
    let server = start(limits, echo().route("/slow", post(slow))).await;
    let call = connect(
        server.address,
        b"POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    )
    .await;
    entered.notified().await;
    let mut halves = Vec::new();
    for _ in 0..100 {
        halves.push(connect(server.address, HALF).await);
    }
    assert!(rest(connect(server.address, CALL).await).await.ends_with("hello"));
    // Stopping closes silent connections at once and waits for busy ones.
    server.stop.cancel();
    for half in halves {
        assert_eq!(rest(half).await, "");
    }
    go.notify_one();
    assert!(rest(call).await.ends_with("done"));
    server.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_head_that_drips_has_an_end() {
    let server = start(Limits { head: Duration::from_millis(300), ..LASTING }, echo()).await;
    let (mut reader, mut writer) =
        connect(server.address, b"POST / HTTP/1.1\r\n").await.into_split();
    let drip = tokio::spawn(async move {
        while writer.write_all(b"X-A: b\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await
        }
    });
    let mut all = Vec::new();
    let _ = reader.read_to_end(&mut all).await;
    assert!(!String::from_utf8_lossy(&all).contains(" 200 "));
    drip.await.unwrap();
    // A connection that sends nothing is closed, too.
    assert_eq!(rest(connect(server.address, b"").await).await, "");
}

#[tokio::test]
async fn what_was_answered_may_ask_again() {
    let server = start(LASTING, echo()).await;
    let mut stream =
        connect(server.address, b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none")
            .await;
    let mut answer = Vec::new();
    while !answer.ends_with(b"one") {
        assert!(
            stream.read_buf(&mut answer).await.unwrap() > 0,
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    stream.write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\ntwo").await.unwrap();
    while !answer.ends_with(b"two") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
    }
}

#[tokio::test]
async fn what_was_answered_may_not_stay_for_ever() {
    let server = start(Limits { idle: Duration::from_millis(300), ..LASTING }, echo()).await;
    let call = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none";
    assert!(rest(connect(server.address, call).await).await.ends_with("one"), "then it is closed");
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let hang = || async { std::future::pending::<()>().await };
    let server = start(
        Limits { answer: Duration::from_millis(100), ..LASTING },
        Router::new().route("/", post(hang)),
    )
    .await;
    assert!(rest(connect(server.address, CALL).await).await.starts_with("HTTP/1.1 503 "));
}
