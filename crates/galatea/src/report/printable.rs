//! Escapes what a terminal would obey or hide. Names and texts come from strangers: a control
//! character moves the cursor or starts a command of the terminal, C1 included, and a direction mark
//! shows words in another order than they are in. Every path to a terminal passes through here.

use std::{borrow::Cow, fmt::Write as _};

/// Text for people: each such character as `\u{202e}`. Line feeds and tabs stay, and `\r\n` is a
/// line feed.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c, out| {
        let _ = write!(out, "{}", c.escape_unicode());
    })
}

/// A JSON document: each such character as `\u202e`, which means the same to a program.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    escaped(text, |c, out| {
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// A line of the log: as text, but with colours where the log has them. The library that writes the
/// log escapes what fields contain of them.
pub(crate) fn log(line: &str, colored: bool) -> Cow<'_, str> {
    if !colored {
        return text(line);
    }
    painted(line, "\x1b[", |rest| {
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        rest[length..].starts_with('m').then_some(length + 1)
    })
}

/// Text with colours that begin with `mark` in place of the escape sequence `ESC [`. What else
/// contains escape sequences is not from this program.
pub(crate) fn marked<'a>(line: &'a str, mark: &str) -> Cow<'a, str> {
    painted(line, mark, |rest| rest.find('m').map(|end| end + 1))
}

/// `line` with the sequences that begin with `mark` and have the length that `sequence` finds.
fn painted<'a>(
    line: &'a str,
    mark: &str,
    sequence: impl Fn(&str) -> Option<usize>,
) -> Cow<'a, str> {
    if !line.contains(mark) {
        return text(line);
    }
    let (mut out, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find(mark) {
        let (before, after) = (&rest[..at], &rest[at + mark.len()..]);
        out.push_str(&text(before));
        match sequence(after) {
            Some(length) => {
                out.push_str("\x1b[");
                out.push_str(&after[..length]);
                rest = &after[length..];
            }
            None => {
                out.push_str(&text(mark));
                rest = after;
            }
        }
    }
    out.push_str(&text(rest));
    Cow::Owned(out)
}

fn escaped(text: &str, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let Some(first) = text.find(is_obeyed) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_obeyed(c) => escape(c, &mut out),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Control characters (C0, DEL, C1), separators of lines, and marks, overrides and isolates of
/// directions (Unicode, UAX #9), annotations.
fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        '\u{fff9}'..='\u{fffb}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "a\u{1b}[2Jb\u{9b}31mc\u{202e}d\u{2066}e\u{7}f\u{85}g\rh\u{200f}i\u{2028}";

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        assert_eq!(
            text(EVIL),
            "a\\u{1b}[2Jb\\u{9b}31mc\\u{202e}d\\u{2066}e\\u{7}f\\u{85}g\\u{d}h\\u{200f}i\\u{2028}"
        );
        for shown in [text(EVIL), log(EVIL, false), log(EVIL, true), marked(EVIL, "\x1bxyz[")] {
            assert!(!shown.contains(is_obeyed), "{shown:?}");
        }
    }

    #[test]
    fn json_means_the_same_and_is_plain() {
        let document = serde_json::json!({ "name": EVIL, "n": [1, "x"] });
        for text in [document.to_string(), format!("{document:#}")] {
            let plain = json(&text);
            assert!(!plain.contains(is_obeyed), "{plain:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), document);
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in ["", "Grüße\n\tПривет 👩‍👩‍👧 می‌خواهم", "ノヴァ 🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
        {
            assert!(matches!(super::text(text), Cow::Borrowed(same) if same == text));
        }
        assert_eq!(text("a\r\nb"), "a\nb");
    }

    #[test]
    fn colours_of_the_program_stay_and_those_of_a_name_do_not() {
        let mark = "\x1b\u{10abcd}[";
        let line = format!("{mark}31mred{mark}0m \x1b[31mname\u{9b}0m {mark}");
        assert_eq!(
            marked(&line, mark),
            "\x1b[31mred\x1b[0m \\u{1b}[31mname\\u{9b}0m \\u{1b}\u{10abcd}["
        );
        assert_eq!(log("\x1b[2mx\x1b[0m \x1b]0;t\x07", true), "\x1b[2mx\x1b[0m \\u{1b}]0;t\\u{7}");
        assert_eq!(log("\x1b[2Jx", true), "\\u{1b}[2Jx");
    }
}
