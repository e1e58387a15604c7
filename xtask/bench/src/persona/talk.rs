//! The talks as the file has them.

use anyhow::{Context, Result};
use serde::Deserialize;

const TALKS: &str = include_str!("talks.toml");

/// Place of a talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    Private,
    Group,
    Post,
    Thread,
}

/// A message of a person.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) by: String,
    pub(super) says: String,
    /// True if the agent has to answer it.
    #[serde(default)]
    pub(super) asks: bool,
    /// An answer is right if it has one word of each group; every answer is, if there is none.
    #[serde(default)]
    pub(super) right: Vec<Vec<String>>,
    /// Words that no right answer has.
    #[serde(default)]
    pub(super) wrong: Vec<String>,
}

/// A conversation with the agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Talk {
    pub(super) name: String,
    pub(super) place: Place,
    /// Name of the group, the thread or the post.
    #[serde(default)]
    pub(super) title: String,
    /// Text of a document that the agent knows.
    pub(super) document: Option<String>,
    pub(super) lines: Vec<Line>,
}

impl Talk {
    /// The people, each once, in the order in which they speak.
    pub(super) fn people(&self) -> Vec<&str> {
        let mut people = Vec::new();
        for line in &self.lines {
            if !people.contains(&line.by.as_str()) {
                people.push(line.by.as_str());
            }
        }
        people
    }
}

#[derive(Deserialize)]
struct File {
    talk: Vec<Talk>,
}

/// The talks whose names contain `only`; all for none.
pub(super) fn read(only: Option<&str>) -> Result<Vec<Talk>> {
    let file: File = toml::from_str(TALKS).context("talks.toml cannot be read")?;
    Ok(file.talk.into_iter().filter(|talk| only.is_none_or(|o| talk.name.contains(o))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twelve_talks_and_each_asks() {
        let talks = read(None).unwrap();
        assert_eq!(talks.len(), 12);
        assert!(talks.iter().all(|talk| talk.lines.iter().any(|line| line.asks)));
        assert!(talks.iter().all(|talk| talk.place == Place::Private || !talk.title.is_empty()));
    }
}
