//! Finds which files a source has now. Folders are searched without following links.

use galatea_core::{Error, Timestamp};
use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use crate::{
    document::unreadable,
    format::Format,
    source::{Place, Source},
};

/// Most files of one agent. elizaOS's `KNOWLEDGE_MAX_FILES` has no default; a larger collection
/// belongs into a search engine.
const MOST_FILES: usize = 5_000;
/// Deepest folder searched.
const DEPTH: usize = 16;
/// Folders that hold programs' files and not people's.
const SKIPPED: &[&str] = &["node_modules", "target", "__pycache__", "venv"];

/// One document before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// What identifies it from one start to the next.
    pub(crate) key: String,
    pub(crate) what: What,
    pub(crate) source: Source,
}

impl Item {
    /// Whether a file was changed so lately that it may not be complete.
    pub(crate) fn is_being_written(&self, now: Timestamp, settled: Duration) -> bool {
        match self.what {
            What::File { modified, .. } => modified <= now && now.since(modified) < settled,
            What::Lines(_) | What::Url(_) => false,
        }
    }
}

/// How an item is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Lines(String),
    File { path: PathBuf, size: u64, modified: Timestamp },
    Url(String),
}

/// What was found, and which sources could not be searched.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) items: Vec<Item>,
    /// Sources that are missing as a whole. Their documents are kept: a drive may be absent for a
    /// while.
    pub(crate) missing: Vec<(PathBuf, Error)>,
}

/// Searches sources. Blocks on the disk.
pub(crate) fn scan(sources: &[Source]) -> Scan {
    let mut scan = Scan::default();
    for source in sources {
        match &source.place {
            Place::Lines(lines) => {
                let what = What::Lines(lines.join("\n\n"));
                scan.add("lines".to_owned(), what, source);
            }
            Place::Url(url) => scan.add(url.clone(), What::Url(url.clone()), source),
            Place::Path(path) => scan.path(path, source),
        }
    }
    scan
}

impl Scan {
    fn path(&mut self, path: &Path, source: &Source) {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => {
                let error = unreadable("the path cannot be read")
                    .with("cause", error)
                    .with("where", path.display())
                    .with_fix("check the path; paths in a character file start at its folder");
                self.missing.push((path.to_owned(), error));
                return;
            }
        };
        if metadata.is_dir() {
            self.folder(path, source, 0);
        } else {
            self.file(path, &metadata, source);
        }
    }

    fn folder(&mut self, folder: &Path, source: &Source, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) if depth < DEPTH => entries,
            Ok(_) => return,
            Err(error) => {
                let error = unreadable("the folder cannot be read")
                    .with("cause", error)
                    .with("where", folder.display())
                    .with_fix("let this user read it");
                self.missing.push((folder.to_owned(), error));
                return;
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // The type of the entry itself: a link may lead anywhere.
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if name.starts_with('.') || name.starts_with('~') || SKIPPED.contains(&name) {
                continue;
            }
            if metadata.is_dir() {
                self.folder(&path, source, depth + 1);
            } else if Format::of_name(name).is_some() {
                self.file(&path, &metadata, source);
            }
        }
    }

    fn file(&mut self, path: &Path, metadata: &Metadata, source: &Source) {
        // Reading a device or a pipe might never end.
        if !metadata.is_file() {
            return;
        }
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0));
        let what = What::File {
            path: path.to_owned(),
            size: metadata.len(),
            modified: Timestamp(modified),
        };
        self.add(path.display().to_string(), what, source);
    }

    /// A document that two sources name belongs to the first one.
    fn add(&mut self, key: String, what: What, source: &Source) {
        if self.items.len() < MOST_FILES && !self.items.iter().any(|item| item.key == key) {
            self.items.push(Item { key, what, source: source.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Origin;

    #[test]
    fn folders_are_searched_without_links_and_hidden_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("in/node_modules")).unwrap();
        for name in ["b.md", "in/a.txt", ".hidden.md", "in/node_modules/x.md", "picture.png"] {
            fs::write(at(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("/etc", at("link")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", at("host.txt")).unwrap();
        let source = |path: PathBuf| Source {
            place: Place::Path(path),
            shared: false,
            origin: Origin::Character,
        };
        let found = scan(&[source(folder.path().into()), source(at("b.md")), source(at("gone"))]);
        let names: Vec<_> = found
            .items
            .iter()
            .map(|item| item.key.strip_prefix(&folder.path().display().to_string()).unwrap())
            .collect();
        assert_eq!(names, ["/b.md", "/in/a.txt"]);
        assert_eq!(found.missing.len(), 1);
        assert!(found.missing[0].1.to_string().contains("gone"));
    }
}
