//! The visible words of an answer that is still being written. It is read as an answer that was cut off, so
//! that a plan's own form and thoughts are never shown.

use galatea_core::{
    action::ActionDocs,
    model::{Finish, TextAnswer},
};
use std::sync::Arc;

use super::{
    parse::parse,
    types::{AnswerForm, PlanFormat},
};

/// Longest beginning of a mark that may still become a tag, in bytes.
const TORN: usize = 64;

/// The words so far; none while there are none, or while it is open whether they are words.
pub fn visible(written: &str, actions: &[Arc<ActionDocs>], form: AnswerForm) -> Option<String> {
    let text = without_torn_mark(written);
    let answer =
        TextAnswer { text: text.to_owned(), finish: Finish::Length, ..TextAnswer::default() };
    let parsed = parse(&answer, actions, form);
    let is_plan = matches!(parsed.format, PlanFormat::Json | PlanFormat::Xml);
    if !is_plan && may_be_form(text) {
        return None;
    }
    let words = parsed.plan.text.trim();
    (!words.is_empty()).then(|| words.to_owned())
}

/// True for a beginning of which nothing was read as a plan yet, although it may become one.
fn may_be_form(text: &str) -> bool {
    let start = behind_thoughts(text).trim_start();
    if let Some(block) = start.strip_prefix("```") {
        let Some((kind, _)) = block.split_once('\n') else { return true };
        return matches!(
            kind.trim().to_ascii_lowercase().as_str(),
            "" | "json" | "xml" | "tool_call"
        );
    }
    start.starts_with(['{', '[', '<', '`'])
}

/// The text behind thoughts that have ended.
fn behind_thoughts(text: &str) -> &str {
    let ends = ["</think>", "</thinking>", "</thought>", "</reasoning>"];
    let ends = ends.into_iter().filter_map(|end| Some(text.rfind(end)? + end.len()));
    ends.max().map_or(text, |at| &text[at..])
}

/// The text before a last `<` or `{` that begins something which is not complete yet.
fn without_torn_mark(text: &str) -> &str {
    let tag = text.rfind('<').filter(|at| text.len() - at <= TORN && !text[*at..].contains('>'));
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let object = text[line..].trim_start().starts_with(['{', '[', '<']).then_some(line);
    let cut = match (tag, object.filter(|at| *at > 0)) {
        (Some(tag), Some(object)) => tag.min(object),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => text.len(),
    };
    &text[..cut]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every draft of an answer that comes character by character.
    fn drafts(answer: &str, form: AnswerForm) -> Vec<String> {
        let ends = answer.char_indices().map(|(at, c)| at + c.len_utf8());
        let mut drafts: Vec<String> =
            ends.filter_map(|end| visible(&answer[..end], &[], form)).collect();
        drafts.dedup();
        drafts
    }

    #[test]
    fn words_grow_and_nothing_of_a_plan_is_shown() {
        for (answer, form) in [
            (
                r#"{"thought": "secret plan", "actions": ["REPLY"], "text": "Hello there, Ada."}"#,
                AnswerForm::JsonOrWords,
            ),
            (
                "<response><thought>secret plan</thought><actions>REPLY</actions><text>Hello there, Ada.</text></response>",
                AnswerForm::Envelope,
            ),
            ("<think>secret plan</think>Hello there, Ada.", AnswerForm::Words),
            (
                "```json\n{\"thought\": \"secret plan\", \"text\": \"Hello there, Ada.\"}\n```",
                AnswerForm::Envelope,
            ),
            ("Hello there, Ada.", AnswerForm::Words),
        ] {
            let drafts = drafts(answer, form);
            // A plan in a code block is read once it is whole.
            let least = if answer.starts_with("```") { 0 } else { 3 };
            assert!(drafts.len() > least, "{answer}: {drafts:?}");
            for draft in &drafts {
                assert!("Hello there, Ada.".starts_with(draft.as_str()), "{answer}: {draft:?}");
            }
            assert_eq!(drafts.last().map(String::as_str), Some("Hello there, Ada."), "{answer}");
        }
    }

    #[test]
    fn a_call_of_a_tool_behind_words_is_not_shown() {
        let answer =
            "One moment.\n<tool_call>{\"name\": \"SEARCH\", \"arguments\": {}}</tool_call>";
        for draft in drafts(answer, AnswerForm::Words) {
            assert!("One moment.".starts_with(&draft), "{draft:?}");
        }
    }

    #[test]
    fn code_is_shown_and_what_may_become_a_plan_is_not() {
        let code = drafts("```rust\nfn main() {}\n```", AnswerForm::Words);
        assert!(!code.is_empty());
        assert_eq!(visible("{\"tho", &[], AnswerForm::Words), None);
        assert_eq!(visible("<respo", &[], AnswerForm::Envelope), None);
        assert_eq!(visible("  ", &[], AnswerForm::Words), None);
    }
}
