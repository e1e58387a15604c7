//! Takes the question off the beginning of an answer that repeats it word for word.

use super::{talk::Talk, types::Repairs};

/// Words of the shortest question that is taken off.
const LEAST: usize = 4;

/// The words behind the repeated question. An answer that is nothing but the question stays, as do
/// answers that are asked to quote or repeat it.
pub(super) fn cut<'a>(text: &'a str, talk: &Talk, repairs: &mut Repairs) -> &'a str {
    let question = without_mention(talk.question.trim());
    let words = question.split_whitespace().count();
    if words < LEAST
        || !question.ends_with(['?', '？'])
        || talk.wants_quotes()
        || talk.wants_repeats()
    {
        return text;
    }
    let answer = without_mention(text.trim_start());
    let Some(rest) = behind(answer, question) else { return text };
    let rest = rest.trim_start();
    if rest.split_whitespace().count() < 2 {
        return text;
    }
    repairs.note("repeated question taken off");
    rest
}

/// The text without the name that is called at its beginning.
fn without_mention(text: &str) -> &str {
    let called = text.starts_with('@');
    let rest = called.then(|| text.split_once(char::is_whitespace)).flatten();
    rest.map_or(text, |(_, rest)| rest.trim_start())
}

/// What follows `question` in `answer`; letter case and the width of spaces do not count.
fn behind<'a>(answer: &'a str, question: &str) -> Option<&'a str> {
    let mut rest = answer;
    for word in question.split_whitespace() {
        rest = rest.trim_start();
        let end = rest.char_indices().nth(word.chars().count()).map_or(rest.len(), |(at, _)| at);
        let (said, behind) = rest.split_at(end);
        if said.to_lowercase() != word.to_lowercase() {
            return None;
        }
        rest = behind;
    }
    rest.starts_with(char::is_whitespace).then_some(rest)
}
