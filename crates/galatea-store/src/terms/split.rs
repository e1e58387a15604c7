//! Splits text into words, and into runs of scripts that put no spaces between words.

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

/// Scripts that are searched by pairs of characters: Chinese, Japanese, Thai, Lao, Khmer and
/// Burmese have no spaces between words, and Korean joins particles to them.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // Kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7af}' // Korean
        | '\u{20000}'..='\u{323af}') // Han
}
