//! Facts that people tell of themselves and of others, with author, source and time.

pub(crate) mod grounding;
pub(crate) mod merge;
pub(crate) mod rules;
pub(crate) mod view;

/// Longest fact, in graphemes.
pub(crate) const LONGEST: usize = 300;

/// True if two sentences are equal except for case, spaces and punctuation.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let letters = |text: &str| {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    letters(a) == letters(b)
}

/// A name without the suffix that distinguishes two people of one name in a conversation.
pub(crate) fn plain(name: &str) -> &str {
    name.split(" #").next().unwrap_or(name)
}
