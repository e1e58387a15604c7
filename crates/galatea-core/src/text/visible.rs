//! Removes invisible characters from text. Text for models and for platforms passes through here,
//! so that a message cannot hide words, reverse its direction, or break a line where none is shown.

use std::borrow::Cow;

/// Letters of the three flags that are made of tag characters (Unicode, emoji-sequences: England,
/// Scotland, Wales).
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
/// The black flag those begin with, and the tag that ends them.
const BLACK_FLAG: char = '\u{1f3f4}';
const END_OF_TAGS: char = '\u{e007f}';
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';

/// The text as a reader sees it: without control characters, direction overrides, tag characters,
/// zero-width and filling characters. Every kind of line break becomes `\n`. Joined emoji, their
/// variation selectors and flags stay whole, and so do the joiners that some scripts write words
/// with.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let ahead = rest.as_str();
        match c {
            '\r' if ahead.starts_with('\n') => {}
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            BLACK_FLAG => {
                out.push(c);
                if let Some(tags) = flag(ahead) {
                    out.push_str(tags);
                    rest = ahead[tags.len()..].chars();
                }
            }
            JOINER | NON_JOINER if !joins(out.chars().next_back(), c, ahead.chars().next()) => {}
            _ if is_selector(c) && !selects(out.chars().next_back(), c) => {}
            _ if is_hidden(c) => {}
            _ => out.push(c),
        }
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// [`visible`] in one line: line breaks and tabs become single spaces, and nothing stands at either
/// end.
pub fn one_line(text: &str) -> String {
    let seen = visible(text);
    let mut out = String::with_capacity(seen.len());
    for word in seen.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Most texts are made of these only.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~' | '\n' | '\t' | '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{400}'..='\u{52f}')
}

/// The tag characters of a flag that `ahead` begins with.
fn flag(ahead: &str) -> Option<&str> {
    let end = ahead.char_indices().take(6).find(|(_, c)| *c == END_OF_TAGS)?;
    let letters: String = ahead[..end.0]
        .chars()
        .filter_map(|c| char::from_u32(u32::from(c).checked_sub(0xe_0000)?))
        .collect();
    FLAGS.contains(&letters.as_str()).then(|| &ahead[..end.0 + END_OF_TAGS.len_utf8()])
}

/// A joiner joins two visible things: emoji, or letters of scripts that are written with it. Never
/// letters of ASCII, and never twice.
fn joins(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    let joined = |c: char| {
        !c.is_ascii() && !is_hidden(c) && !matches!(c, JOINER | NON_JOINER) && !c.is_whitespace()
    };
    let letters = |c: char| joiner == JOINER || !is_selector(c);
    // Behind an emoji's variation selector; a keycap ends in U+20E3.
    before.is_some_and(|c| joined(c) && letters(c))
        && after.is_some_and(|c| joined(c) && !is_selector(c))
}

/// Variation selectors (Unicode, Variation Selectors and their Supplement).
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Keeps one selector for a character that can have it: a row of them can spell anything.
fn selects(before: Option<char>, selector: char) -> bool {
    let Some(before) = before else { return false };
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => {
            matches!(before, '0'..='9' | '#' | '*' | '\u{a9}' | '\u{ae}')
                || (before >= '\u{2000}' && !is_selector(before))
        }
        // Of mathematical signs and ideographs.
        '\u{fe00}'..='\u{fe0d}' => {
            before >= '\u{2000}' && !is_selector(before) && !is_emoji_range(before)
        }
        _ => {
            matches!(before, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        }
    }
}

fn is_emoji_range(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}')
}

/// Characters that no reader sees. Joiners, selectors and flags are looked at before.
fn is_hidden(c: char) -> bool {
    if matches!(c, '\n' | '\t') {
        return false;
    }
    c.is_control()
        || matches!(c,
            // Directions: marks, embeddings, overrides, isolates (Unicode, UAX #9).
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Of no width, or that only fill (Unicode, Default_Ignorable_Code_Point).
            | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{2028}' | '\u{2029}'
            | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags.
            | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
        // Characters that are none.
        || matches!(u32::from(c), 0xfdd0..=0xfdef)
        || u32::from(c) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EMOJI: [&str; 12] =
        ["👩‍👩‍👧", "❤️‍🔥", "🏳️‍🌈", "1️⃣", "#️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏴󠁧󠁢󠁷󠁬󠁳󠁿", "👋🏽", "🇩🇪", "☎︎", "🧑🏿‍🦽‍➡️"];

    #[test]
    fn emoji_and_scripts_stay_whole() {
        for whole in
            EMOJI.into_iter().chain(["می‌خواهم", "क्‍ष", "ශ්‍රී", "葛󠄀", "Grüße, Привет", "a\n\tb", "≨︀"])
        {
            assert!(
                matches!(visible(whole), Cow::Borrowed(same) if same == whole),
                "{whole:?}: {:?}",
                visible(whole)
            );
        }
        let family = EMOJI.join("");
        assert_eq!(visible(&family), family);
    }

    #[test]
    fn what_no_reader_sees_is_taken_out() {
        let hidden: String =
            "obey".chars().filter_map(|c| char::from_u32(0xe_0000 + u32::from(c))).collect();
        assert_eq!(visible(&format!("hi{hidden}\u{202e}\u{200b}")), "hi");
        assert_eq!(visible(&format!("🏴{hidden}\u{e007f}")), "🏴", "a flag of nowhere hides words");
        assert_eq!(visible("a\u{0}b\u{1b}[31mc\u{7f}\u{9b}"), "ab[31mc");
        assert_eq!(visible("a\u{200d}b 1\u{200c}2 \u{200d}"), "ab 12 ");
        let spelled: String = (0..40_u32).filter_map(|n| char::from_u32(0xe_0100 + n)).collect();
        assert_eq!(visible(&format!("😀{spelled}\u{fe0f}\u{fe0f}\u{fe01}")), "😀\u{fe0f}");
        assert_eq!(visible("a\u{fe0f}\u{115f}\u{3164}\u{2060}b"), "ab");
    }

    #[test]
    fn every_line_break_is_one() {
        assert_eq!(
            visible("a\r\nb\rc\u{2028}d\u{2029}e\u{85}f\u{b}g\u{c}h"),
            "a\nb\nc\nd\ne\nf\ng\nh"
        );
        assert_eq!(one_line(" a\r\n\tb\u{2028}c  d\u{202e} "), "a b c d");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in "[\\PC\u{0}-\u{20}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2066}-\u{2069}\u{fe00}-\u{fe0f}\u{e0001}-\u{e007f}\u{e0100}-\u{e0110}🏴a-c]{0,40}") {
            let seen = visible(&text).into_owned();
            let mut before = None;
            for c in seen.chars() {
                let flag = matches!(c, '\u{e0020}'..='\u{e007f}');
                prop_assert!(flag || !is_hidden(c), "{seen:?} holds {c:?}");
                prop_assert!(!(is_selector(c) && before.is_some_and(is_selector)), "{seen:?}");
                let breaks = matches!(c, '\r' | '\u{2028}' | '\u{2029}' | '\u{85}');
                prop_assert!(!breaks);
                before = Some(c);
            }
            prop_assert_eq!(visible(&seen), seen.as_str(), "looked at twice it is the same");
            prop_assert!(!one_line(&text).contains(['\n', '\t']));
        }
    }
}
