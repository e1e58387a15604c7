//! Places in a text: line, column and the source line as it may be shown.

use std::ops::Range;

/// Characters of a source line shown at most (a minified file is one line).
const WINDOW: usize = 96;
/// Characters shown before the fault when the line is cut.
const BEFORE: usize = 40;
/// Characters looked at on either side of what is shown.
const CONTEXT: usize = 512;

/// Start of a byte range, with the line to show.
pub(super) struct LinePlace {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) snippet: String,
    pub(super) caret: usize,
    pub(super) width: usize,
}

/// Longest sentence or file name shown, in characters: keys of the file occur in sentences.
const MAX_TEXT: usize = 300;

/// Finds a byte range. Lines end at `\n`; a `\r` before it is not shown. Columns count characters.
pub(super) fn place(text: &str, range: &Range<usize>) -> LinePlace {
    let start = floor(text, range.start);
    let line = text[..start].matches('\n').count() + 1;
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let source = text[line_start..line_end].trim_end_matches('\r');
    let before = text[line_start..start].chars().count();
    let end = floor(text, range.end).clamp(start, line_end);
    let width = text[start..end].trim_end_matches('\r').chars().count();

    // Masking looks at what stands around the window too: the key of a long secret may lie before
    // it.
    let skip = before.saturating_sub(BEFORE + CONTEXT);
    let around: String = source.chars().skip(skip).take(BEFORE + WINDOW + 2 * CONTEXT).collect();
    let shown: Vec<char> =
        mask(&around).into_iter().map(|c| if harmless(c) { c } else { '\u{FFFD}' }).collect();
    let length = source.chars().count();
    let from = if length > WINDOW { before.min(length).saturating_sub(BEFORE) } else { 0 };
    let to = (from + WINDOW).min(length);
    let mut snippet: String = shown[from - skip..to - skip].iter().collect();
    let mut caret = before - from;
    if from > 0 {
        snippet.insert(0, '…');
        caret += 1;
    }
    if to < length {
        snippet.push('…');
    }
    let room = snippet.chars().count().saturating_sub(caret).max(1);
    LinePlace { line, column: before + 1, snippet, caret, width: width.clamp(1, room) }
}

fn floor(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// Text that may be shown: what would disturb a terminal replaced, cut at `MAX_TEXT` characters.
pub(super) fn printable(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(MAX_TEXT)
        .map(|c| if c != '\t' && harmless(c) { c } else { '\u{FFFD}' })
        .collect();
    if text.chars().nth(MAX_TEXT).is_some() {
        out.push('…');
    }
    out
}

/// False for what would disturb a terminal: control characters and those that turn the writing
/// direction (Unicode UAX #9).
fn harmless(c: char) -> bool {
    c == '\t'
        || !(c.is_control()
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'))
}

/// Replaces what may be a secret by dots, one per character: long words with a digit, and whatever
/// follows a key that names a secret.
fn mask(line: &str) -> Vec<char> {
    let mut out: Vec<char> = line.chars().collect();
    let secret_from = line
        .match_indices(['"', '\'', '=', ':'])
        .find(|(at, _)| {
            names_a_secret(
                line[..*at]
                    .trim_end_matches(['"', '\'', ' ', '\t'])
                    .rsplit(['"', '\'', ' ', '\t', '{', ','])
                    .next()
                    .unwrap_or(""),
            )
        })
        .map(|(at, _)| line[..at].chars().count());
    let mut word = 0;
    for i in 0..=out.len() {
        let part = out.get(i).is_some_and(|c| c.is_ascii_alphanumeric() || "_-+/=.:•".contains(*c));
        if part {
            word += 1;
            continue;
        }
        let run = i - word..i;
        if word >= 20
            && out[run.clone()].iter().any(char::is_ascii_digit)
            && out[run.clone()].iter().any(char::is_ascii_alphabetic)
        {
            out[run].fill('•');
        }
        word = 0;
    }
    if let Some(from) = secret_from {
        for c in out.iter_mut().skip(from).filter(|c| {
            !matches!(**c, '"' | '\'' | '{' | '}' | '[' | ']' | ',' | ':' | '=' | ' ' | '\t')
        }) {
            *c = '•';
        }
    }
    out
}

/// True for a field that usually holds a secret: `OPENAI_API_KEY`, `bot-token`, `password`,
/// `SECRET_SALT`.
pub(super) fn names_a_secret(key: &str) -> bool {
    let key = key.to_ascii_uppercase();
    // A limit, not a secret: MODEL_MAX_TOKENS.
    !key.contains("MAX_")
        && ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|word| {
            key.ends_with(word)
                || key.ends_with(&format!("{word}S"))
                || key.contains(&format!("{word}S."))
                || key.contains(&format!("{word}_"))
                || key.contains(&format!("_{word}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters() {
        let text = "ä\r\n  \"é\": 42,\r\n";
        let at = text.find("42").unwrap();
        let place = place(text, &(at..at + 2));
        assert_eq!((place.line, place.column, place.caret, place.width), (2, 8, 7, 2));
        assert_eq!(place.snippet, "  \"é\": 42,");
    }

    #[test]
    fn a_range_over_several_lines_marks_its_first() {
        let place = place("{\n \"a\": [\n 1\n]}", &(8..14));
        assert_eq!((place.line, place.column, place.width), (2, 7, 1));
    }

    #[test]
    fn long_lines_are_cut_around_the_fault() {
        let text = format!("{}!{}", "x ".repeat(500), "y ".repeat(500));
        let place = place(&text, &(1000..1001));
        assert_eq!(place.column, 1001);
        assert_eq!(place.snippet.chars().nth(place.caret), Some('!'));
        assert!(place.snippet.chars().count() <= WINDOW + 2);
    }

    #[test]
    fn what_disturbs_a_terminal_is_not_shown() {
        assert_eq!(place("a\u{1b}[31m\u{202E}b", &(0..1)).snippet, "a\u{FFFD}[31m\u{FFFD}b");
    }

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        for (line, secret) in [
            (r#""OPENAI_API_KEY": "sk-proj-abc","#, "abc"),
            (r#""settings": {"secrets": {"X": "hunter2"}}"#, "hunter2"),
            (r#""password": 'hunter2', "a": 1"#, "hunter2"),
            ("TELEGRAM_BOT_TOKEN = 'abc:def'", "def"),
            (r#""note": "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw""#, "AAHd"),
        ] {
            let shown = place(line, &(0..1)).snippet;
            assert!(!shown.contains(secret), "{shown}");
            assert_eq!(shown.chars().count(), line.chars().count(), "columns stay");
        }
        let plain = r#""bio": ["Keeps the monkey house tidy since 1999"],"#;
        assert_eq!(place(plain, &(0..1)).snippet, plain);
    }

    #[test]
    fn places_outside_the_text_are_moved_inside() {
        let place = place("é", &(1..90));
        assert_eq!((place.line, place.column, place.width), (1, 1, 1));
    }
}
