//! Words: what people wrote, made fit for a prompt. Always data, never instructions; bounded, without control characters.

use galatea_core::Memory;
use unicode_segmentation::UnicodeSegmentation;

/// Longest single text from a person in a prompt, in graphemes: about 500 tokens.
pub(crate) const LONGEST: usize = 2_000;
/// Longest name in a prompt, in graphemes.
const LONGEST_NAME: usize = 64;

/// One line of somebody's words: control characters out, line breaks kept as spaces, bounded.
pub(crate) fn line(text: &str, most: usize) -> String {
    let flat: String = text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    let flat = flat.trim();
    if flat.len() <= most {
        return flat.to_owned();
    }
    let mut graphemes = flat.graphemes(true);
    let mut cut: String = graphemes.by_ref().take(most).collect();
    if graphemes.next().is_some() {
        cut.push('…');
    }
    cut
}

/// A name as a prompt shows it.
pub(crate) fn name(text: &str) -> String {
    line(text, LONGEST_NAME)
}

/// Who said it, from the memory itself.
pub(crate) fn speaker(memory: &Memory) -> String {
    memory.metadata.get("entityName").and_then(|v| v.as_str()).map_or_else(|| format!("someone-{}", &memory.entity_id.to_string()[..8]), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_flat_and_bounded() {
        assert_eq!(line(" a\nb\u{1b}[31m\u{0}c ", 100), "a b[31mc");
        assert_eq!(line(&"👩‍👩‍👧".repeat(10), 3), format!("{}…", "👩‍👩‍👧".repeat(3)));
    }
}
