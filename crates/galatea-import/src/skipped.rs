//! What an import left out, each with its place and the reason.

use galatea_core::visible::one_line;

use crate::text::clipped;

/// Most places that are named; the others are counted.
const LISTED: usize = 10;
/// Longest description of one, in characters.
const LONGEST: usize = 200;

/// What was left out. The first places are kept.
#[derive(Debug, Default)]
pub struct Skipped {
    listed: Vec<String>,
    count: usize,
}

impl Skipped {
    /// Adds what stands on a line.
    pub(crate) fn line(&mut self, number: usize, cause: &str) {
        self.add(&format!("line {number}: {cause}"));
    }

    /// Adds a place with its reason.
    pub(crate) fn add(&mut self, what: &str) {
        self.count += 1;
        if self.listed.len() < LISTED {
            self.listed.push(clipped(&one_line(what), LONGEST));
        }
    }

    /// How many places were left out.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first places, each on one line with its reason. At most ten.
    pub fn first(&self) -> &[String] {
        &self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_places_are_named_and_the_others_counted() {
        let mut skipped = Skipped::default();
        for number in 1..=12 {
            skipped.line(number, "it is \u{1b}[31mbad");
        }
        assert_eq!((skipped.count(), skipped.first().len()), (12, 10));
        assert_eq!(skipped.first()[9], "line 10: it is [31mbad");
    }
}
