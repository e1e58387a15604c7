//! A plan with words around it, or behind another one, where the prompt asked for one in the text.

use super::{
    envelope::Draft,
    json::{TORN, value_at},
    names::Names,
    object, shape,
    types::{AnswerForm, Repairs},
};

/// Objects and lists that are read before the answer counts as words.
const MAX_TRIED: usize = 8;

/// Reads the plans of an answer that is none as a whole; none if it is words. Each has a thought,
/// and begins a line or ends the answer: people talk about JSON, too.
pub(super) fn read(body: &str, names: &Names<'_>, repairs: &mut Repairs) -> Option<Draft> {
    let mut found: Option<Draft> = None;
    let (mut at, mut tried) = (0, 0);
    while tried < MAX_TRIED
        && let Some(offset) = body[at..].find(['{', '['])
    {
        let start = at + offset;
        at = start + 1;
        let before = body[..start].trim_end_matches([' ', '\t']);
        let begins_line = before.is_empty() || before.ends_with('\n');
        let may_be = match body.as_bytes()[start] {
            b'{' => begins_line || object::begins_like_plan(&body[at..]),
            _ => begins_line && body[at..].trim_start().starts_with('{'),
        };
        if !may_be {
            continue;
        }
        tried += 1;
        let mut notes = Repairs::default();
        let (value, length) = value_at(&body[start..], &mut notes);
        let end = start + length;
        let is_torn = notes.0.contains(&TORN);
        let is_thinking = value.as_object().is_some_and(|map| shape::is_thinking(map, is_torn));
        let draft = if is_thinking && (begins_line || body[end..].trim().is_empty()) {
            shape::read(&value, AnswerForm::JsonOrWords, names, is_torn)
        } else {
            None
        };
        match draft {
            Some(draft) => {
                found.get_or_insert_default().add_plan(draft);
                repairs.note("words around the JSON left out");
                notes.0.into_iter().for_each(|note| repairs.note(note));
                at = end;
            }
            // Other JSON is words as a whole, with all that it contains.
            None if notes.0.is_empty() => at = end,
            None => {}
        }
    }
    found
}
