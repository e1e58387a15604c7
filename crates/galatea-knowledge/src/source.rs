//! Where documents come from: the character, settings, and what the operator added.

use galatea_core::{Character, character::Knowledge};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Lines of a character that stand in every prompt already (the provider `CHARACTER`). Further
/// lines are found like documents.
const SHOWN: usize = 40;

/// One source of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Where it is.
    pub place: Place,
    /// Other agents of the same database find its documents too.
    #[serde(default)]
    pub shared: bool,
    /// Who named it.
    #[serde(default)]
    pub origin: Origin,
}

/// Where a source is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Lines of text of the character.
    Lines(Vec<String>),
    /// A file, or a folder with everything in it.
    Path(PathBuf),
    /// An http or https address.
    Url(String),
}

impl Place {
    /// A place as people write it.
    pub fn of(text: &str, base: &Path) -> Self {
        if is_url(text) { Self::Url(text.trim().to_owned()) } else { Self::Path(base.join(text)) }
    }
}

/// Who named a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The character file.
    #[default]
    Character,
    /// `KNOWLEDGE_PATH`.
    Setting,
    /// `galatea knowledge add`.
    Added,
}

/// The sources that a character names. Paths are relative to `base`, the folder of its file.
pub fn of_character(character: &Character, base: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut lines = Vec::new();
    for entry in &character.knowledge {
        let (place, shared) = match entry {
            Knowledge::Text(text) if is_url(text) => (Place::of(text, base), false),
            Knowledge::Text(text) => {
                lines.push(text.clone());
                continue;
            }
            Knowledge::File { path, shared } | Knowledge::Directory { directory: path, shared } => {
                (Place::of(path, base), *shared)
            }
        };
        sources.push(Source { place, shared, origin: Origin::Character });
    }
    if lines.len() > SHOWN {
        let place = Place::Lines(lines.split_off(SHOWN));
        sources.push(Source { place, shared: false, origin: Origin::Character });
    }
    sources
}

/// Whether a text is an address and nothing else.
fn is_url(text: &str) -> bool {
    let text = text.trim();
    (text.starts_with("https://") || text.starts_with("http://"))
        && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_elizaos_is_a_source() {
        let mut knowledge: Vec<Knowledge> =
            (0..42).map(|n| Knowledge::Text(format!("line {n}"))).collect();
        knowledge.push(Knowledge::Text("https://example.org/a".into()));
        knowledge.push(Knowledge::File { path: "docs/a.md".into(), shared: true });
        knowledge.push(Knowledge::Directory { directory: "/srv/docs".into(), shared: false });
        let character = Character { knowledge, ..Character::default() };
        let places: Vec<(Place, bool)> = of_character(&character, Path::new("/bots"))
            .into_iter()
            .map(|source| (source.place, source.shared))
            .collect();
        assert_eq!(
            places,
            [
                (Place::Url("https://example.org/a".into()), false),
                (Place::Path("/bots/docs/a.md".into()), true),
                (Place::Path("/srv/docs".into()), false),
                (Place::Lines(vec!["line 40".into(), "line 41".into()]), false),
            ]
        );
    }
}
