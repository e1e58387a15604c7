//! Texts that are embedded: a message and a question, each prepared so that small models do not
//! rank by the names of speakers.

use crate::visible::one_line;

/// Characters of the message before that are embedded with a message: enough for a question that
/// the message answers.
const BEFORE: usize = 200;

/// The text of a message's embedding: the message before it in its room, shortened, and its own
/// text. A short answer ("on Friday, at eight") means something only with its question.
pub fn embedded_text(before: Option<&str>, text: &str) -> String {
    match before.map(str::trim).filter(|before| !before.is_empty()) {
        None => text.to_owned(),
        Some(before) => {
            let end = before.char_indices().nth(BEFORE).map_or(before.len(), |(at, _)| at);
            format!("{}\n{text}", before.get(..end).unwrap_or(before))
        }
    }
}

/// The text of a question's embedding: without the names of speakers, which small models rank
/// before everything else that is asked. A question of names only is kept as it is.
pub fn embedded_question(question: &str, names: &[&str]) -> String {
    let named = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        !bare.is_empty()
            && names.iter().any(|name| {
                name.split_whitespace().any(|part| part.to_lowercase() == bare.to_lowercase())
            })
    };
    let line = one_line(question);
    let rest: Vec<&str> = line.split_whitespace().filter(|word| !named(word)).collect();
    if rest.is_empty() { line } else { rest.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_answer_is_embedded_with_its_question() {
        assert_eq!(embedded_text(Some("When?"), "On Friday"), "When?\nOn Friday");
        assert_eq!(embedded_text(Some("  "), "On Friday"), "On Friday");
        assert_eq!(embedded_text(None, "On Friday"), "On Friday");
        let long = "é".repeat(500);
        assert_eq!(embedded_text(Some(&long), "x").chars().count(), BEFORE + 2);
    }

    #[test]
    fn names_leave_the_question() {
        let names = ["Ada Lovelace", "Bo"];
        assert_eq!(
            embedded_question("Where does Ada live, and what is Bo's job?", &names),
            "Where does live, and what is job?"
        );
        assert_eq!(embedded_question("Ada Lovelace?", &names), "Ada Lovelace?");
        assert_eq!(embedded_question("about bologna", &names), "about bologna");
    }
}
