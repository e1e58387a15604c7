//! Reasoning behind the beginning of words: `Hello <think>…</think> you`. What stands in front of an
//! answer is taken off before, by [`super::think`].

use galatea_core::model::Finish;

use super::{
    quoted::{is_in_code, is_quoted},
    tag::{Tag, tag_at},
    types::{AnswerForm, REASONING, Repairs},
};

/// Tags of reasoning. `<reasoning>` is not among them: behind the beginning of an answer it is an
/// element of XML that a person asked for.
const NAMES: [&str; 6] =
    ["think", "thinking", "thought", "reflection", "scratchpad", "inner_monologue"];
/// Tags that are looked at, so that the work stays linear in the answer's length.
const MAX_TAGS: usize = 64;
/// Fewer words between tags inside a line are an example: "models write <think>…</think>".
const FEWEST_WORDS: usize = 2;
/// Fewer letters are one, too, where a language has no spaces.
const FEWEST_LETTERS: usize = 12;

/// Words, and the reasoning that stood in them.
pub(super) struct Said {
    pub(super) text: String,
    pub(super) thought: Option<String>,
}

/// Takes reasoning out of words. Tags that are only spoken of stay: in code, in quotes, or with
/// nothing to think between them.
pub(super) fn take_out(
    body: &str,
    finish: Finish,
    form: AnswerForm,
    repairs: &mut Repairs,
) -> Said {
    let tags = tags(body, form);
    let mut text = String::new();
    let mut thoughts: Vec<&str> = Vec::new();
    let mut copied = 0;
    for (place, (at, tag)) in tags.iter().enumerate() {
        if tag.closing || *at < copied {
            continue;
        }
        let Some((end, next)) = block(body, &tags[place..], finish, form) else { continue };
        text.push_str(&body[copied..*at]);
        thoughts.push(body[at + tag.len..end].trim());
        let joins = text.ends_with(' ') && body[next..].starts_with(' ');
        copied = next + usize::from(joins);
        repairs.note(REASONING);
    }
    text.push_str(&body[copied..]);
    Said { text, thought: Some(thoughts.join("\n\n")).filter(|thought| !thought.is_empty()) }
}

/// The places where the reasoning of the first of these tags ends and where the words go on; none if
/// the tag is only spoken of.
fn block(
    body: &str,
    tags: &[(usize, Tag<'_>)],
    finish: Finish,
    form: AnswerForm,
) -> Option<(usize, usize)> {
    let asks_for_plan = form == AnswerForm::Envelope;
    let ((at, tag), behind) = tags.split_first()?;
    let (before, inner) = (&body[..*at], at + tag.len);
    let closes = |(_, other): &&(usize, Tag<'_>)| other.closing && other.is(tag.name);
    let line = before.rsplit('\n').next().unwrap_or_default();
    if !line.trim().is_empty() {
        let (end, close) = behind.first().filter(closes)?;
        let thought = &body[inner..*end];
        let is_block =
            (asks_for_plan || is_sentence(thought) && !is_spoken_of(thought)) && !is_quoted(before);
        return is_block.then_some((*end, end + close.len));
    }
    if is_in_code(before) {
        return None;
    }
    match behind.iter().find(closes) {
        Some((end, close)) => {
            let thinks = body[inner..*end].contains(char::is_alphanumeric);
            thinks.then_some((*end, end + close.len))
        }
        // A model that was stopped was still thinking.
        None => (asks_for_plan || finish != Finish::Stop).then_some((body.len(), body.len())),
    }
}

/// Tags of reasoning in words; none in JSON and XML, which are said as they are where the prompt did
/// not ask for a plan.
fn tags(body: &str, form: AnswerForm) -> Vec<(usize, Tag<'_>)> {
    let ours = |tag: &Tag<'_>| {
        NAMES.iter().any(|name| tag.is(name)) || form == AnswerForm::Envelope && tag.is("reasoning")
    };
    let start = body.trim_start();
    if form != AnswerForm::Envelope
        && start.starts_with(['{', '[', '<'])
        && !tag_at(start).as_ref().is_some_and(ours)
    {
        return Vec::new();
    }
    let tags =
        body.match_indices('<').filter_map(|(at, _)| tag_at(&body[at..]).map(|tag| (at, tag)));
    tags.filter(|(_, tag)| ours(tag)).take(MAX_TAGS).collect()
}

/// True if tags stand between the words like words: "put <think> in front and </think> behind". Models
/// write one of them at least beside what they think.
fn is_spoken_of(between: &str) -> bool {
    between.starts_with([' ', ':', ',', ';', '.', ')']) && between.ends_with(' ')
}

fn is_sentence(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    words.take(FEWEST_WORDS).count() == FEWEST_WORDS
        || text.chars().filter(|c| c.is_alphanumeric()).take(FEWEST_LETTERS).count()
            == FEWEST_LETTERS
}
