//! Whether a message calls the agent by name, or merely contains it.

use galatea_core::Character;

/// How a message calls the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// The name is what it begins or ends with, or stands apart, as in a vocative.
    Addressed,
    /// The name stands in it as a word.
    Contained,
    No,
}

/// Words before a name that address it: greetings and calls of the languages most spoken on the
/// platforms.
const GREETINGS: [&str; 24] = [
    "hey",
    "hi",
    "hello",
    "yo",
    "ok",
    "okay",
    "thanks",
    "please",
    "dear",
    "morning",
    "hallo",
    "moin",
    "danke",
    "bitte",
    "liebe",
    "lieber",
    "hola",
    "gracias",
    "bonjour",
    "salut",
    "merci",
    "ciao",
    "oi",
    "привет",
];

/// Looks for the name and the handle, in any case. One-letter names would match everywhere and are
/// left out.
pub(super) fn called(text: &str, character: &Character) -> Called {
    let text = text.to_lowercase();
    let names = [Some(&character.name), character.username.as_ref()];
    let names = names
        .into_iter()
        .flatten()
        .map(|name| name.trim().to_lowercase())
        .filter(|name| name.chars().count() > 1);
    let mut found = Called::No;
    for name in names {
        for (at, word) in text.match_indices(&name) {
            let (before, after) = (&text[..at], &text[at + word.len()..]);
            if before.chars().next_back().is_some_and(is_word)
                || after.chars().next().is_some_and(is_word)
            {
                continue;
            }
            if addressed(before, after) {
                return Called::Addressed;
            }
            found = Called::Contained;
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric()
}

/// By what stands around it: nothing before or after; a pause on both sides; or a greeting before.
fn addressed(before: &str, after: &str) -> bool {
    let before =
        before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n').trim_end_matches('@');
    let before = before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    let says_nothing = |text: &str| !text.chars().any(is_word);
    if says_nothing(before) || says_nothing(after) {
        return true;
    }
    let greeted = before
        .split(|c: char| !is_word(c))
        .next_back()
        .is_some_and(|word| GREETINGS.contains(&word));
    greeted || (pauses(before.chars().next_back()) && pauses(after.chars().next()))
}

/// A mark at which a reader pauses, or a line's end.
fn pauses(mark: Option<char>) -> bool {
    mark.is_some_and(|c| {
        c == '\n'
            || (c.is_ascii_punctuation() && !matches!(c, '\'' | '"' | '_' | '/' | '`' | '*' | '-'))
            || "…–—،、，：；！？。".contains(c)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Called {
        let character = Character {
            name: "May".into(),
            username: Some("may_bot".into()),
            ..Character::default()
        };
        called(text, &character)
    }

    #[test]
    fn who_is_addressed() {
        for text in [
            "May, what now?",
            "may what time is it",
            "what do you think, May?",
            "thanks may 🙂",
            "so, May, what now",
            "Hey May can you help",
            "Good evening.\nMay, are you there?",
            "@may_bot help",
            "is that right? May: tell them",
            "ask MAY_BOT!",
            "你好，May！你在吗",
        ] {
            assert_eq!(of(text), Called::Addressed, "{text}");
        }
    }

    #[test]
    fn who_is_merely_named() {
        for text in [
            "you may go now",
            "I saw May yesterday",
            "we leave in May or June",
            "what 'may' means here",
            "the may_bot account is new here",
        ] {
            assert_eq!(of(text), Called::Contained, "{text}");
        }
        for text in ["maybe later", "nothing at all", "dismay is strong"] {
            assert_eq!(of(text), Called::No, "{text}");
        }
    }

    #[test]
    fn one_letter_is_no_name() {
        let character = Character { name: "A".into(), ..Character::default() };
        assert_eq!(called("a, b", &character), Called::No);
    }
}
