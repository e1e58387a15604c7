//! What a person names on the command line: a source that was added, or a document.

use galatea_core::{Error, ErrorKind, visible::one_line};
use galatea_knowledge::{Library, Origin, Place, Source, Stored};
use std::path::{Path, PathBuf};

use crate::report::failure::{Failure, Result};

/// Least characters of an id that name a document.
const LEAST: usize = 8;

/// What `rm` removes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// A file, folder or address that was added.
    Source(Source),
    /// A document that no source has any more.
    Document(Box<Stored>),
}

impl Target {
    /// What is printed of it.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Source(source) => source.key(),
            Self::Document(document) => document.record.key.clone(),
        }
    }
}

/// A name that a person gave, and the paths that it may stand for.
pub(super) struct Name<'a> {
    text: &'a str,
    /// As it was written, and with links followed.
    paths: [PathBuf; 2],
}

impl<'a> Name<'a> {
    /// # Errors
    /// `GAL-CLI-USAGE` for an empty name, which would stand for the working folder.
    pub(super) fn new(text: &'a str, working_dir: &Path) -> Result<Self> {
        refuse_empty(text)?;
        let path = working_dir.join(text);
        Ok(Self { text, paths: [real(&path), path] })
    }

    fn is(&self, key: &str) -> bool {
        key == self.text || self.paths.iter().any(|path| path == Path::new(key))
    }

    /// Whether it is the end of a path, or the beginning of an id.
    fn is_part_of(&self, key: &str, id: &str) -> bool {
        let end = self.text.trim_end_matches('/');
        // `/` names the root only: as the end of a path it would be each that ends in a slash.
        (!end.is_empty() && key.ends_with(&format!("/{end}")))
            || (self.text.len() >= LEAST && id.starts_with(self.text))
    }

    /// The documents of this name: those that it names whole, otherwise those of which it names a
    /// part.
    pub(super) fn documents(&self, documents: Vec<Stored>) -> (bool, Vec<Stored>) {
        let is = |document: &Stored| self.is(&document.record.key);
        if documents.iter().any(is) {
            return (true, documents.into_iter().filter(is).collect());
        }
        let is_part =
            |document: &Stored| self.is_part_of(&document.record.key, &document.id.to_string());
        (false, documents.into_iter().filter(is_part).collect())
    }

    /// What `rm` may remove of an agent: sources that were added, and documents of none of them.
    pub(super) async fn targets(&self, library: &Library) -> Result<(bool, Vec<Target>)> {
        let added = library.added().await?;
        let named = |whole: bool| {
            let is = move |source: &&Source| {
                let key = source.key();
                if whole { self.is(&key) } else { self.is_part_of(&key, "") }
            };
            added.iter().filter(is).cloned().map(Target::Source).collect::<Vec<_>>()
        };
        let whole = named(true);
        if !whole.is_empty() {
            return Ok((true, whole));
        }
        let (whole, documents) = self.documents(library.documents().await?);
        let mut targets = if whole { Vec::new() } else { named(false) };
        for document in documents {
            let own = added.iter().find(|source| source.key() == document.record.key);
            let target = match own {
                Some(source) => Target::Source(source.clone()),
                None => Target::Document(Box::new(document)),
            };
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Ok((whole, targets))
    }

    /// The one thing of this name.
    ///
    /// # Errors
    /// `GAL-KNOW-UNKNOWN` if there is none, or more than one.
    pub(super) fn only<T>(&self, mut found: Vec<T>) -> Result<T> {
        match (found.len(), found.pop()) {
            (1, Some(found)) => Ok(found),
            (0, _) | (_, None) => Err(Error::not_found("there is no such document")
                .with_code("GAL-KNOW-UNKNOWN")
                .with("asked for", one_line(self.text))
                .with_fix("`galatea knowledge ls` lists all documents with their ids")
                .into()),
            _ => Err(Error::invalid("this names more than one document")
                .with_code("GAL-KNOW-UNKNOWN")
                .with("asked for", one_line(self.text))
                .with_fix(
                    "give the whole path or the id, and --character FILE if several agents have it",
                )
                .into()),
        }
    }
}

/// # Errors
/// `GAL-CLI-USAGE`.
pub(super) fn refuse_empty(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "a name is empty, and would stand for the working folder",
            "give a path, an address or an id, or `.` for the working folder; a shell variable in this place is not set",
        ));
    }
    Ok(())
}

/// Why a document cannot be removed by itself.
pub(super) fn named_elsewhere(document: &Stored, source: &Source) -> Error {
    let fix = match source.origin {
        Origin::Added => format!(
            "it is part of a folder that was added: remove the file, or the whole folder with {}",
            source.removal()
        ),
        Origin::Character => "remove it from `knowledge` in the character file".to_owned(),
        Origin::Setting => "remove it from the folder that KNOWLEDGE_PATH names".to_owned(),
    };
    Error::new(ErrorKind::Conflict, "the document would be read again")
        .with_code("GAL-KNOW-NAMED")
        .with("where", one_line(&document.record.key))
        .with_fix(fix)
}

/// A path with links followed as far as it exists: what is missing may have been removed.
fn real(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(path), ..) => path,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        (Err(_), ..) => path.to_owned(),
    }
}

/// The place that a person adds.
///
/// # Errors
/// The name is empty, or there is neither a file nor a folder.
pub(super) fn place(text: &str, working_dir: &Path) -> Result<Place> {
    refuse_empty(text)?;
    Ok(Place::existing(text, working_dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{AgentId, MemoryId, ids::uuid_of};
    use galatea_knowledge::Record;

    fn document(key: &str) -> Stored {
        // As documents have them: ids of one millisecond begin alike.
        let id = MemoryId(uuid_of(key));
        let under = AgentId::fresh();
        let record = Record { key: key.to_owned(), ..Record::default() };
        Stored { id, under, owner: under, record }
    }

    #[test]
    fn a_whole_name_comes_before_a_part_of_one() {
        let address = "https://example.org/faq/";
        let all = ["/w/a.md", "/w/docs/a.md", "/w/docs/b.md", address].map(document);
        for (name, expected) in [
            ("a.md", &["/w/a.md"][..]),
            ("/w/docs/a.md", &["/w/docs/a.md"]),
            ("b.md", &["/w/docs/b.md"]),
            ("docs/", &[]),
            ("/", &[]),
            ("//", &[]),
            (address, &[address]),
            (&all[1].id.to_string()[..8], &["/w/docs/a.md"]),
        ] {
            let (_, found) = Name::new(name, Path::new("/w")).unwrap().documents(all.to_vec());
            let keys: Vec<_> = found.iter().map(|found| found.record.key.as_str()).collect();
            assert_eq!(keys, expected, "{name}");
        }
        assert!(Name::new(" ", Path::new("/w")).is_err());
    }
}
