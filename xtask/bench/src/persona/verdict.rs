//! Judges an answer: leaks of the prompt's own form, repetition, right facts. Pure.

use std::collections::BTreeMap;

use super::talk::Line;

/// Texts that only a prompt or a chat template contains.
const MARKS: &[&str] = &[
    "{{",
    "}}",
    "\"arguments\"",
    "\"parameters\":",
    "<tool",
    "</tool",
    "<function",
    "</function",
    "<think",
    "</think",
    "<thought",
    "</thought",
    "<response>",
    "<|",
    "|>",
    "[INST",
    "[/INST",
    "</s>",
    "<s>",
    "<end_of_turn",
    "<start_of_turn",
    "[TOOL",
    "[Notes]",
    "REPLY:",
    "SEND_MESSAGE",
    "### Response",
    "### Instruction",
    "Related earlier messages",
    "(Earlier messages are not shown",
    "<attachment",
];
/// Beginnings of a line that only a prompt has.
const BEGINNINGS: &[&str] = &[
    "> ",
    "It is Sun",
    "It is Mon",
    "It is Tue",
    "It is Wed",
    "It is Thu",
    "It is Fri",
    "It is Sat",
    "Person 1:",
    "Person 2:",
    "you [",
    "assistant:",
    "user:",
    "system:",
];
/// A sentence counts as repeated from this length in characters and from this number of times on.
const SENTENCE: usize = 16;
const TIMES: usize = 3;

/// Faults and facts of one answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Leaks of the prompt's form, with the text that shows them.
    pub(super) leaks: Vec<String>,
    /// A sentence or line that comes again and again.
    pub(super) repeated: Option<String>,
    /// True if the facts are right; none if the line asks for none.
    pub(super) right: Option<bool>,
}

/// Judges the texts of one answer; `speakers` are the people of the talk, and the agent.
pub(super) fn judge(line: &Line, speakers: &[&str], answer: &str) -> Verdict {
    Verdict {
        leaks: leaks(answer, speakers),
        repeated: repeated(answer),
        right: (!line.right.is_empty()).then(|| is_right(line, answer)),
    }
}

fn is_right(line: &Line, answer: &str) -> bool {
    let answer = answer.to_lowercase();
    let has = |word: &String| contains_word(&answer, &word.to_lowercase());
    line.right.iter().all(|group| group.iter().any(has)) && !line.wrong.iter().any(has)
}

/// True if `word` stands in `text` and no letter or digit touches it: the 9 of 90 is no 9.
fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

fn leaks(answer: &str, speakers: &[&str]) -> Vec<String> {
    // A person may have asked for code, which has braces.
    let words = without_code(answer);
    let mut found: Vec<String> =
        MARKS.iter().filter(|mark| words.contains(*mark)).map(|mark| (*mark).to_owned()).collect();
    for line in words.lines().map(str::trim_start) {
        let begins = BEGINNINGS.iter().find(|begin| line.starts_with(*begin));
        found.extend(begins.map(|begin| format!("a line begins with {begin:?}")));
        let speaker = speakers.iter().find(|name| {
            line.strip_prefix(*name)
                .is_some_and(|rest| rest.starts_with(':') || rest.starts_with(" ["))
        });
        found.extend(speaker.map(|name| format!("a line begins with \"{name}:\"")));
    }
    found
}

/// The text without what stands between code fences.
fn without_code(text: &str) -> String {
    text.split("```").step_by(2).collect::<Vec<_>>().join("\n")
}

fn repeated(answer: &str) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let sentences = answer.split(['\n', '.', '!', '?', '。']).map(str::trim);
    for sentence in sentences.filter(|s| s.chars().count() >= SENTENCE) {
        *counts.entry(sentence).or_default() += 1;
    }
    counts.into_iter().find(|(_, times)| *times >= TIMES).map(|(sentence, _)| sentence.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEAKERS: &[&str] = &["Ada", "Juniper"];

    #[test]
    fn forms_of_the_prompt_are_leaks() {
        for leak in [
            r#"{{"name": "SEND_MESSAGE", "arguments": {"target": "Ada"}}}"#,
            "[Notes]\nAda likes tea.",
            "It is Sun 29 Nov 2026 19:00 UTC.",
            "you [Sun 29 Nov 19:00]: hello",
            "> Hello Ada",
            "REPLY: hello",
            "Juniper: hello",
            "Hello.\nAda: thank you",
            "Ada [Sun 29 Nov 19:13]: hello",
            "hello<|im_end|>",
            "<think>what now",
        ] {
            assert!(!leaks(leak, SPEAKERS).is_empty(), "{leak}");
        }
    }

    #[test]
    fn plain_answers_and_code_are_not() {
        for plain in [
            "Hello Ada: nice to meet you.",
            "```python\ndef add(a, b):\n    return {a: b}\n```",
            "It is open from 10 to 20 h.",
        ] {
            assert_eq!(leaks(plain, SPEAKERS), Vec::<String>::new(), "{plain}");
        }
    }

    #[test]
    fn a_sentence_that_comes_three_times_is_repeated() {
        assert_eq!(repeated("I do not know that. I do not know that. Yes."), None);
        let again = "I do not know that. ".repeat(3);
        assert_eq!(repeated(&again).as_deref(), Some("I do not know that"));
    }

    #[test]
    fn an_answer_needs_a_word_of_each_group() {
        let line = Line {
            by: "Ada".to_owned(),
            says: "?".to_owned(),
            asks: true,
            right: vec![vec!["14:00".to_owned(), "2 pm".to_owned()], vec!["mill".to_owned()]],
            wrong: vec!["church".to_owned()],
        };
        assert!(is_right(&line, "At 2 PM, in front of the Mill."));
        assert!(!is_right(&line, "At 2 pm."));
        assert!(!is_right(&line, "At 2 pm at the mill or the church."));
        assert!(!is_right(&line, "At 12 pm at the mill."), "a part of a number is none");
    }
}
