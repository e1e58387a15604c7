//! Question of a message to documents: by itself, and if it points back (`and how much is it?`)
//! together with what its speaker said before. Pure.

use galatea_core::fusion::is_unspaced;

use crate::terms;

/// A message that points back has so many words at most that say what it is about. With more it says
/// that itself.
const FEW: usize = 2;
/// Words that point back in a script without spaces, where particles count too.
const FEW_UNSPACED: usize = 4;
/// Messages before it that are looked at.
const BACK: usize = 4;

/// Question to documents.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DocumentQuestion {
    /// The message by itself.
    pub(crate) alone: String,
    /// The message with what was said before, if it points back.
    pub(crate) in_context: Option<String>,
}

impl DocumentQuestion {
    /// `said` is what is being said, the newest first, and `before` what its speaker said before that,
    /// the newest first.
    pub(crate) fn new<'a>(said: &[&str], before: impl Iterator<Item = &'a str>) -> Self {
        let in_context = match said {
            [message] if points_back(message) => {
                let mut texts = vec![*message];
                for text in before.take(BACK).filter(|text| terms::count(text) > 0) {
                    texts.push(text);
                    // Its subject stands in the last message that stands on its own.
                    if !points_back(text) {
                        break;
                    }
                }
                (texts.len() > 1).then(|| texts.join(" "))
            }
            _ => None,
        };
        Self { alone: said.join(" "), in_context }
    }
}

/// First words of a message that goes on about something.
const GOING_ON: &[&str] = &[
    "and", "or", "but", "also", "then", "und", "oder", "aber", "auch", "et", "ou", "mais", "y",
    "o", "pero", "ma", "maar", "а", "и", "но",
];
/// Words of a question that stand for what was named before.
const POINTING: &[&str] = &[
    "it", "its", "they", "them", "their", "this", "that", "these", "those", "he", "she", "him",
    "her", "his", "one", "ones", "er", "ihn", "ihm", "dafür", "davon", "damit", "dazu", "darauf",
    "dort", "diese", "dieser", "dieses", "diesen", "ça", "cela", "celui", "celle", "eso", "esto",
    "это", "он", "она", "оно", "они", "его", "её", "их",
];
/// Words that point back only at the end of the question: elsewhere they are articles, or name a
/// person politely.
const POINTING_LAST: &[&str] = &["das", "es", "die", "der", "sie"];
/// Beginnings and ends of questions that go on about something, in scripts without spaces.
const BEGINS: &[&str] = &[
    "那",
    "它",
    "还有",
    "還有",
    "这个",
    "這個",
    "それ",
    "その",
    "これ",
    "この",
    "では",
    "じゃ",
    "그럼",
    "그거",
    "그건",
    "그리고",
    "이거",
];
const ENDS: &[&str] = &["呢", "は"];

/// True if a message is about what was said before it.
fn points_back(message: &str) -> bool {
    let words: Vec<String> = terms::split_words(message).collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    let saying: Vec<&str> =
        words.iter().filter(|word| !is(POINTING, word)).map(String::as_str).collect();
    let most = if message.contains(is_unspaced) { FEW_UNSPACED } else { FEW };
    if terms::count(&saying.join(" ")) > most {
        return false;
    }
    let about = ["what", "how"].contains(&first.as_str())
        && words.get(1).is_some_and(|second| second == "about");
    about
        || is(GOING_ON, first)
        || BEGINS.iter().any(|begin| first.starts_with(begin))
        || (terms::asks(message)
            && (words.iter().any(|word| is(POINTING, word))
                || is(POINTING_LAST, last)
                || ENDS.iter().any(|end| last.ends_with(end))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_stands_on_its_own_does_not_point_back() {
        for message in [
            "What is the wifi password?",
            "When must the impeller be replaced?",
            "What is the capital of Mongolia?",
            "How tall is the Eiffel tower?",
            "Wann ist Mittagsruhe?",
            "Was kostet das Paddel?",
            "Haben Sie WLAN?",
            "Kettle?",
            "I like that kettle",
            "thanks!",
            "How long is it until they repair the bridge over the river?",
            "长城有多长？",
            "病院はどこですか？",
        ] {
            assert!(!points_back(message), "{message}");
        }
        for message in [
            "and how much is it?",
            "and the price?",
            "How much is it?",
            "When must it be returned?",
            "what about members",
            "Und wann ist das?",
            "Was kostet es?",
            "Combien coûte cela ?",
            "那价格呢？",
            "値段は？",
            "А цена?",
        ] {
            assert!(points_back(message), "{message}");
        }
    }

    #[test]
    fn what_it_is_about_stands_in_the_last_message_that_stands_on_its_own() {
        let asked = |said: &[&str], before: &[&str]| {
            DocumentQuestion::new(said, before.iter().copied()).in_context
        };
        let before =
            ["and on Sundays?", "thanks!", "What does a paddle cost?", "Where is the wifi?"];
        assert_eq!(
            asked(&["and how much is it?"], &before).as_deref(),
            Some("and how much is it? and on Sundays? What does a paddle cost?")
        );
        assert_eq!(asked(&["What is the capital of Mongolia?"], &before), None);
        assert_eq!(asked(&["and how much is it?"], &[]), None);
        assert_eq!(asked(&["it", "How much?"], &before), None, "two messages at once");
    }
}
