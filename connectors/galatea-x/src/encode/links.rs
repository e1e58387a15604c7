//! Finds the links that X would see in a text. X replaces each by a short link of fixed length.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

use crate::encode::grapheme::{LINK, cluster};

/// A link, or text that X may treat as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// Byte range in the text.
    pub(super) range: Range<usize>,
    /// Its weight in X's count; the largest possible one where that is uncertain.
    pub(super) weight: usize,
}

/// Top-level domains that X certainly knows (IANA root zone; the most common ones). For links with
/// other endings, the heaviest reading counts.
const ENDINGS: &[&str] = &[
    "com", "org", "net", "edu", "gov", "info", "biz", "app", "dev", "xyz", "blog", "news", "io",
    "co", "ai", "me", "tv", "eu", "uk", "de", "fr", "it", "es", "nl", "be", "ch", "at", "se", "no",
    "dk", "fi", "pl", "cz", "pt", "ie", "gr", "ru", "ua", "us", "ca", "mx", "br", "ar", "au", "nz",
    "in", "cn", "jp", "kr", "za", "gg", "ly", "sh",
];

/// Every link and possible link, in order.
pub(super) fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    // A dot is in every link, and most text has few.
    if !text.contains('.') {
        return found;
    }
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                in_word(text, from..at, &mut found);
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn in_word(text: &str, word: Range<usize>, found: &mut Vec<Link>) {
    let mut at = word.start;
    while at < word.end {
        let rest = &text[at..word.end];
        let Some(from) = rest.find(host_char).map(|n| at + n) else { return };
        let run = text[from..word.end].find(|c: char| !host_char(c)).map_or(word.end, |n| from + n);
        let begins = |scheme: &&&str| {
            text[from..word.end]
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        let scheme = ["https://", "http://"].iter().find(begins).map_or(0, |scheme| scheme.len());
        if scheme > 0 {
            let host = from + scheme;
            let host_end = text[host..word.end]
                .find(|c: char| !host_char(c) && c != '_')
                .map_or(word.end, |n| host + n);
            let host_end = host + text[host..host_end].trim_end_matches(['.', '-', '_']).len();
            let end = host_end + tail(&text[host_end..word.end]);
            let sure = free(text, from)
                && clean(&text[host..host_end])
                && plain_tail(&text[host_end..end]);
            let weight = if sure { LINK } else { most(&text[from..end]) };
            found.push(Link { range: from..end, weight });
            at = end.max(from + scheme);
        } else {
            if let Some(weight) = bare(&text[from..run]) {
                found.push(Link { range: from..run, weight });
            }
            at = run;
        }
    }
}

fn host_char(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '.'
}

/// True if X certainly treats this whole range as a link, including any `@` in its path, so that it
/// notifies no account.
pub(super) fn swallows_at(text: &str, range: &Range<usize>) -> bool {
    let link = &text[range.clone()];
    let Some(rest) = link.strip_prefix("https://").or_else(|| link.strip_prefix("http://")) else {
        return false;
    };
    let Some((host, path)) = rest.split_once('/') else { return false };
    free(text, range.start)
        && clean(host)
        && path
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'.' | b'@' | b'-'))
}

/// True if the character before `at` permits a link. Letters, `@`, `$`, `#` and `.` prevent one
/// (twitter-text, `validUrlPrecedingChars`).
fn free(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '"' | ',' | ';' | ':' | '['))
}

fn clean(host: &str) -> bool {
    let labels: Vec<&str> = host.split('.').collect();
    let plain = |label: &&str| {
        !label.is_empty() && label.len() < 40 && label.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    labels.len() > 1
        && labels.iter().all(plain)
        && labels
            .last()
            .is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Largest weight of a name without `http`; `None` if it cannot be a link.
fn bare(run: &str) -> Option<usize> {
    let literal = weigh(run);
    let mut heaviest = None;
    for (dot, _) in run.match_indices('.') {
        let label = run[dot + 1..].split(['.', '-']).next().unwrap_or("");
        // The reading in which a link ends here and the rest is text. A label of digits cannot be
        // an ending.
        if label.chars().count() >= 2 && !label.chars().all(|c| c.is_ascii_digit()) {
            let rest = weigh(&run[dot + 1 + label.len()..]);
            heaviest = heaviest.max(Some(LINK + rest));
        }
    }
    // Non-ASCII letters may end a name anywhere.
    let odd = if run.is_ascii() { 0 } else { literal + LINK * run.matches('.').count() };
    heaviest.map(|weight| weight.max(literal).max(odd))
}

/// Largest weight of a text in which every dot may belong to a link.
fn most(text: &str) -> usize {
    weigh(text) + LINK * text.matches('.').count()
}

fn weigh(text: &str) -> usize {
    text.graphemes(true).map(cluster).sum()
}

/// Length in bytes of port, path and query after the host name.
fn tail(rest: &str) -> usize {
    let first = rest.chars().next();
    if !matches!(first, Some('/' | '?' | ':' | '#'))
        || (first == Some(':') && !rest[1..].starts_with(|c: char| c.is_ascii_digit()))
    {
        return 0;
    }
    const MARKS: [char; 8] = ['.', ',', ';', ':', '!', '?', '\'', '*'];
    let stops = |c: char| {
        !c.is_ascii()
            || c.is_ascii_control()
            || matches!(c, '"' | '<' | '>' | '`' | '{' | '}' | '\\' | '^' | '|')
    };
    let mut seen = rest[..rest.find(stops).unwrap_or(rest.len())].trim_end_matches(MARKS);
    // `(see https://a.com/b)` ends before the parenthesis.
    while seen.ends_with(')') && seen.matches(')').count() > seen.matches('(').count() {
        seen = seen[..seen.len() - 1].trim_end_matches(MARKS);
    }
    seen.len()
}

/// True if X certainly counts the whole tail as part of the link. With less common characters the
/// link may end earlier, and the rest has its own weight.
fn plain_tail(tail: &str) -> bool {
    let Some(path) = tail.strip_prefix('/') else { return tail.is_empty() };
    let (path, query) =
        path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let plain = |text: &str, more: &[u8]| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || more.contains(&b))
    };
    let ends = |text: &str| text.bytes().last().is_some_and(|b| b.is_ascii_alphanumeric());
    match query {
        None => plain(path, b"/_.") && (path.is_empty() || ends(path) || path.ends_with('/')),
        Some(query) => {
            plain(path, b"/_.")
                && (path.is_empty() || ends(path))
                && plain(query, b"_=&")
                && ends(query)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<&str> {
        links(text).into_iter().map(|link| &text[link.range]).collect()
    }

    #[test]
    fn links_are_found_whole_and_without_the_punctuation_after_them() {
        assert_eq!(
            seen("see https://example.com/a?b=c, or (http://x.org/y)."),
            ["https://example.com/a?b=c", "http://x.org/y"]
        );
        assert_eq!(seen("https://a.com/x_(y) z"), ["https://a.com/x_(y)"]);
        assert_eq!(seen("1.5 and e.g. v2.0"), Vec::<&str>::new());
    }

    #[test]
    fn only_what_x_surely_links_is_counted_as_a_short_one() {
        let weight = |text: &str| links(text)[0].weight;
        assert_eq!(weight(&format!("https://example.com/{}", "a".repeat(500))), LINK);
        assert_eq!(weight(&format!("https://example.io/{}?x=1&y=2", "a".repeat(500))), LINK);
        assert!(weight(&format!("https://example.unknownending/{}", "a".repeat(500))) > 500);
        assert_eq!((weight("self.name"), weight("foo.bar.baz")), (LINK, LINK + 4));
    }
}
