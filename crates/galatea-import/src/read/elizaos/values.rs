//! Values as PostgreSQL writes them. Pure functions.

use galatea_core::Timestamp;
use time::{
    Date, PrimitiveDateTime, Time, UtcOffset,
    format_description::{FormatItem, well_known::Iso8601},
    macros::format_description,
};

const TIME: &[FormatItem<'static>] =
    format_description!("[hour]:[minute]:[second][optional [.[subsecond]]]");

/// A value of a `COPY` line (<https://www.postgresql.org/docs/current/sql-copy.html>); none for
/// NULL.
pub(super) fn copied(text: &str) -> Option<String> {
    if text == "\\N" {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('v') => out.push('\u{b}'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    Some(out)
}

/// The tuples of `('a', NULL, 3), (…);`. None if it is anything else.
pub(super) fn tuples(text: &str) -> Option<Vec<Vec<Option<String>>>> {
    let mut rows = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let (row, after) = tuple(rest.strip_prefix('(')?)?;
        rows.push(row);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => return rest.starts_with(';').then_some(rows),
        }
    }
}

/// The values up to the closing bracket, and what follows it.
fn tuple(mut rest: &str) -> Option<(Vec<Option<String>>, &str)> {
    let mut row = Vec::new();
    loop {
        rest = rest.trim_start();
        let (value, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted_text(quoted, false)?,
            None => match rest.strip_prefix("E'") {
                Some(quoted) => quoted_text(quoted, true)?,
                None => {
                    let end = rest.find([',', ')'])?;
                    let (word, after) = rest.split_at(end);
                    let word = word.trim();
                    ((!word.eq_ignore_ascii_case("NULL")).then(|| word.to_owned()), after)
                }
            },
        };
        row.push(value);
        // A cast such as `'{}'::jsonb`.
        let after = after.trim_start();
        let end = after.find([',', ')'])?;
        let after = after.get(end..)?;
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some((row, after.strip_prefix(')')?)),
        }
    }
}

/// A text up to its closing quote, which is not doubled, and what follows it.
fn quoted_text(text: &str, escapes: bool) -> Option<(Option<String>, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
                out.push('\'');
            }
            '\'' => return Some((Some(out), text.get(at + 1..)?)),
            '\\' if escapes => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    None
}

/// The texts of an array such as `{Ann,"Bo \"B\" Lee",NULL}`.
pub(super) fn array(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let Some(inner) = inner.filter(|inner| !inner.is_empty()) else { return out };
    let (mut current, mut quoted, mut was_quoted) = (String::new(), false, false);
    let mut chars = inner.chars();
    let mut end = |current: &mut String, was_quoted: &mut bool| {
        let word = std::mem::take(current);
        if std::mem::take(was_quoted) || word != "NULL" {
            out.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => (quoted, was_quoted) = (!quoted, true),
            '\\' => current.extend(chars.next()),
            ',' if !quoted => end(&mut current, &mut was_quoted),
            other => current.push(other),
        }
    }
    end(&mut current, &mut was_quoted);
    out
}

/// `2025-11-02 10:00:00.123+00`, with or without an offset, or Unix milliseconds.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(millis) = text.parse::<i64>() {
        return Some(Timestamp(millis));
    }
    let (date, rest) = text.split_once([' ', 'T'])?;
    let date = Date::parse(date, &Iso8601::DATE).ok()?;
    let split = rest.find(['+', '-', 'Z']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(split);
    let clock = Time::parse(clock.trim(), TIME).ok()?;
    let at = PrimitiveDateTime::new(date, clock).assume_offset(offset(zone)?);
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok().map(Timestamp)
}

/// `+00`, `-03:30`, `Z` or nothing.
fn offset(zone: &str) -> Option<UtcOffset> {
    let zone = zone.trim();
    if zone.is_empty() || zone == "Z" {
        return Some(UtcOffset::UTC);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let mut parts = zone.get(1..)?.split(':').map(str::parse::<i8>);
    let hours = parts.next()?.ok()?;
    let minutes = parts.next().unwrap_or(Ok(0)).ok()?;
    UtcOffset::from_hms(hours.checked_mul(sign)?, minutes.checked_mul(sign)?, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_values_lose_their_escapes() {
        assert_eq!(copied("\\N"), None);
        assert_eq!(copied(r"a\tb\\n\nc").as_deref(), Some("a\tb\\n\nc"));
        assert_eq!(copied("").as_deref(), Some(""));
    }

    #[test]
    fn inserted_values_may_contain_anything() {
        let rows =
            tuples(" ('it''s (a), b;', NULL, true),\n(E'x\\n', '{\"a\": 1}'::jsonb, 3);").unwrap();
        let text = |t: &str| Some(t.to_owned());
        assert_eq!(rows[0], [text("it's (a), b;"), None, text("true")]);
        assert_eq!(rows[1], [text("x\n"), text("{\"a\": 1}"), text("3")]);
        for broken in ["('a'", "('a)", "(a) b", ""] {
            assert_eq!(tuples(broken), None, "{broken}");
        }
    }

    #[test]
    fn arrays_keep_what_is_quoted() {
        assert_eq!(array(r#"{Ann,"Bo, \"B\" Lee",NULL,"NULL"}"#), ["Ann", "Bo, \"B\" Lee", "NULL"]);
        assert_eq!(array("{}"), Vec::<String>::new());
        assert_eq!(array("Ann"), Vec::<String>::new());
    }

    #[test]
    fn times_have_zones_or_none() {
        for (text, millis) in [
            ("1970-01-01 00:00:01.5", 1_500),
            ("1970-01-01 02:00:01.5+02", 1_500),
            ("1969-12-31 20:30:00-03:30", 0),
            ("1970-01-01T00:00:00Z", 0),
            ("1500", 1_500),
        ] {
            assert_eq!(timestamp(text), Some(Timestamp(millis)), "{text}");
        }
        for broken in ["soon", "1970-01-01 00:00:00--128", "1970-01-01 00:00:00-00:-128"] {
            assert_eq!(timestamp(broken), None, "{broken}");
        }
    }
}
