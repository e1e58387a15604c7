//! Words without what is left of an envelope around them.

use super::{
    tag::{is_wrapper, tag_at},
    types::{Repairs, TORN_MARKUP},
};

/// Takes away torn tags of an envelope at the ends of words.
pub(super) fn without_torn_tags<'a>(text: &'a str, repairs: &mut Repairs) -> &'a str {
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
            return without_empty_fence(shown, repairs);
        }
        repairs.note(TORN_MARKUP);
    }
}

/// The text, unless it is nothing but the first line of a code block.
pub(super) fn without_empty_fence<'a>(text: &'a str, repairs: &mut Repairs) -> &'a str {
    if is_fence(text) {
        repairs.note("empty code fence dropped");
        return "";
    }
    text
}

/// True for the first line of a code block alone: an answer that was cut off before it began.
fn is_fence(text: &str) -> bool {
    text.strip_prefix("```").is_some_and(|label| {
        label.trim().trim_end_matches('`').chars().all(|c| c.is_ascii_alphanumeric())
    })
}
