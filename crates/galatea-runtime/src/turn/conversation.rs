//! Turns stored messages into messages for a model, each one an attributed unit.
//!
//! A person's message begins with `Name:` or `Name [when, what it refers to]:`; each further line
//! of it begins with `> `. A name has neither `:` nor brackets, a quotation inside of the brackets
//! is one line without quotation marks: so no text can end its own unit or begin another's,
//! whatever it holds.

use galatea_core::{
    Content, EntityId, Media, MediaKind, Memory, MemoryId, Quote, QuoteKind, Speakers, Timestamp,
    Turn, Zone,
    model::ChatMessage,
    speakers,
    visible::{one_line, visible},
    zone::Local,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    time::Duration,
};
use unicode_segmentation::UnicodeSegmentation;

use super::unread;

/// A pause after which the next message shows its time.
const PAUSE: Duration = Duration::from_secs(600);
/// Graphemes shown of a quoted message: enough to find one that is shown itself, and the whole of
/// most others.
const QUOTED_SHOWN: usize = 100;
const QUOTED: usize = 1_500;
/// Characters of files in earlier messages that a model reads, the newest first: two whole ones. Of
/// the others it reads the beginning. A person who sends many must not fill every later prompt of
/// a Room.
const EARLIER_FILES: usize = 16_000;
const BEGINNING: usize = 200;
/// What stands first where the agent spoke first: a conversation begins on the other side.
pub(super) const OPENING: &str = "(The conversation so far.)";

/// A conversation as a model reads it.
pub(super) struct RenderedConversation {
    pub(super) messages: Vec<ChatMessage>,
    /// How many of the last ones wait for an answer.
    pub(super) waiting: usize,
}

/// The conversation as the model's own turns, what waits for an answer last.
pub(super) fn render(turn: &Turn<'_>) -> RenderedConversation {
    let own = turn.agent.identity.entity();
    let renderer = Renderer {
        speakers: Speakers::of(turn),
        shown: turn.recent.iter().map(|memory| (memory.id, memory.entity_id)).collect(),
    };
    let mut files = EARLIER_FILES;
    let earlier: Vec<(&Memory, Cow<'_, str>)> = turn
        .recent
        .iter()
        .rev()
        .map(|memory| (memory.as_ref(), words_of(memory, &mut files)))
        .collect();
    let waiting: Vec<(&Memory, Cow<'_, str>)> = turn
        .merged
        .iter()
        .chain(std::iter::once(turn.message))
        .map(|m| (m, words_of(m, &mut usize::MAX.clone())))
        .collect();
    let mut times = Times::new(&turn.agent.zone, turn.now());
    let mut fields: BTreeMap<EntityId, String> = BTreeMap::new();
    let mut say = |(memory, words): &(&Memory, Cow<'_, str>)| {
        if memory.entity_id == own {
            return (!words.is_empty()).then(|| ChatMessage::assistant(words.as_ref()));
        }
        let unit = renderer.unit(memory, words, &mut times)?;
        let person = memory.entity_id;
        let field = fields.entry(person).or_insert_with(|| renderer.speakers.field(person));
        Some(ChatMessage::user(unit).named(field.as_str()))
    };
    let mut messages: Vec<ChatMessage> = earlier.iter().rev().filter_map(&mut say).collect();
    let before = messages.len();
    messages.extend(waiting.iter().filter_map(&mut say));
    let waiting = messages.len() - before;
    if messages.first().is_some_and(|first| first.role == galatea_core::model::ChatRole::Assistant)
    {
        messages.insert(0, ChatMessage::user(OPENING));
    }
    RenderedConversation { messages, waiting }
}

/// A script gets the person's words only.
pub(super) fn bare(turn: &Turn<'_>) -> Vec<ChatMessage> {
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
}

impl Renderer {
    /// One person's message; none when there is nothing to read.
    fn unit(&self, memory: &Memory, words: &str, times: &mut Times<'_>) -> Option<String> {
        let content = &memory.content;
        let about: Vec<String> =
            content.quotes.iter().filter_map(|quote| self.quoted(quote, content)).collect();
        if words.is_empty() && about.is_empty() {
            return None;
        }
        let forwarded = content
            .extra
            .get("forwardedFrom")
            .and_then(|name| name.as_str())
            .map(|name| format!("forwarded from {}", speakers::display(name)));
        let notes: Vec<String> =
            times.mark(memory.created_at).into_iter().chain(forwarded).chain(about).collect();
        let name = self.speakers.of_memory(memory);
        let head = if notes.is_empty() {
            format!("{name}:")
        } else {
            format!("{name} [{}]:", notes.join(", "))
        };
        Some(if words.is_empty() {
            head
        } else {
            let mut unit = head;
            for (n, line) in words.split('\n').enumerate() {
                unit.push_str(if n == 0 { " " } else { "\n> " });
                unit.push_str(line);
            }
            unit
        })
    }

    fn quoted(&self, quote: &Quote, content: &Content) -> Option<String> {
        let replied = content.in_reply_to.filter(|_| quote.kind == QuoteKind::Reply);
        let shown = replied.and_then(|id| self.shown.get(&id));
        let mut said = one_line(&quote.text).replace('"', "'");
        for media in &quote.attachments {
            let (kind, about) = file(media);
            let about = one_line(about).replace('"', "'");
            let space = if said.is_empty() { "" } else { " " };
            said.push_str(&format!(
                "{space}({kind}{}{about})",
                if about.is_empty() { "" } else { ": " }
            ));
        }
        let said = bounded(&said, if shown.is_some() { QUOTED_SHOWN } else { QUOTED });
        let by = match (&quote.by, quote.own, shown) {
            (_, true, _) => "you".to_owned(),
            // As the message itself is shown.
            (_, _, Some(author)) => self.speakers.name(*author),
            (Some(name), ..) => speakers::display(name),
            (None, ..) => String::new(),
        };
        let how = match quote.kind {
            QuoteKind::Reply => "replying to",
            QuoteKind::Forward => "forwarding",
            QuoteKind::Quote => "quoting",
        };
        let by = if by.is_empty() { "someone" } else { &by };
        (quote.own || !said.is_empty()).then(|| {
            if said.is_empty() { format!("{how} {by}") } else { format!("{how} {by}: \"{said}\"") }
        })
    }
}

fn bounded(text: &str, most: usize) -> String {
    let mut graphemes = text.grapheme_indices(true);
    match graphemes.nth(most) {
        // A grapheme may carry any number of marks.
        Some((end, _)) => format!("{}…", &text[..text.floor_char_boundary(end.min(most * 8))]),
        None if text.len() > most * 8 => {
            format!("{}…", &text[..text.floor_char_boundary(most * 8)])
        }
        None => text.to_owned(),
    }
}

/// When what was said: the first message and those after a pause or a night tell it.
struct Times<'a> {
    zone: &'a Zone,
    year: i64,
    last: Option<(Timestamp, Local)>,
}

impl<'a> Times<'a> {
    fn new(zone: &'a Zone, now: Timestamp) -> Self {
        Self { zone, year: zone.local(now).year, last: None }
    }

    fn mark(&mut self, at: Timestamp) -> Option<String> {
        let local = self.zone.local(at);
        let mark = match &self.last {
            Some((_, last)) if last.days != local.days => Some(self.date(local)),
            Some((last, _)) if at.since(*last) >= PAUSE => Some(local.clock()),
            Some(_) => None,
            None => Some(self.date(local)),
        };
        self.last = Some((at, local));
        mark
    }

    fn date(&self, local: Local) -> String {
        let date = local.date();
        let date = if local.year == self.year {
            date.rsplit_once(' ').map_or(date.as_str(), |(day, _)| day)
        } else {
            &date
        };
        format!("{date} {}", local.clock())
    }
}

/// What a message says, with its files; `left` is what is left for these, of which each has its
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

/// What is asked: the words, without `/ask`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_reported_once_a_day_and_after_a_pause() {
        let zone = Zone::named("+02:00").unwrap();
        let noon = 1_795_428_000_000; // Mon 23 Nov 2026, 10:00 UTC
        let minute = 60_000;
        let mut times = Times::new(&zone, Timestamp(noon));
        let mut mark = |millis: i64| times.mark(Timestamp(millis));
        assert_eq!(mark(noon - 400 * 1_440 * minute).as_deref(), Some("Sun 19 Oct 2025 12:00"));
        assert_eq!(mark(noon - 1_440 * minute).as_deref(), Some("Sun 22 Nov 12:00"));
        assert_eq!(mark(noon - 1_435 * minute), None);
        assert_eq!(mark(noon - 1_420 * minute).as_deref(), Some("12:20"));
        assert_eq!(mark(noon).as_deref(), Some("Mon 23 Nov 12:00"));
        assert_eq!(mark(noon - minute), None, "a clock that was set back");
    }

    #[test]
    fn a_quotation_is_bounded() {
        assert_eq!(bounded("abc", 3), "abc");
        assert_eq!(bounded("abcd", 3), "abc…");
        assert!(bounded(&format!("a{}", "\u{301}".repeat(1_000)), 3).len() < 40);
    }
}
