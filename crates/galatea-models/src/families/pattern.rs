//! Matches model names against the pattern of a family, such as `gpt-{version}-luna`, and extracts
//! the version.

use std::fmt;

const VERSION: &str = "{version}";

/// Numbers of a version, most significant first; empty if the pattern has no version.
pub type Version = Vec<u32>;

/// Pattern of the names of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Form of the data file.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Form of the data file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The version in a name of this family; `None` if the name does not match. A date after the
    /// name is ignored.
    pub fn version_of(&self, name: &str) -> Option<Version> {
        let name = without_date(name);
        let (body, open) = match self.0.strip_suffix('*') {
            Some(body) => (body, true),
            None => (self.0.as_str(), false),
        };
        // Ollama's sizes and OpenRouter's variants follow a colon.
        let fits = |rest: &str, end: &str| {
            rest.strip_prefix(end)
                .is_some_and(|more| open || more.is_empty() || more.starts_with(':'))
        };
        let Some((before, after)) = body.split_once(VERSION) else {
            return fits(name, body).then(Version::new);
        };
        let (version, rest) = leading_version(name.strip_prefix(before)?)?;
        fits(rest, after).then_some(version)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses a version as people write it: `6.1`, `5-5`.
pub fn version(text: &str) -> Option<Version> {
    leading_version(text).filter(|(_, rest)| rest.is_empty()).map(|(version, _)| version)
}

/// Removes a snapshot date (eight digits or `YYYY-MM-DD`) and the tag `:latest` that Ollama adds.
pub fn without_date(name: &str) -> &str {
    let name = name.strip_suffix(":latest").unwrap_or(name);
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((head, tail)) = name.rsplit_once('-')
        && digits(tail, 8)
    {
        return head;
    }
    let mut parts = name.rsplitn(4, '-');
    let (day, month, year, head) = (parts.next(), parts.next(), parts.next(), parts.next());
    match (day, month, year, head) {
        (Some(day), Some(month), Some(year), Some(head))
            if digits(day, 2) && digits(month, 2) && digits(year, 4) =>
        {
            head
        }
        _ => name,
    }
}

/// The numbers at the beginning and the rest of the text. A separator is part of the version only
/// before another number.
fn leading_version(text: &str) -> Option<(Version, &str)> {
    let mut version = Version::new();
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        // Numbers of more than three digits are sizes or dates.
        let number = rest[..end].parse().ok().filter(|_| end <= 3)?;
        version.push(number);
        rest = &rest[end..];
        let further = rest
            .strip_prefix(['.', '-'])
            .filter(|more| more.starts_with(|c: char| c.is_ascii_digit()));
        match further {
            Some(more) => rest = more,
            None => return Some((version, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_family_and_one_version() {
        let cases: [(&str, &str, Option<&[u32]>); 17] = [
            ("gpt-{version}-luna", "gpt-6-luna", Some(&[6])),
            ("gpt-{version}-luna", "gpt-6.1-luna", Some(&[6, 1])),
            ("gpt-{version}-luna", "gpt-6-luna-2026-09-22", Some(&[6])),
            ("gpt-{version}-luna", "gpt-6-luna-preview", None),
            ("gpt-{version}-luna", "gpt-6-lunatic", None),
            ("gpt-{version}*", "gpt-5-mini", Some(&[5])),
            ("gpt-{version}*", "gpt-oss-20b", None),
            ("claude-haiku-{version}", "claude-haiku-5-5", Some(&[5, 5])),
            ("claude-haiku-{version}", "claude-haiku-4-5-20251001", Some(&[4, 5])),
            ("claude-haiku-{version}", "claude-haiku-4-20250514", Some(&[4])),
            ("gemini-{version}-flash", "gemini-3.8-flash", Some(&[3, 8])),
            ("gemini-{version}-flash", "gemini-3.5-flash-lite", None),
            ("gemini-{version}-flash", "gemini-flash-latest", None),
            ("gemma{version}", "gemma3:latest", Some(&[3])),
            ("gemma{version}", "gemma3", Some(&[3])),
            ("openai/gpt-oss-20b", "openai/gpt-oss-20b", Some(&[])),
            ("o{version}*", "o4-mini", Some(&[4])),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(
                Pattern::new(pattern).version_of(name).as_deref(),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(version("6.1").unwrap() > version("6").unwrap());
        assert!(version("10").unwrap() > version("9.9").unwrap());
        assert_eq!(version("5-5"), version("5.5"));
        assert_eq!((version("x"), version("6.x"), version("20251001")), (None, None, None));
    }
}
