//! The recorded talk (`talk.txt`): ten people of a workshop and Juniper, over some days. It is
//! invented. One message a line: seconds since the one before, who says it (`@` addresses Juniper),
//! and the text, in which `\n` is a line break.

use std::time::Duration;

const RECORD: &str = include_str!("talk.txt");
/// The one who answers.
const HELPER: &str = "Juniper";

/// A message of the talk.
pub(crate) struct Said {
    pub(crate) after: Duration,
    pub(crate) by: &'static str,
    /// Addresses the helper, so an answer follows.
    pub(crate) asks: bool,
    pub(crate) text: String,
}

impl Said {
    pub(crate) fn is_answer(&self) -> bool {
        self.by == HELPER
    }

    fn read(line: &'static str) -> Option<Self> {
        let (head, text) = line.split_once(": ")?;
        let (after, by) = head.split_once(' ')?;
        let asks = by.ends_with(" @");
        Some(Self {
            after: Duration::from_secs(after.parse().ok()?),
            by: by.trim_end_matches(" @"),
            asks,
            text: text.replace("\\n", "\n"),
        })
    }
}

/// All messages, in their order.
pub(crate) fn recorded() -> Vec<Said> {
    RECORD.lines().map(|line| Said::read(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[test]
fn the_record_is_a_talk_of_ten_with_an_answer_to_each_question() {
    let talk = recorded();
    assert_eq!(talk.len(), 200);
    let people: std::collections::HashSet<&str> =
        talk.iter().filter(|said| !said.is_answer()).map(|said| said.by).collect();
    assert_eq!(people.len(), 10);
    for (question, next) in talk.iter().zip(&talk[1..]) {
        assert_eq!(question.asks, next.is_answer(), "{}", question.text);
    }
    assert!(talk.iter().filter(|said| said.text.len() > 400).count() >= 5, "some are long");
}
