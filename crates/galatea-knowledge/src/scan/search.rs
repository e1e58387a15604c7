//! Finds which files a source has now. Folders are searched without following links.

use galatea_core::{Error, Timestamp};
use std::{
    collections::HashSet,
    fs::{self, Metadata},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
    time::UNIX_EPOCH,
};

use super::{Item, Missing, Scan, What};
use crate::{
    format::Format,
    omitted::{DEPTH, MOST_FILES, Omitted},
    refusal::unreadable,
    source::{Origin, Place, Source, kind_of},
};

/// Folders that hold programs' files and not people's.
const SKIPPED: &[&str] = &["node_modules", "target", "__pycache__", "venv"];

/// Searches sources. Blocks on the disk. Of more files than [`MOST_FILES`] those with a `stored` key
/// come first, so that a new file takes the place of none.
pub(crate) fn scan(sources: &[Source], stored: &HashSet<String>, now: Timestamp) -> Scan {
    let mut search = Search {
        scan: Scan::default(),
        stored,
        now,
        found: HashSet::new(),
        omitted: Omitted::default(),
        new: 0,
    };
    for source in sources {
        search.omitted = Omitted::of(source.key());
        match &source.place {
            Place::Lines(lines) => {
                let what = What::Lines(lines.join("\n\n"));
                search.add(source.key(), what, source);
            }
            Place::Url(url) => search.add(source.key(), What::Url(url.clone()), source),
            Place::Path(path) => search.path(path, source),
        }
        let omitted = std::mem::take(&mut search.omitted);
        search.scan.omitted.extend(Some(omitted).filter(Omitted::is_any));
    }
    search.end()
}

/// A search of sources.
struct Search<'a> {
    scan: Scan,
    stored: &'a HashSet<String>,
    now: Timestamp,
    /// Hashes of all keys so far.
    found: HashSet<u64>,
    /// Of the present source.
    omitted: Omitted,
    /// Items that are not stored.
    new: usize,
}

impl Search<'_> {
    fn path(&mut self, path: &Path, source: &Source) {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.named_folder(path, source),
            Ok(metadata) if metadata.is_file() => self.file(path, &metadata, source),
            // Reading a device or a pipe might never end.
            Ok(metadata) => {
                let error = unreadable("the path leads to neither a file nor a folder")
                    .with("found", kind_of(&metadata))
                    .with_fix(fix(source, "name a file or folder"));
                self.missing(path, error, false);
            }
            Err(error) => {
                let around = path.parent().is_some_and(Path::is_dir);
                let removed = around && error.kind() == io::ErrorKind::NotFound;
                let error = unreadable("the path cannot be read")
                    .with("cause", error)
                    .with_fix(fix(source, "put it back"));
                self.missing(path, error, removed);
            }
        }
    }

    /// A folder that has nothing any more may be where a drive is mounted.
    fn named_folder(&mut self, folder: &Path, source: &Source) {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none()) {
            self.scan.empty.push(folder.to_owned());
            if self.stored.iter().any(|key| Path::new(key).starts_with(folder)) {
                let error = unreadable("the folder is empty, so its documents are kept")
                    .with_fix(format!("mount its drive; if its documents were removed on purpose, put a file into it, or {}", removal(source)));
                return self.missing(folder, error, false);
            }
        }
        self.folder(folder, source, 0);
    }

    fn missing(&mut self, path: &Path, error: Error, removed: bool) {
        self.scan.missing.push(Missing { path: path.to_owned(), error, removed });
    }

    fn folder(&mut self, folder: &Path, source: &Source, depth: usize) {
        let unreadable_folder = |error: io::Error| {
            unreadable("the folder cannot be read")
                .with("cause", error)
                .with_fix("let this user read it")
        };
        let entries = match fs::read_dir(folder) {
            Ok(entries) if depth <= DEPTH => entries,
            Ok(_) => return self.omitted.deep.count(folder),
            Err(error) => return self.missing(folder, unreadable_folder(error), false),
        };
        // A path that cannot be looked at is not gone. One problem for the folder: if the right is
        // missing, each of its files has it.
        let mut failed = None;
        let mut paths = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => paths.push(entry.path()),
                Err(error) => failed = Some(error),
            }
        }
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') || name.starts_with('~') || SKIPPED.contains(&&*name) {
                continue;
            }
            // The type of the entry itself: a link may lead anywhere.
            let metadata = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata,
                Err(error) => {
                    failed = Some(error).filter(|e| e.kind() != io::ErrorKind::NotFound).or(failed);
                    continue;
                }
            };
            let is_document = metadata.is_file() && Format::of_name(&name).is_some();
            // Two such names may look the same, and the key of a document has to be one file's.
            if path.to_str().is_none() && (is_document || metadata.is_dir()) {
                self.omitted.unnamed.count(&path);
            } else if metadata.is_dir() {
                self.folder(&path, source, depth + 1);
            } else if is_document {
                self.file(&path, &metadata, source);
            }
        }
        if let Some(error) = failed {
            self.missing(folder, unreadable_folder(error), false);
        }
    }

    fn file(&mut self, path: &Path, metadata: &Metadata, source: &Source) {
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
        if !self.found.insert(hash(&key)) {
            return;
        }
        let item = Item { key, what, source: source.clone() };
        if !self.stored.contains(&item.key) {
            if self.new == MOST_FILES {
                return omit(&mut self.omitted, &item, self.now);
            }
            self.new += 1;
        }
        self.scan.items.push(item);
    }

    /// Leaves out what is beyond the limit: the last new items, and stored ones only if they alone
    /// are too many.
    fn end(self) -> Scan {
        let Self { mut scan, stored, now, new, .. } = self;
        let mut room = MOST_FILES.saturating_sub(scan.items.len() - new);
        let mut kept = Vec::with_capacity(scan.items.len().min(MOST_FILES));
        for item in scan.items {
            let fits = if stored.contains(&item.key) {
                kept.len() < MOST_FILES
            } else {
                let fits = room > 0;
                room = room.saturating_sub(1);
                fits
            };
            if fits {
                kept.push(item);
                continue;
            }
            let source = item.source.key();
            if !scan.omitted.iter().any(|omitted| omitted.source == source) {
                scan.omitted.push(Omitted::of(source.clone()));
            }
            if let Some(omitted) = scan.omitted.iter_mut().find(|one| one.source == source) {
                omit(omitted, &item, now);
            }
        }
        scan.items = kept;
        scan
    }
}

/// Counts an item as beyond the limit. Its size and time are noticed once it is complete, as those
/// of other files are.
fn omit(omitted: &mut Omitted, item: &Item, now: Timestamp) {
    omitted.beyond.count(Path::new(&item.key));
    if !item.is_being_written(now) {
        omitted.seen = omitted.seen.wrapping_add(hash(&(&item.key, &item.what)));
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Remedy for a source, by who named it.
fn fix(source: &Source, otherwise: &str) -> String {
    match source.origin {
        Origin::Character => {
            "correct or remove the path under `knowledge` in the character file; it starts at the file's folder".to_owned()
        }
        Origin::Setting => "correct KNOWLEDGE_PATH".to_owned(),
        Origin::Added => format!("{otherwise}, or {}", removal(source)),
    }
}

/// Way to remove a source, by who named it.
fn removal(source: &Source) -> String {
    match source.origin {
        Origin::Character => "remove the path under `knowledge` in the character file".to_owned(),
        Origin::Setting => "change KNOWLEDGE_PATH".to_owned(),
        Origin::Added => format!("run {}", source.removal()),
    }
}

#[cfg(test)]
mod tests;
