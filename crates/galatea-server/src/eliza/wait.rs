//! Waits for what becomes of a message: an answer, or the reason for none. Events only say when to look;
//! what was answered is read from the store, so that an event that was missed loses no answer.

use axum::response::Response;
use galatea_core::{Error, ErrorKind, Memory, Result, event::Draft};
use galatea_host::ops::{
    Operator,
    chat::{ChatEvent, ChatFollower},
    hearing::SaidMessage,
    jobs::Fate,
};
use galatea_http::listen::Ending;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};

use crate::{app::App, sse};

/// How long a request waits for an answer. The listener ends it after 30 s.
const ANSWER: Duration = Duration::from_secs(25);
/// How long a stream waits for one.
const STREAM: Duration = Duration::from_secs(300);
/// Between two looks where no event comes.
const LOOK: Duration = Duration::from_secs(1);
/// The end of a stream whose process stops.
const STOPPED: &str =
    "event: error\ndata: {\"error\":\"the server stops; the answer will be in the channel\"}\n\n";

/// A place in the stream of events from before the message: no event about it is missed.
pub(super) struct Waiting(ChatFollower);

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

/// What happens on the way to an answer.
enum Step {
    /// The words so far.
    Draft(Draft),
    /// The end; `Open` when the time is over.
    End(Fate),
}

impl Waiting {
    pub(super) async fn begin(app: &App) -> Result<Self> {
        Ok(Self(app.chat.follow(Some(Vec::new()), None).await?))
    }

    async fn step(
        &mut self,
        app: &App,
        by: &Operator,
        said: &SaidMessage,
        until: Instant,
    ) -> Result<Step> {
        let Some(heard) = said.heard.first() else {
            return Ok(Step::End(Fate::Silent("no agent is in the channel".to_owned())));
        };
        self.0.add(heard.room);
        // One that was said before may be answered already.
        let mut look = !heard.new;
        loop {
            if look {
                let fate = app.ops.fate(by, heard.agent, said.channel.id, said.message.id).await?;
                if fate != Fate::Open || Instant::now() >= until {
                    return Ok(Step::End(fate));
                }
            }
            let next = until.min(Instant::now() + LOOK);
            look = match timeout_at(next, self.0.next()).await {
                Ok(Ok(Some(ChatEvent::Draft(draft)))) if draft.agent == heard.agent => {
                    return Ok(Step::Draft(draft));
                }
                Ok(Ok(Some(ChatEvent::Decided { memory, .. }))) => memory == heard.memory,
                Ok(Ok(Some(ChatEvent::Missed(_)))) | Err(_) => true,
                Ok(Ok(Some(_))) => false,
                Ok(Ok(None)) => return Err(Error::unexpected("the process ends")),
                Ok(Err(error)) => return Err(error),
            };
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
    ) -> Result<Value> {
        let until = Instant::now() + ANSWER;
        loop {
            match self.step(app, by, said, until).await? {
                Step::Draft(_) => {}
                Step::End(Fate::Answered(memories)) => return Ok(content(said, &memories)),
                Step::End(Fate::Silent(reason)) => return Ok(silence(said, &reason)),
                Step::End(Fate::Failed(reason)) => {
                    return Err(Error::new(ErrorKind::Unavailable, reason));
                }
                Step::End(Fate::Open) => {
                    let words = "the agent still works on the answer: it will be in the channel";
                    return Err(Error::new(ErrorKind::Timeout, words));
                }
            }
        }
    }

    /// A stream of server-sent events: the message, what the agent says while it thinks, what it answers,
    /// and an end in any case.
    pub(super) fn stream(
        mut self,
        app: &Arc<App>,
        by: Operator,
        said: SaidMessage,
        user: Value,
        ending: Option<Ending>,
    ) -> Response {
        let app = Arc::clone(app);
        sse::respond(ending, STOPPED, move |events| async move {
            events.send("user_message", &user).await;
            let (until, mut shown) = (Instant::now() + STREAM, Shown::default());
            let last = loop {
                match self.step(&app, &by, &said, until).await {
                    Ok(Step::Draft(draft)) => {
                        if let Some(chunk) = shown.more(&draft.text, json!(draft.turn)) {
                            events.send("chunk", &chunk).await;
                        }
                    }
                    Ok(Step::End(fate)) => break Ok(fate),
                    Err(error) => break Err(error),
                }
            };
            match last {
                Ok(Fate::Answered(memories)) => {
                    let content = content(&said, &memories);
                    let text = content["text"].as_str().unwrap_or_default();
                    if let Some(chunk) = shown.more(text, content["responseId"].clone()) {
                        events.send("chunk", &chunk).await;
                    }
                    events.send("done", &content).await;
                }
                Ok(Fate::Silent(reason)) => events.send("done", &silence(&said, &reason)).await,
                Ok(Fate::Failed(reason)) => events.send("error", &json!({ "error": reason })).await,
                Ok(Fate::Open) => {
                    let words =
                        "the agent did not answer in time: the answer will be in the channel";
                    events.send("error", &json!({ "error": words })).await;
                }
                Err(error) => events.send("error", &json!({ "error": error.to_string() })).await,
            }
        })
    }
}

/// Words that were sent in pieces. elizaOS's pieces are added to one another, so that what was sent
/// stands: where the model begins anew, nothing more is sent before the answer itself.
#[derive(Default)]
struct Shown {
    text: String,
    pieces: usize,
}

impl Shown {
    /// The piece that is new; none if there is none, or if these words do not go on from the others.
    fn more(&mut self, text: &str, message: Value) -> Option<Value> {
        let new = text.strip_prefix(self.text.as_str()).filter(|new| !new.is_empty())?;
        let chunk = json!({ "messageId": message, "chunk": new, "index": self.pieces });
        self.text.push_str(new);
        self.pieces += 1;
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_to_the_answer() {
        let mut shown = Shown::default();
        let mut chunk = |text: &str| {
            shown.more(text, Value::Null).map(|c| (c["chunk"].clone(), c["index"].clone()))
        };
        assert_eq!(chunk("Hel"), Some((json!("Hel"), json!(0))));
        assert_eq!(chunk("Hel"), None);
        assert_eq!(chunk("Something else"), None, "what was sent stands");
        assert_eq!(chunk("Hello."), Some((json!("lo."), json!(1))));
    }
}
