//! Tests of the timeouts for the first piece of a stream and for later ones.

use std::time::Duration;

use galatea_http::{HttpClient, HttpOptions};

use super::*;
use crate::wire::{Auth, Names, Times, codes};

/// Joins the text of the frames; an empty frame contains nothing of the answer.
#[derive(Default)]
struct Words(TextAnswer);

impl Gather for Words {
    fn take(&mut self, frame: &str, _: &OnText<'_>) -> Result<Progress, Fail> {
        self.0.text.push_str(frame);
        Ok(if frame.is_empty() { Progress::Nothing } else { Progress::More })
    }
    fn complete(&self) -> bool {
        true
    }
    fn usage(&self) -> Usage {
        self.0.usage
    }
    fn finish(self) -> TextAnswer {
        self.0
    }
}

/// Reads one frame every 20 ms with timeouts of 1 s: a busy machine would have to stand still for
/// almost a second to change an outcome.
async fn read(frames: Vec<&'static str>) -> Result<TextAnswer> {
    let patience = Duration::from_secs(1);
    let names = Names { provider: "p", label: "P", key: "K", url: "U" };
    let times = Times { first: patience, idle: patience, total: Duration::from_secs(60) };
    let endpoint = Endpoint::new(
        HttpClient::new(HttpOptions::default()).unwrap(),
        names,
        "https://host/v1",
        Auth::None,
        times,
    )
    .unwrap();
    let frames = stream::iter(frames).then(|frame| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(frame.to_owned())
    });
    drive(&endpoint, "m", frames.boxed(), Words::default(), &|_| ()).await
}

#[tokio::test]
async fn frames_that_hold_nothing_are_silence() {
    let pings = vec![""; 100];
    let first = read(pings.clone()).await.unwrap_err();
    assert_eq!((first.code(), first.message()), (Some(codes::TIMEOUT), "P gave no answer in time"));
    let idle = read([vec!["word"], pings].concat()).await.unwrap_err();
    assert_eq!(
        (idle.code(), idle.message()),
        (Some(codes::TIMEOUT), "P stopped in the middle of its answer")
    );
}

#[tokio::test]
async fn a_broken_answer_says_what_it_used_once_it_was_begun() {
    let silent = read(vec![""; 100]).await.unwrap_err();
    assert_eq!((silent.sent(), silent.spent()), (Sent::Maybe, None), "nothing came of it");
    let broken = read([vec!["word"], vec![""; 100]].concat()).await.unwrap_err();
    assert!(matches!(broken.spent(), Some(Spent { whole: false, .. })), "{broken:?}");
}

#[tokio::test]
async fn a_slow_answer_with_pings_in_between_is_read_to_its_end() {
    // Longer than a timeout altogether.
    let answer = read(["a", "", ""].repeat(20)).await.unwrap();
    assert_eq!(answer.text, "a".repeat(20));
}

#[tokio::test]
async fn the_parser_sees_one_line_at_a_time() {
    let pieces = ["da", "ta: a\n\nda", "ta: ", "b", "\r\n\r", "\ndata: c\rdata", ": d"]
        .map(|piece| Ok(Bytes::from_static(piece.as_bytes())));
    let seen: Vec<_> =
        single_lines(stream::iter(pieces).boxed()).map(|piece| piece.unwrap()).collect().await;
    assert_eq!(seen, ["data: a\n", "\n", "data: b\r\n", "\r\n", "data: c\r", "data: d"]);
}
