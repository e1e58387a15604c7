//! One message of a client, and its answer as it comes.

use galatea_core::{
    AgentId, ChannelType, Decision, Error, ErrorKind, MemoryId, Result, Role, store::OperatorRole,
};
use galatea_host::ops::{
    Operator,
    chat::{Channel, ChatEvent, Outcome, Said, Speaker, Waiting},
};
use std::{sync::Arc, time::Duration};

use super::conversation::{self, Conversation};
use crate::{app::App, person::person_of};

/// How long an answer may take. The listener allows 150 s for an answer without a stream.
const PATIENCE: Duration = Duration::from_secs(140);
/// Longest id of a client's user that is kept as it is; others are kept as a digest.
const SHORT: usize = 40;

/// What a client asks.
pub(super) struct Asked {
    pub(super) agent: AgentId,
    pub(super) conversation: Conversation,
    /// The client's own id of its user, if it names one.
    pub(super) user: Option<String>,
    /// The client's own key of the request, if it names one.
    pub(super) key: Option<String>,
}

/// A message that is being answered.
pub(super) struct Talk {
    app: Arc<App>,
    agent: AgentId,
    whose: String,
    channel: String,
    conversation: Conversation,
    waiting: Waiting,
    /// What the client has already.
    sent: String,
    input: u64,
    output: u64,
}

/// The end of an answer.
pub(super) struct Finished {
    /// The whole answer; empty if the persona stays silent.
    pub(super) text: String,
    /// What the client does not have yet.
    pub(super) rest: String,
    pub(super) input: u64,
    pub(super) output: u64,
}

fn speaker(by: &Operator, user: Option<&str>) -> Speaker {
    let own = person_of(by);
    let Some(user) = user else {
        let mut speaker = Speaker::new(own, Some(by.name.clone()));
        speaker.role = (by.role == OperatorRole::Owner).then_some(Role::Owner);
        return speaker;
    };
    let plain = galatea_web_id(user) && user.len() <= SHORT;
    let id = if plain {
        user.to_owned()
    } else {
        let digest = galatea_host::ops::digest(user).0;
        digest.get(..SHORT).unwrap_or_default().to_owned()
    };
    Speaker::new(format!("as:{own}:{id}"), Some(if plain { id } else { "a visitor".to_owned() }))
}

/// Whether an id can be one of the web as it is.
fn galatea_web_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b))
}

impl Talk {
    /// Says the newest message.
    pub(super) async fn begin(app: &Arc<App>, by: &Operator, asked: Asked) -> Result<Self> {
        by.need(OperatorRole::Operator)?;
        let Asked { agent, conversation, user, key } = asked;
        let person = speaker(by, user.as_deref());
        let whose = person.id.clone();
        let known = conversation::known(app, agent, &whose, &conversation).await?;
        let text = match &known {
            Some(_) => conversation.newest.text.clone(),
            None => conversation.told(),
        };
        let id = MemoryId::fresh().to_string();
        let channel = known.unwrap_or_else(|| format!("v1.{id}"));
        // The client repeats a request under its key; the same request has the same digest.
        let message = key.map_or(id, |key| {
            galatea_host::ops::digest(&format!("{whose} {key}")).0.chars().take(SHORT).collect()
        });
        let mut place = Channel::new(&channel, ChannelType::Dm);
        place.name = Some("Conversation of a client".to_owned());
        let mut said = Said::new(person, place, message, text);
        said.attachments.clone_from(&conversation.newest.files);
        let follower = app.chat.follow(Some(Vec::new()), None).await?;
        let heard = app.chat.say(&[agent], &said).await?;
        let waiting = app.chat.wait(&heard, follower, PATIENCE);
        Ok(Self {
            app: Arc::clone(app),
            agent,
            whose,
            channel,
            conversation,
            waiting,
            sent: String::new(),
            input: 0,
            output: 0,
        })
    }

    /// The next piece of the answer, for clients that add pieces to each other; none at its end.
    ///
    /// # Errors
    /// Failures of the store.
    pub(super) async fn piece(&mut self) -> Result<Option<String>> {
        while let Some(event) = self.waiting.next().await? {
            match event {
                ChatEvent::Model { usage, .. } => {
                    self.input += usage.input;
                    self.output += usage.output;
                }
                ChatEvent::Draft(draft) => {
                    if let Some(piece) = added(&self.sent, settled(&draft.text)) {
                        let piece = piece.to_owned();
                        self.sent.push_str(&piece);
                        return Ok(Some(piece));
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The end of the answer. Called once no piece follows.
    ///
    /// # Errors
    /// `Timeout` without an answer in time, `Unavailable` if no answer could be made.
    pub(super) async fn finish(mut self) -> Result<Finished> {
        while self.piece().await?.is_some() {}
        let Self { app, agent, whose, channel, conversation, waiting, sent, input, output } = self;
        let outcome = waiting.outcomes().into_iter().next().ok_or_else(|| {
            Error::new(ErrorKind::Timeout, "the persona did not answer in time")
                .with_fix("the answer is stored when it comes; ask again later")
        })?;
        let text = text_of(outcome)?;
        conversation::keep(&app, agent, (&whose, &channel), &conversation, &text).await?;
        let rest = match added(&sent, &text) {
            Some(rest) => rest.to_owned(),
            None if text == sent => String::new(),
            // The words were changed after they had been shown; pieces cannot be taken back.
            None => format!("\n\n{text}"),
        };
        Ok(Finished { text, rest, input, output })
    }
}

/// The words of an outcome.
fn text_of(outcome: Outcome) -> Result<String> {
    let Outcome { decision, reason, messages, .. } = outcome;
    if matches!(decision, Decision::Failed | Decision::Expired) {
        let why = reason.unwrap_or_default();
        return Err(
            Error::new(ErrorKind::Unavailable, "the persona could not answer").with("cause", why)
        );
    }
    let parts: Vec<String> = messages.into_iter().map(|message| message.text).collect();
    Ok(parts.join("\n\n"))
}

/// The end of a text that begins with what was sent; none if it does not, or adds nothing.
fn added<'a>(sent: &str, text: &'a str) -> Option<&'a str> {
    text.strip_prefix(sent).filter(|rest| !rest.is_empty())
}

/// The part of a draft that no longer changes: all but its last, unfinished sentence. What follows may still turn
/// out to be a label or a repetition, which the committed answer does not have.
fn settled(draft: &str) -> &str {
    let ends = |(at, c): (usize, char)| {
        let next = draft.get(at + c.len_utf8()..)?.chars().next()?;
        (matches!(c, '.' | '!' | '?' | '…') && next.is_whitespace() || c == '\n')
            .then_some(at + c.len_utf8())
    };
    let end = draft.char_indices().filter_map(ends).next_back().unwrap_or(0);
    draft.get(..end).unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finished_sentences_are_sent_before_the_commit() {
        assert_eq!(settled("Hello there. How are"), "Hello there.");
        assert_eq!(settled("Hello there."), "");
        assert_eq!(settled("One\nTwo"), "One");
        assert_eq!(settled("3.5 is more"), "");
        assert_eq!(settled(""), "");
        assert_eq!(added("Hello.", "Hello. You?"), Some(" You?"));
        assert_eq!(added("Hello.", "Hello."), None);
        assert_eq!(added("Hello.", "Hi."), None);
    }
}
