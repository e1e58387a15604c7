//! Quotations in an answer: in code, or behind an opening quote.

/// Marks that only ever open.
const OPENING: [char; 10] = ['(', '[', '{', '“', '‘', '«', '「', '『', '（', '\\'];
/// Marks that open or close.
const EITHER: [char; 4] = ['"', '\'', '*', '_'];

/// True if what follows these words is quoted.
pub(super) fn is_quoted(before: &str) -> bool {
    is_in_code(before) || is_behind_opening(before)
}

/// In a code block, or in code inside of a line.
pub(super) fn is_in_code(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    is_odd(before, "```") || is_odd(line, "`")
}

fn is_behind_opening(before: &str) -> bool {
    let inner = before.trim_end_matches(EITHER);
    if inner.ends_with(OPENING) {
        return true;
    }
    let line = before.rsplit('\n').next().unwrap_or_default();
    // Chinese and Japanese have no space before a quote.
    let opens = inner.is_empty() || inner.ends_with(char::is_whitespace);
    inner.len() < before.len() && (opens || before.ends_with('"') && is_odd(line, "\""))
}

fn is_odd(text: &str, mark: &str) -> bool {
    text.matches(mark).count() % 2 == 1
}
