//! Questions and their answers.

use galatea_core::ErrorKind;
use galatea_host::{Callbacks, Message, Piece};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::model::{Echo, builder, character};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn an_answer_comes_in_pieces_with_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let mut answering = ada.ask_stream("alice", "hello");
    let mut pieces = Vec::new();
    while let Some(piece) = answering.next().await {
        pieces.push(piece.unwrap());
    }
    let Some(Piece::End(answer)) = pieces.last() else { panic!("{pieces:?}") };
    assert_eq!((answer.text.as_str(), answer.parts.len()), ("You said hello", 1));
    assert!(pieces.contains(&Piece::Thinking), "{pieces:?}");
    assert!(pieces.contains(&Piece::Text("You said hello".to_owned())), "{pieces:?}");
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn the_words_so_far_come_while_the_model_writes() {
    let folder = tempfile::tempdir().unwrap();
    let model = Echo::gated();
    let galatea = builder(folder.path(), &model).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let mut answering = ada.ask_stream("alice", "hello");
    let draft = loop {
        match answering.next().await.unwrap().unwrap() {
            Piece::Draft(text) => break text,
            Piece::Thinking => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(draft, "You said hello");
    model.gate.add_permits(1);
    let mut last = None;
    while let Some(piece) = answering.next().await {
        last = Some(piece.unwrap());
    }
    assert!(matches!(last, Some(Piece::End(answer)) if answer.text == "You said hello"));
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn a_message_with_a_known_id_is_answered_once() {
    let folder = tempfile::tempdir().unwrap();
    let model = Echo::free();
    let galatea = builder(folder.path(), &model).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let message = Message::new("alice", "hello").with_id("web-1");
    let first = ada.handle_message(message.clone()).await.unwrap();
    let before = model.gate.available_permits();
    let again = ada.handle_message(message).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(model.gate.available_permits(), before, "no model was asked");
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn people_have_rooms_of_their_own_and_share_others() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let bob = galatea.add_agent(character("Bob")).await.unwrap();
    let answers = galatea
        .handle_messages(vec![
            (ada.id(), Message::new("alice", "one")),
            (bob.id(), Message::new("alice", "two").in_room("garden")),
            (galatea_core::AgentId::fresh(), Message::new("alice", "three")),
        ])
        .await;
    let texts: Vec<_> =
        answers.iter().map(|answer| answer.as_ref().map(|answer| answer.text.as_str())).collect();
    assert!(matches!(texts[0], Ok("You said one")), "{texts:?}");
    assert!(matches!(texts[1], Ok("You said two")), "{texts:?}");
    assert_eq!(answers[2].as_ref().unwrap_err().kind(), ErrorKind::NotFound);
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn callbacks_are_called_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let galatea = builder(folder.path(), &Echo::free()).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = |log: &Arc<Mutex<Vec<String>>>| {
        let log = Arc::clone(log);
        move |text: &str| log.lock().unwrap().push(text.to_owned())
    };
    let (response, complete, error) = (note(&log), note(&log), note(&log));
    let callbacks = Callbacks::new()
        .on_response(move |answer| response(&answer.text))
        .on_error(move |_| error("error"))
        .on_complete(move || complete("complete"));
    ada.handle_message_with(Message::new("alice", "hello"), callbacks).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["You said hello", "complete"]);
    galatea.shutdown(SOON).await;
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_a_timeout_and_the_turn_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let model = Echo::gated();
    let galatea =
        builder(folder.path(), &model).patience(Duration::from_millis(50)).build().await.unwrap();
    let ada = galatea.add_agent(character("Ada")).await.unwrap();
    let message = Message::new("alice", "hello").with_id("1");
    let late = ada.handle_message(message.clone()).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Timeout);
    model.gate.close();
    // The same message is asked for again, not said again.
    let answer = loop {
        match ada.handle_message(message.clone()).await {
            Ok(answer) => break answer,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Timeout),
        }
    };
    assert_eq!(answer.text, "You said hello");
    galatea.shutdown(SOON).await;
}

/// A turn that a stop cuts off waits in the store; the next process answers it.
#[tokio::test]
async fn queued_work_is_kept_over_a_shutdown() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("agents.db").display());
    let message = Message::new("alice", "hello").with_id("1");
    let model = Echo::gated();
    let first = builder(folder.path(), &model).database(&database).build().await.unwrap();
    let ada = first.add_agent(character("Ada")).await.unwrap();
    let asking = tokio::spawn({
        let (ada, message) = (ada.clone(), message.clone());
        async move { ada.handle_message(message).await }
    });
    while model.busy.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    asking.abort();
    first.shutdown(Duration::ZERO).await;

    let model = Echo::free();
    let second = builder(folder.path(), &model).database(&database).build().await.unwrap();
    let ada = second.add_agent(character("Ada")).await.unwrap();
    assert_eq!(ada.handle_message(message).await.unwrap().text, "You said hello");
    second.shutdown(SOON).await;
}
