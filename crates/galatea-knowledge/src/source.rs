//! Sources of documents: the character, settings, and what the operator added.

use galatea_core::{
    Character, Error, Result,
    character::{Knowledge, is_address},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::Metadata,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use crate::refusal::{UNREADABLE, unreadable};

/// A source of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Place.
    pub place: Place,
    /// Other agents of the same database find its documents too.
    #[serde(default)]
    pub shared: bool,
    /// Origin.
    #[serde(default)]
    pub origin: Origin,
}

impl Source {
    /// Key: a path, an address, or a word for the lines of a character.
    pub fn key(&self) -> String {
        match &self.place {
            Place::Lines(_) => "lines".to_owned(),
            Place::Path(path) => path.display().to_string(),
            Place::Url(url) => url.clone(),
        }
    }

    /// True if a document of this key comes from this source.
    pub fn has(&self, key: &str) -> bool {
        match &self.place {
            Place::Path(path) => Path::new(key).starts_with(path),
            Place::Lines(_) | Place::Url(_) => self.key() == key,
        }
    }

    /// The command that removes it, for a source that was added.
    pub fn removal(&self) -> String {
        format!("`galatea knowledge rm {}`", quoted(&galatea_core::visible::one_line(&self.key())))
    }
}

/// A text as one word of a command line.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-:%+@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Place of a source.
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
        if is_address(text) {
            Self::Url(text.trim().to_owned())
        } else {
            Self::Path(base.join(text))
        }
    }

    /// A place that a person adds: an address, or a file or folder that exists, by its real path.
    ///
    /// # Errors
    /// There is nothing at the path, or neither a file nor a folder, or its name is not UTF-8.
    pub fn existing(text: &str, base: &Path) -> Result<Self> {
        let Self::Path(path) = Self::of(text, base) else { return Ok(Self::of(text, base)) };
        let missing = |error: std::io::Error| {
            Error::not_found("there is no such file or folder")
                .with_code(UNREADABLE)
                .with("cause", error)
                .with("asked for", text)
                .with_fix("check the path")
        };
        let path = path.canonicalize().map_err(missing)?;
        let metadata = path.metadata().map_err(missing)?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(unreadable("this is neither a file nor a folder")
                .with("found", kind_of(&metadata))
                .with("asked for", text)
                .with_fix("name a file or folder, or an address"));
        }
        if path.to_str().is_none() {
            return Err(unreadable("the path is not valid UTF-8")
                .with("asked for", path.to_string_lossy())
                .with_fix("rename its file or folder"));
        }
        Ok(Self::Path(path))
    }
}

/// Origin of a source.
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
    let character = character.filled();
    for entry in &character.knowledge {
        let (place, shared) = match entry {
            Knowledge::Text(text) if is_address(text) => (Place::of(text, base), false),
            Knowledge::Text(_) => continue,
            Knowledge::File { path, shared } | Knowledge::Directory { directory: path, shared } => {
                (Place::of(path, base), *shared)
            }
        };
        sources.push(Source { place, shared, origin: Origin::Character });
    }
    let found = character.known_lines().found;
    if !found.is_empty() {
        let place = Place::Lines(found.into_iter().map(str::to_owned).collect());
        sources.push(Source { place, shared: false, origin: Origin::Character });
    }
    sources
}

/// Sort of a path that is neither a file nor a folder.
pub(crate) fn kind_of(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
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

    #[test]
    fn only_files_folders_and_addresses_are_added() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "x").unwrap();
        for text in ["a.md", ".", "https://example.org/a"] {
            Place::existing(text, folder.path()).unwrap();
        }
        for (text, what) in [("/dev/null", "a device"), ("gone.md", "No such file")] {
            let error = Place::existing(text, folder.path()).unwrap_err();
            assert!(error.to_string().contains(what) && error.fix().is_some(), "{error}");
        }
    }

    #[test]
    fn the_command_that_removes_a_source_is_one_word_for_a_shell() {
        for (path, word) in
            [("/a/b.md", "/a/b.md"), ("/a b/it's", r"'/a b/it'\''s'"), ("/a;rm", "'/a;rm'")]
        {
            let place = Place::Path(path.into());
            let source = Source { place, shared: false, origin: Origin::Added };
            assert_eq!(source.removal(), format!("`galatea knowledge rm {word}`"));
        }
    }
}
