//! Checks a summary against what it was made of: a name or number that stands in neither is
//! invented. Pure.

use std::collections::HashSet;

use super::{
    lexicon::{self, Lexicon},
    numbers::{Numbers, Token, tokens},
};
use crate::fold::fold;

/// Share of words with a capital letter inside of sentences beyond which a language writes all of
/// its nouns so, as German does. English prose has about 5 %, German 25 %.
const NOUNS: (usize, usize) = (15, 100);
/// Letters that the cases of a Slavic name may add or change at its end, and those that they keep.
const ENDING: usize = 3;
const KEPT: usize = 3;

/// Sources of a summary.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// The whole question: its words are known.
    pub(crate) lines: &'a [&'a str],
    /// Words of people, without the dates and names that the question adds: they show whether the
    /// language writes nouns with a capital letter.
    pub(crate) written: &'a [&'a str],
}

/// Words and numbers that may stand in a summary.
struct KnownNumbers {
    words: HashSet<String>,
    numbers: Numbers,
}

impl KnownNumbers {
    fn of(texts: &[&str]) -> Self {
        let mut known = Self { words: HashSet::new(), numbers: Numbers::default() };
        for text in texts {
            known.numbers.add(text);
            // "O'Neill" and "Jean-Luc" as one word, too.
            let joined = text.split(char::is_whitespace).filter(|word| word.contains(JOINTS));
            known.words.extend(joined.map(|word| {
                fold(&word.chars().filter(|c| c.is_alphanumeric()).collect::<String>())
            }));
            for token in tokens(text) {
                let (Token::Word(word) | Token::Number(word)) = token;
                known.words.insert(fold(word));
            }
        }
        known
    }

    /// True if a name stands in the texts, perhaps with another ending.
    fn has_name(&self, name: &str) -> bool {
        let name = fold(name);
        if self.words.contains(&name) {
            return true;
        }
        let bare = name.strip_suffix('s').filter(|bare| bare.len() > 2);
        if bare.is_some_and(|bare| self.words.contains(bare)) {
            return true;
        }
        self.words.contains(&format!("{name}s"))
            || (is_cyrillic(&name) && self.words.iter().any(|word| is_case_of(&name, word)))
    }
}

/// Characters within a name.
const JOINTS: [char; 4] = ['\'', '’', '-', '‐'];

fn is_cyrillic(word: &str) -> bool {
    word.chars().all(|c| matches!(c, '\u{400}'..='\u{4ff}'))
}

/// True if two Cyrillic words differ in a short ending only.
fn is_case_of(a: &str, b: &str) -> bool {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = |word: &str| word.chars().count() - same;
    same >= KEPT && rest(a) <= ENDING && rest(b) <= ENDING
}

/// Names and numbers of `summary` that `sources` do not contain.
pub(crate) fn invented(summary: &str, sources: Sources<'_>) -> Vec<String> {
    let (known, lexicon) = (KnownNumbers::of(sources.lines), lexicon::lexicon());
    let names_count = !capitalises_nouns(sources.written);
    let ordinary = lower_case(summary);
    let mut seen = HashSet::new();
    let mut invented = Vec::new();
    for sentence in sentences(summary) {
        let tokens = tokens(sentence);
        for (place, token) in tokens.iter().enumerate() {
            let is_invented = match token {
                Token::Number(number) => {
                    !known.words.contains(&fold(number)) && !known.numbers.has(&tokens, place)
                }
                Token::Word(word) if is_number(word) => !known.has_name(word),
                Token::Word(word) => {
                    names_count
                        && is_name(word)
                        && !known.has_name(word)
                        && !known.numbers.has_month(lexicon, &fold(word))
                        && (place > 0 || !is_ordinary(word, &ordinary, lexicon))
                }
            };
            let (Token::Word(text) | Token::Number(text)) = token;
            if is_invented && seen.insert(fold(text)) {
                invented.push((*text).to_owned());
            }
        }
    }
    invented
}

/// Words that a text writes in lower case.
fn lower_case(text: &str) -> HashSet<String> {
    let words = tokens(text).into_iter().filter_map(|token| match token {
        Token::Word(word) if word.starts_with(char::is_lowercase) => Some(fold(word)),
        Token::Word(_) | Token::Number(_) => None,
    });
    words.collect()
}

/// True if the first word of a sentence has its capital letter from there: a word of the list, or one
/// that the text also writes small.
fn is_ordinary(word: &str, small: &HashSet<String>, lexicon: &Lexicon) -> bool {
    let word = fold(word);
    lexicon.is_opening(&word) || small.contains(&word)
}

/// The sentences of `summary` that contain none of the invented words.
pub(crate) fn without(summary: &str, invented: &[String]) -> String {
    let bad: HashSet<String> = invented.iter().map(|word| fold(word)).collect();
    let is_bad = |token: &Token<'_>| {
        let (Token::Word(text) | Token::Number(text)) = token;
        bad.contains(&fold(text))
    };
    sentences(summary)
        .into_iter()
        .filter(|sentence| !tokens(sentence).iter().any(is_bad))
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The sentences of a text.
pub(super) fn sentences(text: &str) -> Vec<&str> {
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

fn capitalises_nouns(written: &[&str]) -> bool {
    let inner: Vec<&str> = written
        .iter()
        .flat_map(|text| sentences(text))
        .flat_map(|sentence| tokens(sentence).into_iter().skip(1).collect::<Vec<_>>())
        .filter_map(|token| match token {
            Token::Word(word) => Some(word).filter(|word| !is_number(word)),
            Token::Number(_) => None,
        })
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
        assert_eq!(invented("会议在5点。然后7点吃饭。", all(&["会议在5点"])), ["7"]);
        assert_eq!(without("会议在5点。然后7点吃饭。", &["7".into()]), "会议在5点。");
        assert_eq!(invented("", all(&[])), [""; 0]);
    }

    /// What the talk of the next two tests says.
    const MILL: [&str; 3] = [
        "Ada: the mill costs 1240 euros, José O'Neill told me on 3 May",
        "Jean-Luc: it has twelve windows, 5 % of them broken, and we meet at 17:00",
        "Иван: Марина живёт в Казани",
    ];

    #[test]
    fn an_invented_name_at_the_start_of_a_sentence_does_not_pass() {
        for (text, name) in [
            ("Zorbax wants to sell the mill.", "Zorbax"),
            ("Ada likes it. Zorbax wants to sell the mill.", "Zorbax"),
            ("- Quentin said that the mill costs 1240 euros.", "Quentin"),
            ("The mill is cheap; Fenwick owns it.", "Fenwick"),
            ("Zorbax's mill costs 1240 euros.", "Zorbax"),
            ("Борис живёт в Казани.", "Борис"),
        ] {
            assert_eq!(invented(text, all(&MILL)), [name], "{text}");
        }
        for text in [
            "Then Ada told it. Everyone agreed. However, nothing is decided. Two windows are broken.",
            "Windows are broken. Ada wants other windows.",
            "Mill for sale: 1240 euros.",
            "Actualmente Ada vende. Außerdem kommt Ada. Ensuite, Ada vend. Затем Ada.",
        ] {
            assert_eq!(invented(text, all(&MILL)), [""; 0], "{text}");
        }
    }

    #[test]
    fn another_spelling_of_a_name_or_number_is_not_invented() {
        for text in [
            "The mill costs 1,240 euros.",
            "The mill costs 1.240 €, says Jose ONeill.",
            "The mill costs 1 240 euros on the 3rd of May, 03/05, on 3.5.",
            "They meet at 5 pm, 5 percent of 12 windows are broken.",
            "They meet at 5pm, says JEAN-LUC, says Jean Luc, and ADA's friend agrees.",
            "Ada and Jean-Luc's 12th window.",
            "О Марине и Иване.",
        ] {
            assert_eq!(invented(text, all(&MILL)), [""; 0], "{text}");
        }
        let wrong = "The mill costs 1,420 euros on 4 May, at 6 pm, says Joseph.";
        assert_eq!(invented(wrong, all(&MILL)), ["1,420", "4", "6", "Joseph"]);
    }
}
