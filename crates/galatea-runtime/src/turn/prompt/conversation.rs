//! Turns stored messages into messages for a model.
//!
//! Where the agent talks with one person, a message is their words and nothing else. Where several
//! people talk, it begins with `Name:`, and each further line of it is indented: a name has neither
//! `:` nor brackets, so no text can end its own message or begin another's, whatever it holds. What
//! the messages to be answered refer to, and when the talk paused, is told apart from them, in plain
//! sentences that only this prompt has ([`RenderedConversation::about`]): whatever stands in front of
//! each message, a weak model writes in front of its own.

use galatea_core::{
    EntityId, Media, MediaKind, Memory, MemoryId, Quote, QuoteKind, Speakers, Turn,
    model::{ChatMessage, ChatRole},
    speakers,
    visible::visible,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use self::{quoted::shortened, times::Times};
use super::unread;

mod quoted;
mod times;

/// Graphemes shown of a quoted message: enough to find one that is shown itself, and the whole of
/// most others.
const QUOTED_SHOWN: usize = 100;
const QUOTED: usize = 1_500;
/// Characters of files in earlier messages that a model reads, the newest first: two whole ones. Of
/// the others it reads the beginning. A person who sends many must not fill every later prompt of
/// a Room.
const EARLIER_FILES: usize = 16_000;
const BEGINNING: usize = 200;
/// Begins each further line of a message where several people talk.
const INDENT_LINE: &str = "\n  ";
/// First message where the agent spoke first: a conversation begins on the other side.
pub(crate) const OPENING: &str = "(The conversation so far.)";
/// The words of a message that only refers to another.
const WITHOUT_WORDS: &str = "(no words)";

/// A conversation as a model reads it.
pub(crate) struct RenderedConversation {
    pub(crate) messages: Vec<ChatMessage>,
    /// Number of the last messages that wait for an answer.
    pub(crate) waiting: usize,
    /// References of the messages to be answered, and pauses of the talk: sentences for this prompt
    /// only.
    pub(crate) about: String,
}

/// True if the agent talks with one person, so that messages need no names.
pub(crate) fn is_alone(turn: &Turn<'_>) -> bool {
    let (own, speaker) = (turn.agent.identity.entity(), turn.message.entity_id);
    let earlier = turn.recent.iter().map(|memory| memory.entity_id);
    turn.room.kind.is_direct()
        && turn
            .merged
            .iter()
            .map(|memory| memory.entity_id)
            .chain(earlier)
            .all(|person| person == own || person == speaker)
}

/// The conversation as the model's own turns, what waits for an answer last.
pub(crate) fn render(turn: &Turn<'_>) -> RenderedConversation {
    let own = turn.agent.identity.entity();
    let renderer = Renderer {
        speakers: Speakers::of(turn),
        shown: turn.recent.iter().map(|memory| (memory.id, memory.entity_id)).collect(),
        alone: is_alone(turn),
    };
    let mut files = EARLIER_FILES;
    let mut earlier: Vec<(&Memory, Cow<'_, str>)> = turn
        .recent
        .iter()
        .rev()
        .map(|memory| (memory.as_ref(), words_of(memory, &mut files)))
        .collect();
    earlier.reverse();
    let waiting: Vec<(&Memory, Cow<'_, str>)> = turn
        .merged
        .iter()
        .chain(std::iter::once(turn.message))
        .map(|m| (m, words_of(m, &mut usize::MAX.clone())))
        .collect();
    let about = renderer.about(turn, &earlier, &waiting);
    let mut fields: BTreeMap<EntityId, String> = BTreeMap::new();
    let mut say = |(memory, words): &(&Memory, Cow<'_, str>)| {
        if memory.entity_id == own {
            return (!words.is_empty()).then(|| ChatMessage::assistant(words.as_ref()));
        }
        let said = ChatMessage::user(renderer.said(memory, words)?);
        if renderer.alone {
            return Some(said);
        }
        let person = memory.entity_id;
        let field = fields.entry(person).or_insert_with(|| renderer.speakers.field(person));
        Some(said.named(field.as_str()))
    };
    let mut messages: Vec<ChatMessage> = earlier.iter().filter_map(&mut say).collect();
    let before = messages.len();
    messages.extend(waiting.iter().filter_map(&mut say));
    let waiting = messages.len() - before;
    if messages.first().is_some_and(|first| first.role == ChatRole::Assistant) {
        messages.insert(0, ChatMessage::user(OPENING));
    }
    RenderedConversation { messages, waiting, about }
}

/// A script gets the person's words only.
pub(crate) fn bare(turn: &Turn<'_>) -> Vec<ChatMessage> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    for memory in turn.recent {
        let text = question(memory).into_owned();
        if text.is_empty() {
            continue;
        }
        messages.push(if memory.entity_id == turn.agent.identity.entity() {
            ChatMessage::assistant(text)
        } else {
            ChatMessage::user(text)
        });
    }
    let waiting: Vec<_> = turn
        .merged
        .iter()
        .chain(std::iter::once(turn.message))
        .map(|m| question(m).into_owned())
        .filter(|t| !t.is_empty())
        .collect();
    messages.push(ChatMessage::user(waiting.join("\n")));
    messages
}

struct Renderer {
    speakers: Speakers,
    /// The messages shown, each with its author.
    shown: HashMap<MemoryId, EntityId>,
    alone: bool,
}

impl Renderer {
    /// Message of one person; none when there is nothing to read.
    fn said(&self, memory: &Memory, words: &str) -> Option<String> {
        let content = &memory.content;
        let forwarded = content.extra.get("forwardedFrom").and_then(|name| name.as_str());
        let mut text = forwarded
            .map_or_else(String::new, |by| format!("(forwarded from {}) ", speakers::display(by)));
        text.push_str(words);
        for quote in content.quotes.iter().filter(|quote| quote.kind != QuoteKind::Reply) {
            let (by, said) = (self.author(quote, None), self.words(quote, QUOTED));
            let how = if quote.kind == QuoteKind::Forward { "forwarded from" } else { "quoting" };
            if !said.is_empty() {
                let space = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{space}({how} {by}: “{said}”)"));
            }
        }
        if text.trim().is_empty() {
            let refers = |quote: &Quote| quote.own || !self.words(quote, QUOTED).is_empty();
            text = content.quotes.iter().any(refers).then(|| WITHOUT_WORDS.to_owned())?;
        }
        if self.alone {
            return Some(text);
        }
        let mut attributed = format!("{}:", self.speakers.of_memory(memory));
        for (n, line) in text.split('\n').enumerate() {
            attributed.push_str(match (n, line.is_empty()) {
                (0, _) => " ",
                (_, true) => "\n",
                (_, false) => INDENT_LINE,
            });
            attributed.push_str(line);
        }
        Some(attributed)
    }

    /// Sentences that stand apart from the messages.
    fn about(
        &self,
        turn: &Turn<'_>,
        earlier: &[(&Memory, Cow<'_, str>)],
        waiting: &[(&Memory, Cow<'_, str>)],
    ) -> String {
        let times = Times::new(&turn.agent.zone, turn.now());
        let talk = earlier.iter().map(|(memory, words)| (memory.created_at, words.as_ref()));
        let asked = waiting.first().map(|(memory, _)| memory.created_at);
        let paused = times.told(talk, asked);
        let mut before = earlier.last().map(|(memory, _)| memory.id);
        let mut replies = Vec::new();
        for (memory, words) in waiting {
            replies.extend(self.reply(memory, before).map(|what| {
                let whose = if self.alone {
                    "The person's message".to_owned()
                } else {
                    format!("The message of {}", self.speakers.of_memory(memory))
                };
                let which = if waiting.len() > 1 && !words.is_empty() {
                    format!(" “{}”", shortened(words, times::BEGINNING))
                } else {
                    String::new()
                };
                format!("{whose}{which} {what}")
            }));
            before = Some(memory.id);
        }
        paused.into_iter().chain(replies).collect::<Vec<_>>().join(" ")
    }

    /// Quote of the message replied to, unless that stands right before it.
    fn reply(&self, memory: &Memory, before: Option<MemoryId>) -> Option<String> {
        let content = &memory.content;
        let quote = content.quotes.iter().find(|quote| quote.kind == QuoteKind::Reply)?;
        if content.in_reply_to.is_some() && content.in_reply_to == before {
            return None;
        }
        let shown = content.in_reply_to.and_then(|id| self.shown.get(&id).copied());
        let said = self.words(quote, if shown.is_some() { QUOTED_SHOWN } else { QUOTED });
        let by = if shown == Some(memory.entity_id) && !quote.own {
            "they wrote themselves".to_owned()
        } else {
            format!("{} wrote", self.author(quote, shown))
        };
        match (said.is_empty(), quote.own) {
            (false, _) => Some(format!("replies to what {by} before: “{said}”")),
            (true, true) => Some("replies to a message of yours.".to_owned()),
            (true, false) => None,
        }
    }

    fn author(&self, quote: &Quote, shown: Option<EntityId>) -> String {
        match (quote.own, shown, quote.by.as_deref().map(speakers::display)) {
            (true, ..) => "you".to_owned(),
            // The form in which the message itself is shown.
            (_, Some(author), _) => self.speakers.name(author),
            (_, _, Some(name)) if !name.is_empty() => name,
            _ => "someone".to_owned(),
        }
    }

    /// A quotation, as one line without quotation marks.
    fn words(&self, quote: &Quote, most: usize) -> String {
        let mut said = quoted::unquoted(&quote.text);
        for media in &quote.attachments {
            let (kind, about) = file(media);
            let about = quoted::unquoted(about);
            let space = if said.is_empty() { "" } else { " " };
            let colon = if about.is_empty() { "" } else { ": " };
            said.push_str(&format!("{space}({kind}{colon}{about})"));
        }
        quoted::bounded(&said, most)
    }
}

/// Words of a message, with its files; `left` is what is left for these, of which each has its
/// beginning in any case.
fn words_of<'a>(memory: &'a Memory, left: &mut usize) -> Cow<'a, str> {
    let mut words = question(memory);
    for media in &memory.content.attachments {
        let (kind, about) = file(media);
        let about = visible(about);
        let end = about.char_indices().nth((*left).max(BEGINNING)).map(|(end, _)| end);
        let (about, more) = end.map_or((about.as_ref(), ""), |end| (&about[..end], " […]"));
        *left = left.saturating_sub(about.chars().count());
        let line = format!("[{kind}{}{about}{more}]", if about.is_empty() { "" } else { ": " });
        let words = words.to_mut();
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(&line);
    }
    words
}

/// A file's kind, and what is known of it.
fn file(media: &Media) -> (String, &str) {
    let is_sound = media.content_type == MediaKind::Audio;
    // Both platforms with voice messages mark them so.
    let kind = if is_sound && media.source == "Voice" {
        "voice message".to_owned()
    } else {
        format!("attachment: {}", format!("{:?}", media.content_type).to_lowercase())
    };
    match unread::reason(media) {
        Some((how, why)) => (format!("{kind}, {how}"), why),
        None if is_sound => (kind, first([&media.text, &media.description, &media.title])),
        None => (kind, first([&media.description, &media.text, &media.title])),
    }
}

fn first(texts: [&String; 3]) -> &str {
    texts.into_iter().find(|text| !text.is_empty()).map_or("", String::as_str)
}

/// The question: the words, without `/ask`.
fn question(memory: &Memory) -> Cow<'_, str> {
    let text = visible(&memory.content.text);
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    };
    match text.strip_prefix("/ask") {
        // "/ask@name words": the name ends at the first space.
        Some(rest) if rest.is_empty() || rest.starts_with([' ', '\n', '@']) => {
            let words = if rest.starts_with('@') {
                rest.split_once(char::is_whitespace).map_or("", |(_, words)| words)
            } else {
                rest
            };
            Cow::Owned(words.trim().to_owned())
        }
        _ => text,
    }
}
