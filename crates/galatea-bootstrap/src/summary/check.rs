//! Checks a summary against what it was made of: a name or number that stands in neither is
//! invented. Pure.

use std::collections::HashSet;

/// Share of words with a capital letter inside of sentences beyond which a language writes all of
/// its nouns so, as German does. English prose has about 5 %, German 25 %.
const NOUNS: (usize, usize) = (15, 100);

/// What a summary was made of.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// The whole question: its words are known.
    pub(crate) lines: &'a [&'a str],
    /// What people wrote, without the dates and names that the question adds: it shows whether the
    /// language writes nouns with a capital letter.
    pub(crate) written: &'a [&'a str],
}

/// Names and numbers of `summary` that `sources` do not contain.
pub(crate) fn invented(summary: &str, sources: Sources<'_>) -> Vec<String> {
    let known: HashSet<String> =
        sources.lines.iter().flat_map(|text| split_words(text)).map(comparable).collect();
    let names_count = !capitalises_nouns(sources.written);
    let mut seen = HashSet::new();
    sentences(summary)
        .into_iter()
        .flat_map(|sentence| split_words(sentence).enumerate().collect::<Vec<_>>())
        .filter(|(place, word)| is_number(word) || (names_count && *place > 0 && is_name(word)))
        .filter(|(_, word)| !known.contains(&comparable(word)))
        .filter(|(_, word)| seen.insert(comparable(word)))
        .map(|(_, word)| word.to_owned())
        .collect()
}

/// The sentences of `summary` that contain none of the invented words.
pub(crate) fn without(summary: &str, invented: &[String]) -> String {
    let bad: HashSet<String> = invented.iter().map(comparable).collect();
    sentences(summary)
        .into_iter()
        .filter(|sentence| !split_words(sentence).any(|word| bad.contains(&comparable(word))))
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs of letters and digits. An apostrophe ends a word: "Maria's" is "Maria".
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let next = text[end..].chars().next();
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' | ';' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            sentences.push(&text[start..end]);
            start = end;
        }
    }
    sentences.push(&text[start..]);
    sentences.retain(|sentence| !sentence.trim().is_empty());
    sentences
}

fn is_number(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

fn is_name(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase) && word.chars().count() > 1
}

/// A word as it is compared: without case, and a number without leading zeros.
fn comparable(word: impl AsRef<str>) -> String {
    let lower = word.as_ref().to_lowercase();
    match lower.trim_start_matches('0') {
        "" => lower,
        trimmed if is_number(&lower) => trimmed.to_owned(),
        _ => lower,
    }
}

fn capitalises_nouns(written: &[&str]) -> bool {
    let inner: Vec<&str> = written
        .iter()
        .flat_map(|text| sentences(text))
        .flat_map(|sentence| split_words(sentence).skip(1).collect::<Vec<_>>())
        .filter(|word| !is_number(word))
        .collect();
    let capital = inner.iter().filter(|word| is_name(word)).count();
    inner.len() >= 40 && capital * NOUNS.1 > inner.len() * NOUNS.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALK: [&str; 2] =
        ["Maria: the party is on 3 May at Ana's, bring 12 chairs", "Bob moved from Ghent to Lyon."];

    fn all<'a>(lines: &'a [&'a str]) -> Sources<'a> {
        Sources { lines, written: lines }
    }

    #[test]
    fn names_and_numbers_have_to_stand_in_the_sources() {
        let fine = "Maria's party is on 03 May at Ana's with 12 chairs; Bob moved to Lyon.";
        assert_eq!(invented(fine, all(&TALK)), [""; 0]);
        let wrong = "The party is on 4 May. Then Bob moved to Paris, says Carl. Lyon is fine.";
        assert_eq!(invented(wrong, all(&TALK)), ["4", "Paris", "Carl"]);
        assert_eq!(without(wrong, &invented(wrong, all(&TALK))), "Lyon is fine.");
    }

    #[test]
    fn nouns_of_a_language_that_writes_them_with_capitals_are_no_names() {
        let talk = "Maria sagt, dass die Feier am 3 Mai bei Ana ist und alle Gäste einen Stuhl und Kuchen bringen. Bob zieht mit der Familie und dem Hund in das Haus an der Straße nach Lyon. Die Schule und die Arbeit sind dort in der Nähe, das Auto bleibt hier.";
        assert_eq!(
            invented("Maria plant ein Fest am 3 Mai, Bob den Umzug.", all(&[talk])),
            [""; 0]
        );
        assert_eq!(invented("Maria plant ein Fest am 5 Mai.", all(&[talk])), ["5"]);
    }

    #[test]
    fn dates_beside_what_is_written_do_not_make_names_of_nouns() {
        let written = ["Ann owns a boat with a red sail."; 8];
        let lines = written.map(|text| format!("- {text} (hearsay from Bob, Thu 26 Nov 2026)"));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let sources = Sources { lines: &lines, written: &written };
        assert_eq!(invented("Ann is called Zoltan, says Bob in Nov 2026.", sources), ["Zoltan"]);
    }

    #[test]
    fn a_text_without_spaces_is_read_too() {
        assert_eq!(invented("会议在5点。然后7点吃饭。", all(&["会议在5点"])), ["然后7点吃饭"]);
        assert_eq!(without("会议在5点。然后7点吃饭。", &["然后7点吃饭".into()]), "会议在5点。");
        assert_eq!(invented("", all(&[])), [""; 0]);
    }
}
