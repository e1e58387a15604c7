//! Lists of people in settings. An id matches ids, `@handle` matches handles, and neither matches
//! the other.

pub mod entity;
pub mod relationship;
pub(crate) mod room_people;
pub(crate) mod shown_name;

use std::fmt;

/// An entry of a list of people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonEntry {
    /// The platform's id of a person, compared as it is. It never becomes another person's.
    Id(String),
    /// A handle, written with `@` and kept without it, in lower case: for platforms `@Ann` and
    /// `@ann` are the same. A person can give up a handle and another can take it, so an id is the
    /// safer entry.
    Handle(String),
}

impl PersonEntry {
    /// Reads one entry; `None` if it is empty.
    pub fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim();
        match entry.strip_prefix('@') {
            Some(handle) => Some(handle.trim())
                .filter(|handle| !handle.is_empty())
                .map(|handle| Self::Handle(handle.to_lowercase())),
            None => Some(entry).filter(|id| !id.is_empty()).map(|id| Self::Id(id.to_owned())),
        }
    }

    /// The id, or the handle without `@`.
    pub fn text(&self) -> &str {
        match self {
            Self::Id(text) | Self::Handle(text) => text,
        }
    }
}

impl fmt::Display for PersonEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => f.write_str(id),
            Self::Handle(handle) => write!(f, "@{handle}"),
        }
    }
}

/// The value of a setting that lists people, such as those who are allowed, blocked or owners.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct People(Vec<PersonEntry>);

impl People {
    /// Reads the entries of a list; empty ones are left out.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        Self(entries.into_iter().filter_map(PersonEntry::parse).collect())
    }

    /// True if the list names this person, by the platform's id or by the handle without `@`.
    pub fn names(&self, id: Option<&str>, handle: Option<&str>) -> bool {
        self.0.iter().any(|listed| match listed {
            PersonEntry::Id(listed) => id == Some(listed.as_str()),
            PersonEntry::Handle(listed) => handle
                .is_some_and(|handle| handle.trim_start_matches('@').to_lowercase() == *listed),
        })
    }

    /// True if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &PersonEntry> {
        self.0.iter()
    }

    /// Ids that no person of a platform can have, most often handles written without `@`. Such an
    /// entry matches no one.
    pub fn unmatchable(&self, is_id: fn(&str) -> bool) -> Vec<&str> {
        let wrong = |listed: &'_ PersonEntry| matches!(listed, PersonEntry::Id(id) if !is_id(id));
        self.0.iter().filter(|listed| wrong(listed)).map(PersonEntry::text).collect()
    }
}

impl FromIterator<PersonEntry> for People {
    fn from_iter<I: IntoIterator<Item = PersonEntry>>(listed: I) -> Self {
        Self(listed.into_iter().collect())
    }
}

impl fmt::Display for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&entries.join(","))
    }
}

/// True if a text is a number of digits: the form of ids on Telegram, Discord and X.
pub fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_match_ids_and_handles_match_handles() {
        let people = People::parse(["4711", " @Ann ", "", "@", "@815"]);
        assert!(
            people.names(Some("4711"), None)
                && people.names(None, Some("ANN"))
                && people.names(Some("1"), Some("815"))
        );
        assert!(!people.names(Some("1"), Some("4711")), "a handle of digits is not an id");
        assert!(!people.names(Some("815"), Some("x")), "an id is not a handle");
        assert!(!people.names(None, None) && !people.names(Some("ann"), None));
        assert_eq!(people.to_string(), "4711,@ann,@815");
    }

    #[test]
    fn entries_that_match_no_one_are_named() {
        assert_eq!(
            People::parse(["42", "maria", "@maria", "-100"]).unmatchable(is_number),
            ["maria", "-100"]
        );
    }
}
