//! Splits text into words, and into runs of scripts that put no spaces between words.

use galatea_core::fusion::is_unspaced;

/// Characters of a word that count; longer ones are keys and addresses.
pub(super) const LONGEST: usize = 40;

/// A part of a folded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A word between blanks.
    Word(&'a str),
    /// Characters of a script without spaces.
    Run(&'a str),
}

/// Words and runs of a folded text, in order.
pub(super) fn pieces(folded: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    for word in folded.split(' ').filter(|word| !word.is_empty()) {
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let run = is_unspaced(first);
            let end = rest.find(|c| is_unspaced(c) != run).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            out.push(if run { Piece::Run(piece) } else { Piece::Word(piece) });
            rest = after;
        }
    }
    out
}

/// The part of a word that counts.
pub(super) fn head(word: &str) -> &str {
    let end = word.char_indices().nth(LONGEST).map_or(word.len(), |(at, _)| at);
    word.get(..end).unwrap_or(word)
}
