//! Tests with clients that violate the protocol.

use crate::bench::{Bench, heard};
use galatea_core::{ReadBackContext, ReadBackResult};
use galatea_terminal::Heard;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

/// Writes raw lines and reads frames until the other side closes or `until` frames arrived.
async fn raw(bench: &Bench, lines: &str, until: usize) -> Vec<serde_json::Value> {
    let mut stream = UnixStream::connect(bench.socket()).await.unwrap();
    stream.write_all(lines.as_bytes()).await.unwrap();
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while text.lines().count() < until {
        match stream.read(&mut buffer).await.unwrap() {
            0 => break,
            n => text.push_str(std::str::from_utf8(&buffer[..n]).unwrap()),
        }
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn hostile_lines_end_in_a_clear_error_and_disturb_no_other_client() {
    let bench = Bench::start().await;
    let hello = "{\"type\":\"hello\",\"v\":1,\"name\":\"eve\"}\n";
    for (lines, code) in [
        ("{\"type\":\"say\",\"id\":\"1\",\"text\":\"x\"}\n", "GAL-TERM-HELLO"),
        ("{\"type\":\"hello\",\"v\":99,\"name\":\"eve\"}\n", "GAL-TERM-VERSION"),
        ("{\"type\":\"hello\",\"v\":1,\"name\":\"a/b\"}\n", "GAL-TERM-NAME"),
        ("GET / HTTP/1.1\r\n", "GAL-TERM-FRAME"),
    ] {
        let frames = raw(&bench, lines, usize::MAX).await;
        assert_eq!(frames.last().unwrap()["code"], code, "and the connection closes: {frames:?}");
    }
    let frames =
        raw(&bench, &format!("{hello}[]\n{{\"type\":\"say\",\"id\":\"a/b\",\"text\":\"x\"}}\n{{\"type\":\"say\",\"id\":\"1\",\"text\":\"x\"}}\n"), 4).await;
    let codes: Vec<_> =
        frames.iter().map(|f| f["code"].as_str().or(f["type"].as_str()).unwrap()).collect();
    assert_eq!(
        codes,
        ["hello", "GAL-TERM-FRAME", "GAL-TERM-SAY", "received"],
        "a malformed line does not end the conversation"
    );

    let endless = format!("{hello}{}", "x".repeat(galatea_terminal::frame::MAX_LINE + 1));
    let mut stream = UnixStream::connect(bench.socket()).await.unwrap();
    let (mut read, mut write) = stream.split();
    let mut answer = Vec::new();
    let (_, read) =
        tokio::join!(write.write_all(endless.as_bytes()), read.read_to_end(&mut answer));
    // Part of the line is still unread when the other side closes, which the system may report as a
    // reset.
    drop(read);
    assert!(
        String::from_utf8_lossy(&answer).contains("GAL-TERM-LINE"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    drop(stream);

    let mut maria = bench.client("maria").await;
    maria.say("still there?").await.unwrap();
    assert!(matches!(heard(&mut maria).await, Heard::Received { .. }));
    bench.end().await;
}

#[tokio::test]
async fn a_client_cannot_confirm_what_it_was_not_given() {
    let bench = Bench::start().await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();
    let mut maria = bench.client("maria").await;
    let frames =
        "{\"type\":\"hello\",\"v\":1,\"name\":\"eve\"}\n{\"type\":\"ack\",\"key\":\"k0\"}\n[]\n";
    let (handler, before) = (bench.handler(), Arc::new(Mutex::new(HashSet::new())));
    let (sent, ()) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        raw(&bench, frames, 2).await;
        assert_eq!(
            handler.find(&delivery, &ReadBackContext::default()).await.unwrap(),
            ReadBackResult::Unknown,
            "eve's confirmation does not count"
        );
        before.lock().unwrap().insert(message.key.clone());
        maria.confirm(&message).await.unwrap();
    });
    sent.unwrap();
    assert_eq!(before.lock().unwrap().len(), 1);
    bench.end().await;
}
