//! Adds to what a person has the agent say elsewhere who asked. Pure, and not to be forged by the
//! text.

use galatea_core::{Content, Memory, Turn};
use std::collections::BTreeSet;

/// Longest name shown, in characters.
const LONGEST: usize = 64;
/// Longest sentence shown, in characters: the longest of the standard actions, with a long name.
const LONGEST_SENTENCE: usize = 200;

/// Puts who asked in front, and the words into a block quote whose every line is marked, so that
/// nothing in them can look like that line.
pub(super) fn attribute(turn: &Turn<'_>, content: &mut Content) {
    // An empty block of code shows nothing, and its platform says so.
    let shows = content.text.chars().any(|c| !c.is_whitespace() && !"`*_~#>-".contains(c));
    if shows {
        content.text = format!("**From {}:**\n\n{}", asker(turn), quoted(&content.text));
    } else if !content.attachments.is_empty() {
        content.text = format!("**From {}**", asker(turn));
    }
}

/// All people who asked, by name and by what a name cannot take on: the handle or the id, and the
/// platform. Without `@`, which would call the person who has that handle where it is said.
pub(super) fn asker(turn: &Turn<'_>) -> String {
    let mut seen = BTreeSet::new();
    let speakers = turn
        .merged
        .iter()
        .chain(std::iter::once(turn.message))
        .filter(|memory| seen.insert(memory.entity_id.0));
    let names: Vec<String> = speakers.map(|memory| named(turn, memory)).collect();
    names.join(" and ")
}

fn named(turn: &Turn<'_>, memory: &Memory) -> String {
    let text = |key: &str| memory.metadata.get(key).and_then(serde_json::Value::as_str);
    let known = text("entityUserName").map(handle).filter(|handle| !handle.is_empty());
    let shown = text("entityName").map(plain).filter(|name| !name.is_empty());
    let id = || {
        turn.envelope.entity_remote.as_ref().filter(|_| memory.entity_id == turn.message.entity_id)
    };
    let sure = match (known, id()) {
        (Some(handle), _) => handle,
        (None, Some(id)) => format!("id {}", plain(id.as_str())),
        (None, None) => format!("id {}", memory.entity_id),
    };
    let sure = format!("{sure} on {}", turn.room.source);
    match shown {
        Some(name) => format!("{name} ({sure})"),
        None => sure,
    }
}

/// A handle letter by letter, for two must never look alike: underscores stay, and are escaped
/// where Markdown would take them for a mark.
fn handle(text: &str) -> String {
    let kept: String = text
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
        .take(LONGEST)
        .collect();
    if kept.starts_with('_') || kept.ends_with('_') { kept.replace('_', "\\_") } else { kept }
}

/// A name on one line, without marks of Markdown, parentheses and what no reader sees.
pub(super) fn plain(name: &str) -> String {
    without_marks(name).take(LONGEST).collect::<String>().trim().to_owned()
}

/// A sentence in the same way. A longer one ends with a whole word and `…`.
pub(super) fn sentence(text: &str) -> String {
    let shown: String = without_marks(text).collect();
    let Some((end, _)) = shown.char_indices().nth(LONGEST_SENTENCE) else {
        return shown.trim().to_owned();
    };
    let kept = &shown[..end];
    let end = kept.rfind(' ').filter(|end| *end > 0).unwrap_or(end);
    format!("{} …", kept[..end].trim())
}

fn without_marks(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !hidden(*c) && !"*_~`[]()<>|\\#@:".contains(*c))
}

/// A text as a block quote: each line of it, by any line break there is, begins with the quote's
/// mark.
pub(super) fn quoted(text: &str) -> String {
    let text = text.trim().replace("\r\n", "\n");
    let lines = text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']);
    lines
        .map(|line| format!("> {}", line.chars().filter(|c| !hidden(*c)).collect::<String>()))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Control characters, and those that turn the direction of a text or hide words in it; joiners of
/// emoji are none.
fn hidden(c: char) -> bool {
    c.is_control() && c != '\t'
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_ends_with_a_whole_word() {
        let said = "after 30 days messages in all rooms of The Old Workshop Club are deleted, with what was noted from them";
        assert_eq!(sentence(said), said);
        let long = sentence(&"deleted ".repeat(100));
        assert!(
            long.ends_with("deleted …") && long.chars().count() <= LONGEST_SENTENCE + 2,
            "{long}"
        );
        assert_eq!(sentence(&"x".repeat(500)).chars().count(), LONGEST_SENTENCE + 2);
    }

    #[test]
    fn no_line_leaves_its_quote() {
        for text in [
            "a\nb",
            "a\r\nb",
            "a\rb",
            "a\u{2028}b",
            "a\u{85}b\u{2029}c",
            "```\n**From Olga (@olga):**\n```",
            "\n\n**From x**\n> y",
        ] {
            assert!(
                quoted(text).lines().all(|line| line.starts_with("> ")),
                "{text:?}: {:?}",
                quoted(text)
            );
            assert!(!quoted(text).contains(['\r', '\u{2028}', '\u{2029}', '\u{85}']), "{text:?}");
        }
    }

    #[test]
    fn handles_keep_their_underscores() {
        assert_eq!(
            (handle("ann_b").as_str(), handle("_ann_").as_str(), handle("ann)**").as_str()),
            ("ann_b", "\\_ann\\_", "ann")
        );
    }

    #[test]
    fn a_name_takes_on_nothing_that_marks_it() {
        assert_eq!(plain("Olga (@olga):**\n\n> hi\u{202e}"), "Olga olga   hi");
        assert_eq!(plain("👩‍👩‍👧 Ann"), "👩‍👩‍👧 Ann");
        assert_eq!(plain(&"x".repeat(500)).len(), LONGEST);
    }
}
