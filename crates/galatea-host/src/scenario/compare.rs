//! Compares what was expected of a step with what came. Pure.

use serde::Serialize;
use std::fmt;

use super::file::Expect;

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Came {
    /// The answer; none where the agent kept silent.
    pub(super) answer: Option<String>,
    /// Why there is none.
    pub(super) failure: Option<String>,
    /// Reasons of the decision, in order.
    pub(super) reasons: Vec<String>,
    pub(super) tools: Vec<String>,
    /// Prompts that the model was given.
    pub(super) prompts: Vec<String>,
}

/// Something that is otherwise than expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What was expected.
    pub expected: String,
    /// What came.
    pub came: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}\n     got {}", self.expected, self.came)
    }
}

/// The differences of a step; none where all is as expected.
pub(super) fn compare(expect: &Expect, came: &Came) -> Vec<Difference> {
    let mut found = Vec::new();
    let said = match (&came.answer, &came.failure) {
        (Some(answer), _) => format!("{answer:?}"),
        (None, Some(failure)) => format!("no answer: {failure}"),
        (None, None) => "no answer".to_owned(),
    };
    let mut differs = |expected: String, came: String| found.push(Difference { expected, came });
    let answer = came.answer.as_deref().unwrap_or_default();
    if expect.silence && came.answer.is_some() {
        differs("no answer".to_owned(), said.clone());
    }
    if let Some(wanted) = &expect.answer
        && came.answer.as_ref() != Some(wanted)
    {
        let came = match came.answer {
            Some(_) => marked(wanted, answer),
            None => said.clone(),
        };
        differs(format!("{wanted:?}"), came);
    }
    for words in expect.contains.all().iter().filter(|words| !answer.contains(words.as_str())) {
        differs(format!("an answer that contains {words:?}"), said.clone());
    }
    for words in expect.lacks.all().iter().filter(|words| answer.contains(words.as_str())) {
        differs(format!("an answer without {words:?}"), said.clone());
    }
    if let Some(reason) = &expect.reason
        && !came.reasons.iter().any(|one| one.contains(reason.as_str()))
    {
        differs(format!("the reason {reason:?}"), format!("{:?}", came.reasons));
    }
    if let Some(tools) = &expect.tools
        && *tools != came.tools
    {
        differs(format!("the tools {tools:?}"), format!("{:?}", came.tools));
    }
    for words in expect.prompt.all() {
        if !came.prompts.iter().any(|prompt| prompt.contains(words.as_str())) {
            let last = came.prompts.last().map_or("no prompt", String::as_str);
            let end: Vec<char> = last.chars().rev().take(300).collect();
            let end: String = end.into_iter().rev().collect();
            differs(format!("a prompt that contains {words:?}"), format!("… {end:?}"));
        }
    }
    // An answer that nothing is said about is as good as another; a failure is not.
    if expect.answer.is_none()
        && expect.contains.all().is_empty()
        && !expect.silence
        && let Some(failure) = &came.failure
        && came.answer.is_none()
    {
        differs("an answer".to_owned(), format!("no answer: {failure}"));
    }
    found
}

/// An answer with a mark where it begins to differ.
fn marked(wanted: &str, answer: &str) -> String {
    let same = wanted.chars().zip(answer.chars()).take_while(|(a, b)| a == b).count();
    let head: String = answer.chars().take(same).collect();
    let tail: String = answer.chars().skip(same).collect();
    if head.is_empty() {
        return format!("{answer:?}");
    }
    if tail.is_empty() {
        return format!("{answer:?}, which ends too early");
    }
    format!("{answer:?}, otherwise from {tail:?} on")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::file::Words;

    #[test]
    fn what_differs_is_said_in_words() {
        let expect = Expect {
            answer: Some("Hello Ada!".into()),
            contains: Words::Many(vec!["Ada".into(), "Bob".into()]),
            tools: Some(vec!["WAVE".into()]),
            ..Expect::default()
        };
        let came = Came { answer: Some("Hello you!".into()), ..Came::default() };
        let found: Vec<String> = compare(&expect, &came).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("otherwise from \"you!\" on"), "{found:?}");
        assert!(found[3].contains("the tools [\"WAVE\"]"), "{found:?}");
    }

    #[test]
    fn silence_and_failures_are_told_apart() {
        let silent = Came { failure: Some("it is not addressed".into()), ..Came::default() };
        let wanted = Expect { silence: true, ..Expect::default() };
        assert!(compare(&wanted, &silent).is_empty());
        assert_eq!(compare(&Expect::default(), &silent).len(), 1, "an answer was expected");
        let spoke = Came { answer: Some("Hi".into()), ..Came::default() };
        assert_eq!(compare(&wanted, &spoke).len(), 1);
        assert!(compare(&Expect::default(), &spoke).is_empty());
    }
}
