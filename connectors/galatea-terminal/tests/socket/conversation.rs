//! Tests of conversations: a message is stored before it is confirmed, and shown once per key.

use crate::bench::{Bench, address, agent, heard};
use galatea_core::{ErrorKind, ReadBackContext, ReadBackResult, RemoteId, TurnId, error::Sent};
use galatea_terminal::{Heard, TerminalClient};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixListener,
};

#[tokio::test]
async fn a_conversation_there_and_back() {
    let bench = Bench::start().await;
    let mut maria = bench.client("maria").await;
    assert_eq!((maria.agent(), maria.agent_id()), ("Eliza", agent().id()));

    let said = maria.say("hello").await.unwrap();
    let Heard::Received { id, memory } = heard(&mut maria).await else { panic!() };
    assert_eq!(id, said);
    assert_eq!(
        *bench.recorder.ids.lock().unwrap(),
        [format!("terminal-maria/{said}")],
        "stored before it is confirmed"
    );

    bench.handler().typing(&address("terminal-maria")).await.unwrap();
    assert_eq!(heard(&mut maria).await, Heard::Typing);

    let [delivery] = bench.deliveries("maria", "k", "Hello.", Some(memory)).try_into().unwrap();
    let sending = tokio::spawn({
        let (handler, delivery) = (bench.handler(), delivery.clone());
        async move { handler.send(&delivery).await }
    });
    let Heard::Message(message) = heard(&mut maria).await else { panic!() };
    assert_eq!(
        (message.part.text.as_str(), message.part.in_reply_to, message.part.last),
        ("Hello.", Some(memory), true)
    );
    assert!(!sending.is_finished(), "only a confirmed message counts as sent");
    maria.confirm(&message).await.unwrap();
    assert_eq!(sending.await.unwrap().unwrap().id, Some(RemoteId::new("terminal-maria/k0")));
    assert!(matches!(
        bench.handler().find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Sent(_)
    ));
    bench.end().await;
}

#[tokio::test]
async fn a_say_that_could_not_be_stored_is_not_confirmed_and_can_be_said_again() {
    let bench = Bench::start().await;
    let mut maria = bench.client("maria").await;
    *bench.recorder.broken.lock().unwrap() = true;
    maria.say_as("m-1", "hello").await.unwrap();
    let Heard::Refused { code, id, .. } = heard(&mut maria).await else { panic!() };
    assert_eq!((code.as_str(), id.as_deref()), ("GAL-DB-FULL", Some("m-1")));
    *bench.recorder.broken.lock().unwrap() = false;
    for _ in 0..2 {
        maria.say_as("m-1", "hello").await.unwrap();
        assert!(matches!(heard(&mut maria).await, Heard::Received { .. }));
    }
    assert_eq!(bench.recorder.ids.lock().unwrap().len(), 1, "the same id is one message");
    bench.end().await;
}

#[tokio::test]
async fn an_answer_waits_for_its_room_and_reaches_no_other() {
    let bench = Bench::start().await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();
    let mut other = bench.client("other").await;
    let error = bench.handler().send(&delivery).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.sent(), error.code()),
        (ErrorKind::RateLimited, Sent::No, Some("GAL-TERM-OFFLINE")),
        "only its room is paused, and no breaker opens"
    );

    let mut maria = bench.client("maria").await;
    let handler = bench.handler();
    let (sent, message) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        maria.confirm(&message).await.unwrap();
        message
    });
    sent.unwrap();
    assert_eq!(message.part.text, "Hello.");
    bench.handler().typing(&address("terminal-other")).await.unwrap();
    assert_eq!(
        heard(&mut other).await,
        Heard::Typing,
        "the first frame that the other room receives"
    );
    bench.end().await;
}

#[tokio::test]
async fn a_key_is_shown_once_however_often_it_is_sent() {
    let bench = Bench::start().await;
    let [delivery] = bench.deliveries("maria", "k", "Hello.", None).try_into().unwrap();

    // The terminal closes before it confirms, so it is unknown whether the message was read.
    let mut gone = bench.client("maria").await;
    let handler = bench.handler();
    let (sent, ()) = tokio::join!(handler.send(&delivery), async move {
        assert!(matches!(heard(&mut gone).await, Heard::Message(_)));
        gone.close().await;
    });
    assert_eq!(sent.unwrap_err().sent(), Sent::Maybe);
    assert_eq!(
        bench.handler().find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Unknown
    );

    // A client that stays connected confirms the repeated message by itself and shows it once.
    let mut maria = bench.client("maria").await;
    let (sent, ()) = tokio::join!(handler.send(&delivery), async {
        let Heard::Message(message) = heard(&mut maria).await else { panic!() };
        maria.confirm(&message).await.unwrap();
    });
    sent.unwrap();
    handler.send(&delivery).await.unwrap();
    bench.handler().typing(&address("terminal-maria")).await.unwrap();
    assert_eq!(heard(&mut maria).await, Heard::Typing, "the second attempt showed nothing");
    bench.end().await;
}

#[tokio::test]
async fn a_key_known_to_the_client_is_confirmed_after_the_server_forgot_it() {
    let bench = Bench::start().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fake.sock");
    let server = UnixListener::bind(&path).unwrap();
    let client = tokio::spawn(async move {
        let mut client = TerminalClient::connect(&path, "maria").await.unwrap();
        let mut shown = 0;
        while let Some(heard) = client.next().await.unwrap() {
            let Heard::Message(message) = heard else { panic!("{heard:?}") };
            client.confirm(&message).await.unwrap();
            shown += 1;
        }
        client.close().await;
        shown
    });
    let (mut stream, _) = server.accept().await.unwrap();
    let hello = format!(
        "{{\"type\":\"hello\",\"v\":1,\"agent\":\"E\\u001b[2Jliza\",\"agent_id\":\"{}\"}}\n",
        agent().id()
    );
    stream.write_all(hello.as_bytes()).await.unwrap();
    let line = format!(
        "{{\"type\":\"message\",\"key\":\"k\",\"turn\":\"{}\",\"text\":\"x\",\"last\":true,\"new_field\":1}}\n",
        TurnId::fresh()
    );
    stream.write_all(line.repeat(2).as_bytes()).await.unwrap();
    let mut read = String::new();
    while read.matches("\"ack\"").count() < 2 {
        let mut buffer = [0; 1024];
        let n = stream.read(&mut buffer).await.unwrap();
        assert!(n > 0, "both must be confirmed: {read}");
        read.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
    }
    drop(stream);
    assert_eq!(client.await.unwrap(), 1);
    bench.end().await;
}
