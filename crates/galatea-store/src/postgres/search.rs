//! Full-text search: the words of a question, folded as the text was.

use crate::terms::folded;

/// The query for the words of a text; none when the text has no word. PostgreSQL's parser finds
/// nothing in folded words but words, so nothing people type is syntax.
pub(crate) fn words(asked: &str) -> Option<String> {
    Some(folded(asked)).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_accents_and_signs_are_folded() {
        let folded = words("  Don't STOP — Żółć ﬁne, naïve!\0");
        assert_eq!(folded.as_deref(), Some("don t stop zołc fine naive"));
        assert_eq!(words(" ,.'! \0"), None);
        assert_eq!(words("a & !b | c:*").as_deref(), Some("a b c"));
    }
}
