//! What an import left out, each with its place and the reason.

use galatea_core::visible::one_line;
use serde_json::{Value, json};
use std::path::Path;

use super::select::clipped;
use crate::{exit::Exit, failure::Failure, report::Report};

/// Most places that are named; the others are counted.
const LISTED: usize = 10;
/// Longest description of one, in characters.
const LONGEST: usize = 200;

/// What was left out. The first places are kept.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    listed: Vec<String>,
    count: usize,
}

impl Skipped {
    /// Adds what stands on a line.
    pub(super) fn line(&mut self, number: usize, cause: &str) {
        self.add(&format!("line {number}: {cause}"));
    }

    /// Adds a place with its reason.
    pub(super) fn add(&mut self, what: &str) {
        self.count += 1;
        if self.listed.len() < LISTED {
            self.listed.push(clipped(&one_line(what), LONGEST));
        }
    }

    /// How many places were left out.
    #[cfg(any(test, feature = "fuzz"))]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The number, and the first places.
    pub(super) fn json(&self) -> Value {
        json!({ "count": self.count, "first": self.listed })
    }

    /// The error that names them; `None` if nothing was left out.
    pub(super) fn failure(&self, path: &Path) -> Option<Failure> {
        if self.count == 0 {
            return None;
        }
        let mut places = self.listed.join("\n");
        if self.count > self.listed.len() {
            places.push_str(&format!("\nand {} more", self.count - self.listed.len()));
        }
        let message = match self.count {
            1 => "one entry of this file was left out; the others were read".to_owned(),
            count => format!("{count} entries of this file were left out; the others were read"),
        };
        let report = Report::error(message)
            .code("GAL-MEMORY-SKIPPED")
            .cause(places)
            .line("where", path.display().to_string())
            .fix("correct what is named, or export it again, and repeat the import: what is stored is not stored twice");
        Some(Failure::new(vec![report], Exit::Failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Style;

    #[test]
    fn the_first_places_are_named_and_the_others_counted() {
        let mut skipped = Skipped::default();
        assert!(skipped.failure(Path::new("a.jsonl")).is_none());
        for number in 1..=12 {
            skipped.line(number, "it is \u{1b}[31mbad");
        }
        let failure = skipped.failure(Path::new("a.jsonl")).unwrap();
        let text = failure.reports[0].render(Style::plain());
        for part in ["12 entries", "line 1: it is [31mbad", "line 10:", "and 2 more", "a.jsonl"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("line 11") && !text.contains('\u{1b}'), "{text}");
        assert_eq!((skipped.json()["count"].as_u64(), failure.exit), (Some(12), Exit::Failure));
    }
}
