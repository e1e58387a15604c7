//! Waits for what becomes of a message: an answer, or the reason for none. Events only say when to look;
//! what was answered is read from the store, so that an event that was missed loses no answer.

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::stream;
use galatea_core::{Error, ErrorKind, Memory, Result};
use galatea_host::ops::{
    Operator,
    hearing::SaidMessage,
    jobs::Fate,
    live::{Followed, Follower},
};
use galatea_http::listen::Ending;
use serde_json::{Value, json};
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};

use crate::app::App;

/// How long a request waits for an answer. The listener ends it after 30 s.
const ANSWER: Duration = Duration::from_secs(25);
/// How long a stream waits for one.
const STREAM: Duration = Duration::from_secs(300);
/// Between two looks where no event comes.
const LOOK: Duration = Duration::from_secs(1);
/// Between two comments of a quiet stream.
const COMMENT: Duration = Duration::from_secs(15);

/// A place in the stream of events from before the message: no event about it is missed.
pub(super) struct Waiting(Follower);

/// What an agent answered, in elizaOS's form.
pub(super) fn content(said: &SaidMessage, memories: &[Memory]) -> Value {
    let text: Vec<&str> = memories.iter().map(|memory| memory.content.text.as_str()).collect();
    let first = memories.first();
    let actions: Vec<&String> = memories.iter().flat_map(|m| &m.content.actions).collect();
    let attachments: Vec<_> = memories.iter().flat_map(|m| &m.content.attachments).collect();
    let mut content = json!({
        "thought": first.and_then(|memory| memory.content.thought.as_deref()).unwrap_or_default(),
        "actions": actions,
        "providers": first.map(|memory| memory.content.providers.clone()).unwrap_or_default(),
        "text": text.join("\n"),
        "simple": actions.len() <= 1,
        "responseId": first.map(|memory| memory.id),
        "inReplyTo": said.message.id,
    });
    if !attachments.is_empty() {
        content["attachments"] = json!(attachments);
    }
    content
}

/// The form of an answer that says why there is none. elizaOS's own action for silence is `IGNORE`.
pub(super) fn silence(said: &SaidMessage, reason: &str) -> Value {
    json!({
        "thought": reason,
        "actions": ["IGNORE"],
        "providers": [],
        "text": "",
        "simple": true,
        "responseId": null,
        "inReplyTo": said.message.id,
    })
}

impl Waiting {
    pub(super) async fn begin(app: &App, by: &Operator) -> Result<Self> {
        Ok(Self(app.live.follow(by, None).await?))
    }

    /// What became of the message; `Open` when the time is over.
    async fn fate(
        &mut self,
        app: &App,
        by: &Operator,
        said: &SaidMessage,
        until: Instant,
    ) -> Result<Fate> {
        let Some(agent) = said.heard.first().copied() else {
            return Ok(Fate::Silent("no agent is in the channel".to_owned()));
        };
        loop {
            let fate = app.ops.fate(by, agent, said.channel.id, said.message.id).await?;
            if fate != Fate::Open || Instant::now() >= until {
                return Ok(fate);
            }
            let look = until.min(Instant::now() + LOOK);
            loop {
                match timeout_at(look, self.0.next()).await {
                    Ok(Ok(Some(Followed::Event(event)))) => {
                        let about = event.agent == Some(agent)
                            && matches!(event.kind.as_str(), "message_decided" | "turn_decided");
                        if about {
                            break;
                        }
                    }
                    Ok(Ok(Some(Followed::Missed(_)))) | Err(_) => break,
                    Ok(Ok(None)) => return Err(Error::unexpected("the process ends")),
                    Ok(Err(error)) => return Err(error),
                }
            }
        }
    }

    /// The answer in elizaOS's form.
    ///
    /// # Errors
    /// `Timeout` if there is none in time, and the agent's failure.
    pub(super) async fn answer(
        mut self,
        app: &App,
        by: &Operator,
        said: &SaidMessage,
    ) -> Result<Option<Value>> {
        match self.fate(app, by, said, Instant::now() + ANSWER).await? {
            Fate::Answered(memories) => Ok(Some(content(said, &memories))),
            Fate::Silent(reason) => Ok(Some(silence(said, &reason))),
            Fate::Failed(reason) => Err(Error::new(ErrorKind::Unavailable, reason)),
            Fate::Open => Err(Error::new(
                ErrorKind::Timeout,
                "the agent still works on the answer: it will be in the channel",
            )),
        }
    }

    /// A stream of server-sent events: the message, what the agent answers, and an end in any case.
    pub(super) fn stream(
        self,
        app: &Arc<App>,
        by: Operator,
        said: SaidMessage,
        user: Value,
        ending: Option<Ending>,
    ) -> Response {
        let first = VecDeque::from([Some(written("user_message", &user))]);
        let until = Instant::now() + STREAM;
        let reader =
            Reader { app: Arc::clone(app), waiting: self, by, said, ready: first, until, ending };
        let pieces = stream::unfold(reader, async |mut reader| {
            let piece = reader.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(piece)), reader))
        });
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
            // nginx gathers answers unless it is told not to.
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, Body::from_stream(pieces)).into_response()
    }
}

/// An event in the format of the stream.
fn written(event: &str, data: &Value) -> String {
    format!("event: {event}\ndata: {data}\n\n")
}

/// One program's stream.
struct Reader {
    app: Arc<App>,
    waiting: Waiting,
    by: Operator,
    said: SaidMessage,
    /// Pieces to send; none ends the stream.
    ready: VecDeque<Option<String>>,
    until: Instant,
    ending: Option<Ending>,
}

impl Reader {
    async fn next(&mut self) -> Option<String> {
        if let Some(piece) = self.ready.pop_front() {
            return piece;
        }
        let Self { app, waiting, by, said, until, ending, .. } = self;
        let ends = async {
            match ending.clone() {
                Some(ending) => ending.begins().await,
                None => std::future::pending().await,
            }
        };
        let part = (*until).min(Instant::now() + COMMENT);
        let fate = tokio::select! {
            biased;
            () = ends => Err(Error::unexpected("the process ends")),
            fate = waiting.fate(app, by, said, part) => fate,
        };
        let pieces = match fate {
            Ok(Fate::Open) if Instant::now() < *until => return Some(":\n\n".to_owned()),
            Ok(Fate::Open) => {
                let error = "the agent did not answer in time: the answer will be in the channel";
                vec![written("error", &json!({ "error": error }))]
            }
            Ok(Fate::Answered(memories)) => {
                let mut pieces: Vec<String> = Vec::new();
                for (index, memory) in memories.iter().enumerate() {
                    let chunk = json!({
                        "messageId": memory.id,
                        "chunk": memory.content.text,
                        "index": index,
                    });
                    pieces.push(written("chunk", &chunk));
                }
                pieces.push(written("done", &content(said, &memories)));
                pieces
            }
            Ok(Fate::Silent(reason)) => vec![written("done", &silence(said, &reason))],
            Ok(Fate::Failed(reason)) => vec![written("error", &json!({ "error": reason }))],
            Err(error) => vec![written("error", &json!({ "error": error.to_string() }))],
        };
        self.ready = pieces.into_iter().map(Some).chain([None]).collect();
        self.ready.pop_front().flatten()
    }
}
