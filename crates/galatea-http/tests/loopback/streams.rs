//! Tests of answers that go on: server-sent events and WebSockets outlive the limits of plain
//! requests, are never closed for others, and end with a last word.

use axum::{
    Extension, Router,
    body::Body,
    extract::{
        WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    response::Response,
    routing::{get, post},
};
use futures::{StreamExt as _, stream};
use galatea_http::listen::{Ending, Limits, StreamLimits, serve};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(3600);
/// The idle limit is far below what the tests wait for; the limits of streams are an hour.
const BRIEF: Limits = Limits {
    connections: 8,
    per_address: 8,
    head: Duration::from_millis(100),
    idle: Duration::from_millis(100),
    answer: Duration::from_millis(100),
    streams: StreamLimits {
        most: 4,
        per_address: 4,
        silent: LONG,
        stalled: LONG,
        farewell: Duration::from_secs(2),
    },
};

struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn start(limits: Limits) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let router = Router::new()
        .route("/events", get(events))
        .route("/flood", get(flood))
        .route("/quiet", get(quiet))
        .route("/socket", get(socket))
        .route("/", post(async || "plain"));
    let task = tokio::spawn(serve(listener, router, limits, stop.clone().cancelled_owned()));
    Server { address, stop, task }
}

/// An event every 50 ms until the listener stops, and a last word.
async fn events(Extension(ending): Extension<Ending>) -> Body {
    let ticks = stream::unfold(0_u32, async |n| {
        sleep(Duration::from_millis(50)).await;
        Some((format!("data: {n}\n\n"), n + 1))
    });
    let last = stream::iter(["event: end\n\n".to_owned()]);
    let pieces = ticks.take_until(ending.begins()).chain(last);
    Body::from_stream(pieces.map(Ok::<_, std::io::Error>))
}

/// More than any buffer holds.
async fn flood() -> Body {
    Body::from_stream(stream::repeat(vec![0_u8; 65_536]).map(Ok::<_, std::io::Error>))
}

/// One event and then nothing, even when the listener stops.
async fn quiet() -> Body {
    let pieces = stream::iter(["data: 0\n\n"]).chain(stream::pending());
    Body::from_stream(pieces.map(Ok::<_, std::io::Error>))
}

async fn socket(upgrade: WebSocketUpgrade, Extension(ending): Extension<Ending>) -> Response {
    upgrade.on_upgrade(async |mut socket: WebSocket| {
        let mut ending = std::pin::pin!(ending.begins());
        loop {
            tokio::select! {
                () = &mut ending => {
                    let _ = socket.send(Message::Text("end".into())).await;
                    return;
                }
                message = socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => { let _ = socket.send(Message::Text(text)).await; }
                    Some(Ok(_)) => {}
                    _ => return,
                }
            }
        }
    })
}

async fn ask(address: SocketAddr, path: &str, more: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Reads until the text is among what was read; false if the connection ends before.
async fn reads(stream: &mut TcpStream, text: &str) -> bool {
    let mut all = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut all).await {
        if String::from_utf8_lossy(&all).contains(text) {
            return true;
        }
    }
    false
}

/// A masked text frame with the mask zero.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(text.as_bytes());
    frame
}

async fn plain(address: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let call = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(call).await.unwrap();
    let answered = reads(&mut stream, "plain").await;
    // The connection stays open, so that it takes a place.
    drop(tokio::spawn(async move {
        sleep(LONG).await;
        drop(stream)
    }));
    answered
}

#[tokio::test]
async fn streams_outlive_the_idle_limit_and_end_with_a_last_word() {
    let server = start(BRIEF).await;
    let mut sse = ask(server.address, "/events", "").await;
    let mut silent = ask(server.address, "/socket", UPGRADE).await;
    let mut talking = ask(server.address, "/socket", UPGRADE).await;
    assert!(reads(&mut silent, "101").await && reads(&mut talking, "101").await);
    // Twelve times the idle limit.
    assert!(reads(&mut sse, "data: 24\n").await);
    talking.write_all(&frame("still here")).await.unwrap();
    assert!(reads(&mut talking, "still here").await);
    server.stop.cancel();
    assert!(reads(&mut sse, "event: end").await);
    assert!(reads(&mut silent, "end").await && reads(&mut talking, "end").await);
    server.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn streams_are_not_closed_for_others_and_leave_them_a_place() {
    let server = start(Limits { idle: LONG, answer: LONG, head: LONG, ..BRIEF }).await;
    let mut streams = Vec::new();
    for n in 0..4 {
        let (path, more) = if n % 2 == 0 { ("/events", "") } else { ("/socket", UPGRADE) };
        let mut stream = ask(server.address, path, more).await;
        assert!(reads(&mut stream, "\r\n\r\n").await);
        streams.push(stream);
    }
    let mut fifth = ask(server.address, "/events", "").await;
    assert!(reads(&mut fifth, "503").await, "four streams are the most");
    for n in 0..40 {
        assert!(plain(server.address).await, "request {n}");
    }
    for (n, stream) in streams.iter_mut().enumerate() {
        if n % 2 == 1 {
            stream.write_all(&frame("hello")).await.unwrap();
        }
        let expected = if n % 2 == 0 { "data: " } else { "hello" };
        assert!(reads(stream, expected).await, "stream {n} is alive");
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed() {
    let streams = StreamLimits { stalled: Duration::from_millis(100), ..BRIEF.streams };
    let server = start(Limits { streams, ..BRIEF }).await;
    let mut stream = ask(server.address, "/flood", "").await;
    assert!(reads(&mut stream, "200 OK").await);
    // A thousand times the limit at most; the test ends as soon as the place is free again.
    let until = Instant::now() + Duration::from_secs(100);
    loop {
        let mut others = Vec::new();
        for _ in 0..4 {
            let mut other = ask(server.address, "/quiet", "").await;
            others.push(reads(&mut other, "200 OK").await.then_some(other));
        }
        if others.iter().all(Option::is_some) {
            break;
        }
        drop(others);
        assert!(Instant::now() < until, "the stream holds its place");
        sleep(Duration::from_millis(50)).await;
    }
    drop(stream);
}

#[tokio::test]
async fn a_silent_stream_ends_and_so_does_the_listener() {
    let farewell = Duration::from_millis(50);
    let silent = Duration::from_millis(300);
    let streams = StreamLimits { silent, farewell, ..BRIEF.streams };
    let server = start(Limits { streams, ..BRIEF }).await;
    let mut stream = ask(server.address, "/quiet", "").await;
    assert!(reads(&mut stream, "data: 0").await);
    assert!(!reads(&mut stream, "data: 1").await, "it is closed");
    let streams = StreamLimits { farewell, ..BRIEF.streams };
    let server = start(Limits { streams, ..BRIEF }).await;
    let mut stream = ask(server.address, "/quiet", "").await;
    assert!(reads(&mut stream, "data: 0").await);
    server.stop.cancel();
    server.task.await.unwrap().unwrap();
    assert!(!reads(&mut stream, "data: 1").await, "its handler had its time");
}
