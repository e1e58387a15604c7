//! Reasoning in front of an answer: `<think>…</think>` and its relatives. It is kept as thought and
//! never shown.

use galatea_core::model::Finish;

use super::{
    json_plan,
    quoted::is_quoted,
    tag::{MORE_THINKING, THINKING, Tag, tag_at},
    types::{AnswerForm, REASONING, Repairs},
    xml,
};

/// An answer split into reasoning and the rest.
pub(super) struct Thinking<'a> {
    pub(super) thought: Option<String>,
    pub(super) rest: &'a str,
}

/// Splits the reasoning off the front.
pub(super) fn split<'a>(
    text: &'a str,
    finish: Finish,
    form: AnswerForm,
    repairs: &mut Repairs,
) -> Thinking<'a> {
    let mut thoughts: Vec<&str> = Vec::new();
    let mut rest = text;
    'blocks: loop {
        let start = rest.trim_start();
        let Some(tag) = tag_at(start).filter(|tag| thinks(tag, form)) else { break };
        let inner = &start[tag.len..];
        if tag.closing {
            rest = inner;
            continue;
        }
        for (at, _) in inner.match_indices('<') {
            if let Some(close) = tag_at(&inner[at..])
                && close.closing
                && close.is(tag.name)
            {
                thoughts.push(&inner[..at]);
                rest = &inner[at + close.len..];
                continue 'blocks;
            }
        }
        repairs.note(REASONING);
        // A model that forgets the closing tag but completes its answer has answered; one that was
        // cut off is still thinking.
        let answer = if finish == Finish::Length || !inner.trim_end().ends_with("</response>") {
            None
        } else {
            inner.rfind("<response>")
        };
        let cut = answer.unwrap_or(inner.len());
        thoughts.push(&inner[..cut]);
        rest = &inner[cut..];
        break;
    }
    if !thoughts.is_empty() && form != AnswerForm::Envelope {
        rest = without_frame(rest);
    }
    let orphan = orphan(rest, form)
        .filter(|(thought, after)| form == AnswerForm::Envelope || ends_reasoning(thought, after));
    if let Some((thought, after)) = orphan {
        repairs.note(REASONING);
        thoughts.push(thought);
        rest = after;
    }
    let thought = thoughts
        .iter()
        .map(|t| t.trim())
        .filter(|t| !t.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    Thinking { thought: Some(thought).filter(|t| !t.is_empty()), rest }
}

/// True if a tag is one of reasoning. Where words are asked for, `<thought>` and its kin are, too: of
/// a plan they are elements.
fn thinks(tag: &Tag<'_>, form: AnswerForm) -> bool {
    let is = |name: &&str| tag.is(name);
    THINKING.iter().any(is)
        || form != AnswerForm::Envelope && MORE_THINKING.split(' ').any(|name| tag.is(name))
}

/// The content of an element around all words behind the reasoning.
fn without_frame(rest: &str) -> &str {
    const FRAMES: [&str; 6] =
        ["answer", "output", "final", "final_answer", "final_response", "solution"];
    let body = rest.trim();
    let Some(tag) = tag_at(body).filter(|t| !t.closing && FRAMES.iter().any(|f| t.is(f))) else {
        return rest;
    };
    let inner = &body[tag.len..];
    match inner.rfind("</") {
        Some(end)
            if tag_at(&inner[end..])
                .is_some_and(|t| t.is(tag.name) && end + t.len == inner.len()) =>
        {
            &inner[..end]
        }
        None => inner,
        Some(_) => rest,
    }
}

/// True if a closing tag between these ends reasoning: it clings to the words before it, or begins or
/// ends a line. Words that speak of one quote it.
fn ends_reasoning(before: &str, after: &str) -> bool {
    let breaks = |text: &str| text.is_empty() || text.starts_with(['\n', '\r']);
    let clings = before.ends_with(|c: char| !c.is_whitespace());
    let stands_alone = before.trim_end_matches([' ', '\t']).ends_with('\n')
        || breaks(after.trim_start_matches([' ', '\t']));
    (clings || stands_alone) && !is_quoted(before)
}

/// Chat templates that open the reasoning themselves leave only its closing tag in the answer.
/// Inside an envelope it is a quotation.
fn orphan(text: &str, form: AnswerForm) -> Option<(&str, &str)> {
    if text.trim_start().starts_with(['{', '<', '`', '[']) {
        return None;
    }
    // Only the first such tag is looked at: the searches below read the whole answer.
    let tags =
        text.match_indices('<').filter_map(|(at, _)| tag_at(&text[at..]).map(|tag| (at, tag)));
    let mut ours = tags.filter(|(_, tag)| thinks(tag, form));
    ours.next().and_then(|(at, tag)| {
        let (before, after) = (&text[..at], &text[at + tag.len..]);
        let in_envelope = (xml::find(before).is_some() || json_plan::find(before).is_some())
            && xml::find(after).is_none()
            && json_plan::find(after).is_none();
        Some((before, after)).filter(|_| tag.closing && !in_envelope)
    })
}
