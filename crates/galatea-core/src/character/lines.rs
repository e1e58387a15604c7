//! Chooses the lines of a character's knowledge that stand in every prompt, and which are found
//! like documents.

use super::{Character, Knowledge};

/// Most lines in every prompt.
const MOST: usize = 40;
/// Most characters of them, about 1,500 tokens: the book of a character card may be a whole novel.
const MOST_CHARACTERS: usize = 6_000;

/// The lines that a character knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownLines<'a> {
    /// In every prompt.
    pub shown: Vec<&'a str>,
    /// Found like documents.
    pub found: Vec<&'a str>,
}

impl Character {
    /// Knowledge as text, in the order of the file: the first lines are always shown. Addresses
    /// are documents and left out.
    pub fn known_lines(&self) -> KnownLines<'_> {
        let mut lines = KnownLines::default();
        let mut left = MOST_CHARACTERS;
        for entry in &self.knowledge {
            let Knowledge::Text(text) = entry else { continue };
            if is_address(text) {
                continue;
            }
            let length = text.chars().count();
            if lines.found.is_empty() && lines.shown.len() < MOST && length <= left {
                left -= length;
                lines.shown.push(text);
            } else {
                lines.found.push(text);
            }
        }
        lines
    }
}

/// True if a text is an address and nothing else.
pub fn is_address(text: &str) -> bool {
    let text = text.trim();
    (text.starts_with("https://") || text.starts_with("http://"))
        && !text.contains(char::is_whitespace)
}
