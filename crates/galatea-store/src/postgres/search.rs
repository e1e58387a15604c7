//! Full-text search: words without case and accents, folded here so that text and question are
//! folded the same way on every server.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Bytes of folded text that are searched. PostgreSQL takes a tsvector of at most 1 MiB
/// (<https://www.postgresql.org/docs/current/textsearch-limitations.html>), where a word costs its
/// bytes and up to twelve more.
const SEARCHED: usize = 128 << 10;

/// The words of a text, separated by blanks: PostgreSQL's parser finds nothing in them but words,
/// so nothing people type is syntax.
pub(crate) fn folded(text: &str) -> String {
    let mut out = String::new();
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        if out.len() >= SEARCHED {
            break;
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// What is asked for; none when there is no word in it.
pub(crate) fn words(asked: &str) -> Option<String> {
    Some(folded(asked)).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_accents_and_signs_are_folded() {
        assert_eq!(folded("  Don't STOP — Żółć ﬁne, naïve!\0"), "don t stop zołc fine naive");
        assert_eq!(words(" ,.'! \0"), None);
        assert_eq!(words("a & !b | c:*").as_deref(), Some("a b c"));
    }

    #[test]
    fn a_long_text_is_searched_in_its_first_part() {
        let words = folded(&"ﷺ a".repeat(100_000));
        assert!((SEARCHED..SEARCHED + 8).contains(&words.len()), "{}", words.len());
    }
}
