//! The names that a persona is called by: its own, its handle, its names on the platform, and the
//! first word of a name of several.

use crate::turn::spelling::{folded, is_word};

/// A folded name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameForm {
    pub(super) name: String,
    /// It is an ordinary word besides: it counts only where it is set apart or greeted.
    pub(super) ordinary: bool,
}

/// Words before a name that say how to address a person. The name begins behind them.
const TITLES: &[&str] = &[
    "dr",
    "doctor",
    "prof",
    "professor",
    "mr",
    "mrs",
    "ms",
    "miss",
    "mister",
    "sir",
    "dame",
    "lady",
    "lord",
    "captain",
    "capt",
    "king",
    "queen",
    "prince",
    "princess",
    "herr",
    "frau",
    "monsieur",
    "madame",
    "mme",
    "don",
    "dona",
    "senor",
    "senora",
    "san",
    "santa",
    "saint",
    "st",
    "uncle",
    "aunt",
];
/// First words that are no short form of a name: articles, pronouns, adjectives, and words for what
/// a bot is. Nobody calls "The Oracle" by "the".
const NO_NAMES: &[&str] = &[
    "a",
    "an",
    "the",
    "my",
    "your",
    "our",
    "his",
    "her",
    "their",
    "this",
    "that",
    "some",
    "all",
    "le",
    "la",
    "les",
    "un",
    "une",
    "el",
    "los",
    "las",
    "una",
    "il",
    "lo",
    "gli",
    "der",
    "die",
    "das",
    "ein",
    "eine",
    "de",
    "het",
    "een",
    "os",
    "as",
    "um",
    "uma",
    "ai",
    "bot",
    "chat",
    "chatbot",
    "robot",
    "assistant",
    "agent",
    "helper",
    "help",
    "support",
    "team",
    "project",
    "open",
    "smart",
    "good",
    "bad",
    "new",
    "best",
    "old",
    "young",
    "big",
    "little",
    "small",
    "super",
    "mini",
    "mega",
    "happy",
    "lucky",
    "red",
    "blue",
    "green",
    "black",
    "white",
    "gray",
    "grey",
    "golden",
    "silver",
    "dark",
    "night",
    "your",
    "mother",
];
/// First names that are ordinary words as well.
const ORDINARY: &[&str] = &[
    "amber",
    "angel",
    "april",
    "art",
    "august",
    "autumn",
    "basil",
    "bill",
    "bob",
    "carol",
    "chase",
    "cherry",
    "chip",
    "christian",
    "clay",
    "crystal",
    "daisy",
    "dawn",
    "dean",
    "destiny",
    "drew",
    "earl",
    "eve",
    "faith",
    "father",
    "forest",
    "frank",
    "gene",
    "ginger",
    "grace",
    "grant",
    "heather",
    "holly",
    "hope",
    "hunter",
    "iris",
    "ivy",
    "jack",
    "jade",
    "jasmine",
    "joy",
    "june",
    "lily",
    "mark",
    "may",
    "melody",
    "miles",
    "nick",
    "norm",
    "olive",
    "page",
    "pat",
    "penny",
    "pearl",
    "ray",
    "rich",
    "rob",
    "robin",
    "rose",
    "ruby",
    "sky",
    "star",
    "summer",
    "sue",
    "will",
    "violet",
];

/// The forms of these names, each once; names of one letter are left out, since they would match
/// everywhere.
pub(super) fn forms<'a>(names: impl Iterator<Item = &'a str>) -> Vec<NameForm> {
    let mut all: Vec<NameForm> = Vec::new();
    let mut add = |name: &str, ordinary: bool| {
        if name.chars().count() > 1 && !all.iter().any(|form| form.name == name) {
            all.push(NameForm { name: name.to_owned(), ordinary });
        }
    };
    let mut shorts = Vec::new();
    for name in names {
        let name = folded(name);
        let name = name
            .trim_matches(|c: char| !is_word(c))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        add(&name, false);
        shorts.extend(short(&name).map(str::to_owned));
    }
    for short in shorts {
        add(&short, ORDINARY.contains(&short.as_str()));
    }
    all
}

/// The first word of a name of several, behind titles: "ada" of "Ada Lovelace" and of "Dr. Ada
/// Lovelace". None where it is no name of its own.
fn short(name: &str) -> Option<&str> {
    let mut words = name
        .split(|c: char| c.is_whitespace() || "·・•|/,()[]{}<>«»\"~.".contains(c))
        .filter(|word| !word.is_empty());
    let mut first = words.next()?;
    let mut titled = false;
    while TITLES.contains(&first) {
        titled = true;
        first = words.next()?;
    }
    let several = titled || words.next().is_some();
    let long_enough = first.chars().count() > if first.is_ascii() { 2 } else { 1 };
    (several && long_enough && !NO_NAMES.contains(&first) && first.chars().any(char::is_alphabetic))
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_name_is_a_name_if_it_is_one() {
        for (name, expected) in [
            ("Ada Lovelace", Some("ada")),
            ("ADA Lovelace ✨", Some("ada")),
            ("Dr. Ada Lovelace", Some("ada")),
            ("Prof. Nova", Some("nova")),
            ("Nova (beta)", Some("nova")),
            ("Nova | Helper", Some("nova")),
            ("艾达·洛夫莱斯", Some("艾达")),
            ("エイダ・ラブレス", Some("エイダ")),
            ("山田 太郎", Some("山田")),
            ("Will Smith", Some("will")),
            ("The Oracle", None),
            ("My Helper", None),
            ("AI Friend", None),
            ("Al Bundy", None),
            ("Nova", None),
            ("Dr.", None),
            ("42 Answers", None),
        ] {
            assert_eq!(short(&folded(name)), expected, "{name}");
        }
    }

    #[test]
    fn no_form_stands_twice_and_emoji_are_no_part_of_a_name() {
        let all = forms(["✨Nova✨", "nova", "N", "Nova Prime"].into_iter());
        let names: Vec<&str> = all.iter().map(|form| form.name.as_str()).collect();
        assert_eq!(names, ["nova", "nova prime"]);
        let may = forms(std::iter::once("May Parker"));
        assert!(may[1].ordinary && may[1].name == "may", "{may:?}");
        assert!(!forms(std::iter::once("May"))[0].ordinary, "the whole name is the owner's choice");
    }
}
