//! The whole sentences of an answer that was not finished.

use unicode_segmentation::UnicodeSegmentation;

/// Marks that end a sentence.
const ENDS: [char; 10] = ['.', '!', '?', '…', '。', '！', '？', '؟', '।', '։'];
/// Marks that may follow the end.
const BEHIND: [char; 9] = ['"', '\'', '”', '’', '»', ')', '*', '_', '」'];
/// Letters of the shortest beginning that is worth sending without a whole sentence.
const LEAST: usize = 40;

/// The text up to the end of its last whole sentence, a code block closed. Without one, the whole
/// words of it with a mark that it goes on; none if that is next to nothing.
pub(crate) fn whole_sentences(text: &str) -> Option<String> {
    let text = text.trim();
    let mut end = 0;
    for (at, sentence) in text.split_sentence_bound_indices() {
        let said = sentence.trim_end();
        let line = sentence.len() > said.len() && sentence[said.len()..].contains('\n');
        if said.trim_end_matches(BEHIND).ends_with(ENDS) || (line && !said.is_empty()) {
            end = at + said.len();
        }
    }
    let kept = if end > 0 {
        text[..end].trim_end().to_owned()
    } else {
        let last = text.rfind(char::is_whitespace).unwrap_or(0);
        let words = text[..last].trim_end();
        if words.chars().count() < LEAST {
            return None;
        }
        format!("{words} …")
    };
    let open = kept.matches("```").count() % 2 == 1;
    Some(if open { format!("{kept}\n```") } else { kept })
}

#[cfg(test)]
mod tests {
    use super::whole_sentences;

    #[test]
    fn a_beginning_ends_with_its_last_sentence() {
        for (text, kept) in [
            ("Pip is a dog. He lives in Gh", Some("Pip is a dog.")),
            ("Pip is a dog! \"He barks.\" And", Some("Pip is a dog! \"He barks.\"")),
            ("皮普是一只狗。他住在", Some("皮普是一只狗。")),
            ("- one\n- two\n- thr", Some("- one\n- two")),
            ("Like so.\n```\nlet a = 1;\nlet b", Some("Like so.\n```\nlet a = 1;\n```")),
            ("Pip is", None),
            ("", None),
            (
                "a long beginning of a sentence that has no end at all but many wor",
                Some("a long beginning of a sentence that has no end at all but many …"),
            ),
        ] {
            assert_eq!(whole_sentences(text).as_deref(), kept, "{text}");
        }
    }
}
