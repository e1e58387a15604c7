//! Checks the result of a run with crashes: every question is answered once and in order, on the
//! platform and in the program's audit.

use std::collections::{BTreeMap, HashSet};

use galatea_testkit::models::{Recorded, Reply};
use serde_json::Value;

/// A question. Number 7 is answered `A7`; with more words `A7 A7x1 A7x2 …`, so that each part of a
/// long answer identifies itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) number: u32,
    pub(crate) words: u32,
}

impl Question {
    pub(crate) fn short(number: u32) -> Self {
        Self { number, words: 1 }
    }

    pub(crate) fn text(self) -> String {
        format!("Q{}w{}", self.number, self.words)
    }

    fn answer(self) -> Vec<String> {
        (0..self.words)
            .map(
                |n| {
                    if n == 0 {
                        format!("A{}", self.number)
                    } else {
                        format!("A{}x{n}", self.number)
                    }
                },
            )
            .collect()
    }

    /// The last question in a text, which is the one to answer.
    fn last_in(text: &str) -> Option<Self> {
        text.split('Q').skip(1).filter_map(Self::parse).last()
    }

    fn parse(text: &str) -> Option<Self> {
        let (number, rest) = text.split_once('w')?;
        let words: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(Self { number: number.parse().ok()?, words: words.parse().ok()? })
    }
}

/// The model's answer.
pub(crate) fn answer(request: &Recorded) -> Reply {
    let question = Question::last_in(&request.body["messages"].to_string());
    Reply::text(question.map_or("I did not catch that.".to_owned(), |q| q.answer().join(" ")))
}

/// A room: its questions, and the agent's texts there, both in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    pub(crate) asked: Vec<Question>,
    pub(crate) shown: Vec<String>,
}

/// True if every question has been answered by now, regardless of other faults.
pub(crate) fn is_answered(room: &Room) -> bool {
    let said = answer_tags(&room.shown);
    room.asked.iter().flat_map(|q| q.answer()).all(|word| said.contains(&word))
}

/// Number of unanswered questions.
pub(crate) fn open(room: &Room) -> usize {
    let said: HashSet<String> = answer_tags(&room.shown).into_iter().collect();
    room.asked.iter().filter(|q| !q.answer().last().is_none_or(|word| said.contains(word))).count()
}

/// All faults of a run; empty when the run is correct. `audit` is the output of `galatea audit
/// --json`.
pub(crate) fn faults<'a>(rooms: impl IntoIterator<Item = &'a Room>, audit: &Value) -> Vec<String> {
    let (mut faults, mut asked) = (Vec::new(), 0);
    for (n, room) in rooms.into_iter().enumerate() {
        asked += room.asked.len() as u64;
        faults.extend(in_room(room).into_iter().map(|fault| format!("room {n}: {fault}")));
    }
    faults.extend(in_books(asked, audit));
    faults
}

fn in_room(room: &Room) -> Vec<String> {
    let (expected, said) =
        (room.asked.iter().flat_map(|q| q.answer()).collect::<Vec<_>>(), answer_tags(&room.shown));
    let mut times: BTreeMap<&str, usize> = expected.iter().map(|word| (word.as_str(), 0)).collect();
    let mut faults = Vec::new();
    for word in &said {
        match times.get_mut(word.as_str()) {
            Some(count) => *count += 1,
            None => faults.push(format!("{word} was said without a question")),
        }
    }
    let counted = |wanted: &dyn Fn(usize) -> bool| {
        times.iter().filter(|(_, n)| wanted(**n)).map(|(word, _)| *word).collect::<Vec<_>>()
    };
    for (what, words) in [("lost", counted(&|n| n == 0)), ("duplicated", counted(&|n| n > 1))] {
        if !words.is_empty() {
            faults.push(format!("{what}: {}", words.join(" ")));
        }
    }
    if faults.is_empty() && said != expected {
        faults.push(format!("out of order: {}", said.join(" ")));
    }
    faults
}

/// The words of answers, without what a connector adds around them.
fn answer_tags(shown: &[String]) -> Vec<String> {
    let is_answer = |word: &&str| {
        word.strip_prefix('A').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    shown
        .iter()
        .flat_map(|text| text.split_whitespace())
        .filter(is_answer)
        .map(str::to_owned)
        .collect()
}

fn in_books(asked: u64, audit: &Value) -> Vec<String> {
    let lines = audit["sources"].as_array().cloned().unwrap_or_default();
    let total = |column: &str| lines.iter().filter_map(|line| line[column].as_u64()).sum::<u64>();
    let mut faults = Vec::new();
    if audit["sound"] != true {
        faults.push(format!("the audit does not add up: {audit}"));
    }
    let wanted = [
        ("received", asked),
        ("answered", asked),
        ("answering", 0),
        ("undelivered", 0),
        ("skipped", 0),
        ("expired", 0),
        ("dead", 0),
        ("pending", 0),
    ];
    let off = wanted
        .into_iter()
        .filter(|(column, wanted)| total(column) != *wanted)
        .map(|(column, wanted)| format!("{} {column} of {wanted}", total(column)));
    faults.extend(off);
    let parts = audit["exceptions"]["parts"].as_array().cloned().unwrap_or_default();
    faults.extend(parts.iter().map(|part| {
        format!(
            "part {} of room {} is {}: {}",
            part["part"], part["room"], part["state"], part["error"]
        )
    }));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn room() -> Room {
        let asked = vec![Question::short(1), Question { number: 2, words: 3 }, Question::short(3)];
        Room { asked, shown: ["A1", "A2 A2x1", "A2x2", "A3"].map(str::to_owned).to_vec() }
    }

    fn books() -> Value {
        json!({ "sound": true, "exceptions": { "parts": [] }, "sources": [{ "received": 3, "answered": 3, "answering": 0, "undelivered": 0,
            "skipped": 0, "expired": 0, "dead": 0, "pending": 0 }] })
    }

    #[test]
    fn a_clean_run_has_no_fault() {
        assert_eq!(faults([&room()], &books()), [""; 0]);
        assert!(is_answered(&room()));
    }

    /// Records that the platforms would show if the program had a fault.
    #[test]
    fn a_doctored_record_is_recognised() {
        let doctored = |change: fn(&mut Vec<String>)| {
            let mut room = room();
            change(&mut room.shown);
            faults([&room], &books())
        };
        assert_eq!(doctored(|shown| shown.push("A3".into())), ["room 0: duplicated: A3"]);
        assert_eq!(
            doctored(|shown| shown.insert(2, "A2x2".into())),
            ["room 0: duplicated: A2x2"],
            "one part of an answer"
        );
        assert_eq!(doctored(|shown| drop(shown.remove(0))), ["room 0: lost: A1"]);
        assert_eq!(doctored(|shown| drop(shown.pop())), ["room 0: lost: A3"]);
        assert_eq!(
            doctored(|shown| shown.swap(0, 3)),
            ["room 0: out of order: A3 A2 A2x1 A2x2 A1"]
        );
        assert_eq!(
            doctored(|shown| shown.swap(1, 2)),
            ["room 0: out of order: A1 A2x2 A2 A2x1 A3"],
            "parts of one answer"
        );
        assert_eq!(
            doctored(|shown| shown.push("A9".into())),
            ["room 0: A9 was said without a question"],
            "an answer of another room"
        );
        assert!(!is_answered(&Room { shown: vec!["A1".into()], ..room() }));
    }

    #[test]
    fn doctored_books_are_recognised() {
        let doctored = |column: &str, value: Value| {
            let mut books = books();
            books["sources"][0][column] = value;
            faults([&room()], &books)
        };
        assert_eq!(doctored("received", json!(4)), ["4 received of 3"]);
        assert_eq!(doctored("pending", json!(1)), ["1 pending of 0"]);
        let mut unsure = books();
        unsure["exceptions"]["parts"] =
            json!([{ "part": 0, "room": "7", "state": "ambiguous", "error": "no read-back" }]);
        assert_eq!(faults([&room()], &unsure).len(), 1);
        assert_eq!(faults([&room()], &Value::Null).len(), 3);
    }

    #[test]
    fn the_last_question_is_the_one_to_be_answered() {
        let found = Question::last_in("user: Q1w1, assistant: A1, user: Quite so. Q12w34\"");
        assert_eq!(found, Some(Question { number: 12, words: 34 }));
    }
}
