//! Neutralises mentions. A stranger must not be able to make the agent mention people outside the
//! conversation: X notifies them, and treats the account as a spammer. A space after the sign keeps
//! the text readable and prevents the mention.

use super::links::{links, swallows_at};

/// Both signs that X accepts in a mention (twitter-text, `atSigns`).
const SIGNS: [char; 2] = ['@', '＠'];
/// Longest name that is restored. Longer ones cannot be handles and stay neutralised.
const LONGEST: usize = 64;

/// Neutralises all mentions: `@name` becomes `@ name`. Mail addresses, and links that X keeps
/// whole, stay as they are.
pub(super) fn defuse(text: &str) -> String {
    if !text.contains(SIGNS) {
        return text.to_owned();
    }
    let kept: Vec<_> = links(text)
        .into_iter()
        .map(|link| link.range)
        .filter(|range| swallows_at(text, range))
        .collect();
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        let name = text[at + c.len_utf8()..].starts_with(is_name);
        if SIGNS.contains(&c)
            && name
            && !is_inside_word(&text[..at])
            && !kept.iter().any(|range| range.contains(&at))
        {
            out.push_str("@ ");
        } else {
            out.push(c);
        }
    }
    out
}

/// Restores the mentions for which `may` returns true.
pub(crate) fn restore(text: &str, may: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("@ ") {
        let (before, after) = (&rest[..at + 1], &rest[at + 2..]);
        out.push_str(before);
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        if end == 0 || end > LONGEST || !may(&after[..end].to_ascii_lowercase()) {
            out.push(' ');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// True if the sign follows a letter, which prevents a mention (twitter-text,
/// `validMentionPrecedingChars`). `RT` is the exception.
fn is_inside_word(before: &str) -> bool {
    let word = &before[before
        .rfind(|c: char| !is_name(c))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..];
    !word.is_empty() && !word.eq_ignore_ascii_case("rt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mentions_are_disarmed_and_the_words_stay() {
        for (text, meant) in [
            ("ask @victim and @Other_1!", "ask @ victim and @ Other_1!"),
            (
                "＠victim .@victim (@victim) RT@victim é@victim",
                "@ victim .@ victim (@ victim) RT@ victim é@ victim",
            ),
            ("@a@b", "@ a@b"),
            ("mail ann@example.com, 3 @ 4, @ name, @", "mail ann@example.com, 3 @ 4, @ name, @"),
            (
                "https://medium.com/@ann/post and https://a.unknownending/@victim",
                "https://medium.com/@ann/post and https://a.unknownending/@ victim",
            ),
            ("x/@victim @list/one", "x/@ victim @ list/one"),
        ] {
            assert_eq!(defuse(text), meant);
        }
    }

    #[test]
    fn those_who_may_be_named_are() {
        let may = |name: &str| name == "ann_b";
        assert_eq!(
            restore(&defuse("@Ann_b and @ann_b2, @victim @ann_b"), may),
            "@Ann_b and @ ann_b2, @ victim @ann_b"
        );
        assert_eq!(restore("3 @ 4 @ @ ann_b", may), "3 @ 4 @ @ann_b");
    }

    proptest! {
        #[test]
        fn only_spaces_are_added(text in "([@＠ ./a-z_é]|RT|https://a\\.com/){0,40}") {
            let bare = |t: &str| t.replace('＠', "@").chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(bare(&defuse(&text)), bare(&text));
            prop_assert_eq!(defuse(&defuse(&text)), defuse(&text));
        }
    }
}
