//! Which Room a client's conversation goes on in. The client names none: it sends what was said so far. The
//! digest of that leads to the Room in which it was said, once: of two conversations that began alike, each has
//! a Room of its own.

use galatea_core::{Media, Timestamp};
use galatea_host::ops::digest;
use serde_json::{Value, json};

use crate::app::App;

/// How long a conversation can be gone on with, in milliseconds: clients keep theirs for weeks.
const KEPT: i64 = 30 * 24 * 60 * 60 * 1000;
/// Longest earlier conversation that is told to a Room which does not have it, in characters.
const LONGEST: usize = 20_000;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The program that the client is part of: instructions.
    System,
    User,
    Persona,
}

/// Something that was said, as the client tells it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) who: Who,
    pub(super) text: String,
    pub(super) files: Vec<Media>,
}

/// A client's conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Conversation {
    /// All but the newest message.
    pub(super) before: Vec<Line>,
    /// The newest message.
    pub(super) newest: Line,
}

impl Conversation {
    /// Reads a conversation: its last message is the user's. None otherwise.
    pub(super) fn of(mut lines: Vec<Line>) -> Option<Self> {
        let newest = lines.pop().filter(|line| line.who == Who::User)?;
        (!newest.text.trim().is_empty() || !newest.files.is_empty())
            .then_some(Self { before: lines, newest })
    }

    /// The key under which the Room of what was said so far is kept.
    fn key(&self, whose: &str) -> String {
        key(whose, &self.before)
    }

    /// The key once this was answered.
    fn key_after(&self, whose: &str, answer: &str) -> String {
        let mut lines = self.before.clone();
        lines.push(self.newest.clone());
        lines.push(Line { who: Who::Persona, text: answer.to_owned(), files: Vec::new() });
        key(whose, &lines)
    }

    /// The newest message for a Room that does not have what was said before.
    pub(super) fn told(&self) -> String {
        let instructions = self.before.iter().filter(|line| line.who == Who::System);
        let instructions: Vec<&str> =
            instructions.map(|line| line.text.trim()).filter(|text| !text.is_empty()).collect();
        let said = self.before.iter().filter(|line| line.who != Who::System);
        let said: Vec<String> = said
            .map(|line| {
                let who = if line.who == Who::User { "User" } else { "You" };
                format!("{who}: {}", line.text.trim())
            })
            .collect();
        let mut text = String::new();
        if !instructions.is_empty() {
            text.push_str(&format!(
                "(The application says: {})\n\n",
                last(&instructions.join(" "))
            ));
        }
        if !said.is_empty() {
            text.push_str(&format!("(Said so far:\n{})\n\n", last(&said.join("\n"))));
        }
        text.push_str(&self.newest.text);
        text
    }
}

/// The end of a text that is too long.
fn last(text: &str) -> &str {
    let length = text.chars().count();
    let start = text.char_indices().nth(length.saturating_sub(LONGEST)).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

fn key(whose: &str, lines: &[Line]) -> String {
    let said: Vec<Value> = lines
        .iter()
        .filter(|line| line.who != Who::System)
        .map(|line| json!([line.who == Who::User, line.text.trim()]))
        .collect();
    format!("v1:{}", digest(&json!([whose, said]).to_string()).0)
}

/// The channel that a conversation goes on in, if it is known; it is given out once.
pub(super) async fn known(
    app: &App,
    agent: galatea_core::AgentId,
    whose: &str,
    of: &Conversation,
) -> galatea_core::Result<Option<String>> {
    if of.before.iter().all(|line| line.who == Who::System) {
        return Ok(None);
    }
    let (store, key) = (app.ops.store(), of.key(whose));
    let found = store.cached(agent, &key, app.ops.clock().now()).await?;
    let channel = found.and_then(|value| value.as_str().map(str::to_owned));
    if channel.is_some() {
        store.forget(agent, &key).await?;
    }
    Ok(channel)
}

/// Keeps the channel for the client's next message.
pub(super) async fn keep(
    app: &App,
    agent: galatea_core::AgentId,
    (whose, channel): (&str, &str),
    of: &Conversation,
    answer: &str,
) -> galatea_core::Result<()> {
    let until = Timestamp(app.ops.clock().now().0.saturating_add(KEPT));
    let key = of.key_after(whose, answer);
    app.ops.store().cache(agent, &key, &json!(channel), Some(until)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(who: Who, text: &str) -> Line {
        Line { who, text: text.into(), files: Vec::new() }
    }

    #[test]
    fn an_answer_leads_to_the_next_message_of_the_same_conversation() {
        let first = Conversation::of(vec![line(Who::System, "Be brief."), line(Who::User, "Hi")]);
        let first = first.unwrap();
        let next = Conversation::of(vec![
            line(Who::System, "Be brief."),
            line(Who::User, "Hi"),
            line(Who::Persona, "Hello."),
            line(Who::User, "And now?"),
        ]);
        let next = next.unwrap();
        assert_eq!(first.key_after("ada", "Hello."), next.key("ada"));
        assert_ne!(first.key_after("ada", "Hello!"), next.key("ada"));
        assert_ne!(first.key_after("ada", "Hello."), next.key("bob"));
    }

    #[test]
    fn a_room_that_does_not_have_it_is_told_what_was_said() {
        let of = Conversation::of(vec![
            line(Who::System, "Be brief."),
            line(Who::User, "Hi"),
            line(Who::Persona, "Hello."),
            line(Who::User, "And now?"),
        ]);
        let told = of.unwrap().told();
        assert_eq!(
            told,
            "(The application says: Be brief.)\n\n(Said so far:\nUser: Hi\nYou: Hello.)\n\nAnd now?"
        );
        let long = last(&"ä".repeat(LONGEST + 5)).chars().count();
        assert_eq!(long, LONGEST);
    }

    #[test]
    fn a_conversation_ends_with_the_user() {
        assert_eq!(Conversation::of(vec![line(Who::Persona, "Hello.")]), None);
        assert_eq!(Conversation::of(vec![line(Who::User, " ")]), None);
        assert_eq!(Conversation::of(Vec::new()), None);
    }
}
