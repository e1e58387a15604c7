//! Words without an envelope: what remains once reasoning and torn tags are taken away.

use super::{
    tag::{THINKING, is_wrapper, tag_at},
    types::Repairs,
};

/// An answer in plain words, without what models wrap around it.
pub(super) struct Cleaned {
    pub(super) text: String,
    pub(super) thought: Option<String>,
}

/// Takes away reasoning anywhere in the text and torn tags of an envelope at its ends.
pub(super) fn clean(body: &str, repairs: &mut Repairs) -> Cleaned {
    let (text, thought) = without_reasoning(body, repairs);
    let mut shown = text.trim();
    loop {
        let before = shown;
        if let Some(tag) = tag_at(shown).filter(|t| is_wrapper(t)) {
            shown = shown[tag.len..].trim_start();
        }
        if let Some(at) = shown.rfind('<')
            && let Some(tag) = tag_at(&shown[at..]).filter(|t| t.closing && is_wrapper(t))
            && at + tag.len == shown.len()
        {
            shown = shown[..at].trim_end();
        }
        if shown.len() == before.len() {
            break;
        }
        repairs.note("torn tags taken away");
    }
    Cleaned { text: without_empty_fence(shown, repairs).to_owned(), thought }
}

/// The text, unless it is nothing but the first line of a code block.
pub(super) fn without_empty_fence<'a>(text: &'a str, repairs: &mut Repairs) -> &'a str {
    if is_fence(text) {
        repairs.note("empty code fence dropped");
        return "";
    }
    text
}

/// Nothing but the first line of a code block: an answer that was cut off before it began.
fn is_fence(text: &str) -> bool {
    text.strip_prefix("```").is_some_and(|label| {
        label.trim().trim_end_matches('`').chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn without_reasoning(body: &str, repairs: &mut Repairs) -> (String, Option<String>) {
    let mut shown = String::new();
    let mut thought = String::new();
    let mut at = 0;
    let mut unterminated = false;
    while let Some(found) = body[at..].find('<') {
        let start = at + found;
        shown.push_str(&body[at..start]);
        at = start;
        let tag = tag_at(&body[start..])
            .filter(|t| !t.closing && (t.is("thought") || THINKING.iter().any(|name| t.is(name))));
        let Some(tag) = tag.filter(|_| !unterminated) else {
            shown.push('<');
            at += 1;
            continue;
        };
        let inner = &body[start + tag.len..];
        let close = inner.match_indices('<').find_map(|(i, _)| {
            tag_at(&inner[i..]).filter(|t| t.closing && t.is(tag.name)).map(|t| (i, t.len))
        });
        match close {
            Some((end, len)) => {
                thought.push_str(inner[..end].trim());
                at = start + tag.len + end + len;
                repairs.note("reasoning inside the text taken out");
            }
            None if begins_line(&shown) => {
                thought.push_str(inner.trim());
                at = body.len();
                repairs.note("unterminated reasoning kept from the chat");
            }
            None => {
                // A tag that is only spoken of; the search for its end need not be repeated.
                unterminated = true;
                shown.push('<');
                at += 1;
            }
        }
    }
    shown.push_str(&body[at..]);
    (shown, Some(thought).filter(|t| !t.is_empty()))
}

fn begins_line(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}
