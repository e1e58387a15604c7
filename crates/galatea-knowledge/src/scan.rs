//! Finds which files a source has now. Folders are searched without following links.

use galatea_core::{Error, Timestamp};
use std::{
    collections::HashSet,
    fs::{self, Metadata},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use crate::{
    document::unreadable,
    format::Format,
    omitted::Omitted,
    problem::Problem,
    source::{Origin, Place, Source, kind_of},
};

/// Most documents of one agent. elizaOS's `KNOWLEDGE_MAX_FILES` has no default; a larger collection
/// belongs into a search engine.
pub(crate) const MOST_FILES: usize = 5_000;
/// Deepest folder searched, in levels below the one that is named.
pub(crate) const DEPTH: usize = 16;
/// Folders that hold programs' files and not people's.
const SKIPPED: &[&str] = &["node_modules", "target", "__pycache__", "venv"];
/// A file that was changed less than this ago may still be written.
const SETTLED: Duration = Duration::from_secs(1);

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
    pub(crate) fn is_being_written(&self, now: Timestamp) -> bool {
        match self.what {
            What::File { modified, .. } => modified <= now && now.since(modified) < SETTLED,
            What::Lines(_) | What::Url(_) => false,
        }
    }
}

/// How an item is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum What {
    Lines(String),
    File { path: PathBuf, size: u64, modified: Timestamp },
    Url(String),
}

/// A named path, or a folder below it, that cannot be searched.
#[derive(Debug)]
pub(crate) struct Missing {
    pub(crate) path: PathBuf,
    pub(crate) error: Error,
    /// The folder around it can be read and does not have it: a file of this name was removed.
    pub(crate) removed: bool,
}

/// What was found, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) items: Vec<Item>,
    /// Documents in these paths are kept, since a drive may be absent for a while; but not the
    /// document of a file that was removed.
    pub(crate) missing: Vec<Missing>,
    /// What sources have that is not read.
    pub(crate) omitted: Vec<Omitted>,
    /// Files that may still be written. Their documents stay as they are.
    pub(crate) later: Vec<Item>,
}

impl Scan {
    /// Leaves files that may still be written for later.
    pub(crate) fn settled(mut self, now: Timestamp) -> Self {
        let being_written = |item: &mut Item| item.is_being_written(now);
        self.later.extend(self.items.extract_if(.., being_written));
        self
    }

    /// What a person has to know: the source, and what is wrong with it.
    pub(crate) fn problems(&self, now: Timestamp) -> Vec<(String, Problem)> {
        let missing = self
            .missing
            .iter()
            .map(|missing| (missing.path.display().to_string(), Problem::of(&missing.error, now)));
        let omitted = self.omitted.iter().flat_map(Omitted::problems);
        missing.chain(omitted.map(|(source, error)| (source, Problem::of(&error, now)))).collect()
    }
}

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
            Ok(metadata) if metadata.is_dir() && self.is_unmounted(path) => {
                let error = unreadable("the folder is empty, so its documents are kept")
                    .with_fix(format!("mount its drive; if its documents were removed on purpose, put a file into it, or {}", removal(source)));
                self.missing(path, error, false);
            }
            Ok(metadata) if metadata.is_dir() => self.folder(path, source, 0),
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

    /// Whether a named folder has nothing any more: it may be where a drive is mounted.
    fn is_unmounted(&self, folder: &Path) -> bool {
        let is_empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        is_empty && self.stored.iter().any(|key| Path::new(key).starts_with(folder))
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
        // What cannot be looked at is not gone. One problem for the folder: if the right is missing,
        // each of its files has it.
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

/// What to do about a source, by who named it.
fn fix(source: &Source, otherwise: &str) -> String {
    match source.origin {
        Origin::Character => {
            "correct or remove the path under `knowledge` in the character file; it starts at the file's folder".to_owned()
        }
        Origin::Setting => "correct KNOWLEDGE_PATH".to_owned(),
        Origin::Added => format!("{otherwise}, or {}", removal(source)),
    }
}

/// How a source is removed, by who named it.
fn removal(source: &Source) -> String {
    match source.origin {
        Origin::Character => "remove the path under `knowledge` in the character file".to_owned(),
        Origin::Setting => "change KNOWLEDGE_PATH".to_owned(),
        Origin::Added => format!("run {}", source.removal()),
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
        let sources = [source(folder.path().into()), source(at("b.md")), source(at("gone"))];
        let found = scan(&sources, &HashSet::new(), Timestamp(0));
        let names: Vec<_> = found
            .items
            .iter()
            .map(|item| item.key.strip_prefix(&folder.path().display().to_string()).unwrap())
            .collect();
        assert_eq!(names, ["/b.md", "/in/a.txt"]);
        assert_eq!(found.missing.len(), 1);
        assert!(found.missing[0].removed && found.problems(Timestamp(0))[0].0.ends_with("/gone"));
    }

    fn folder_of(names: impl IntoIterator<Item = std::ffi::OsString>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn added(path: &Path) -> Vec<Source> {
        let place = Place::Path(path.to_owned());
        vec![Source { place, shared: false, origin: Origin::Added }]
    }

    #[test]
    fn of_more_files_than_the_limit_those_that_are_stored_stay_and_the_others_are_counted() {
        let names = (0..MOST_FILES + 10).map(|n| format!("f{n:05}.md").into());
        let folder = folder_of(names);
        let sources = added(folder.path());
        let first = scan(&sources, &HashSet::new(), Timestamp(i64::MAX));
        assert_eq!(first.items.len(), MOST_FILES);
        let (source, error) = &first.problems(Timestamp(0))[0];
        assert_eq!(*source, folder.path().display().to_string());
        assert!(error.to_string().contains("10 files are left out"), "{error}");

        let stored: HashSet<String> = first.items.iter().map(|item| item.key.clone()).collect();
        fs::write(folder.path().join("a-new.md"), "").unwrap();
        let second = scan(&sources, &stored, Timestamp(i64::MAX));
        assert!(second.items.iter().all(|item| stored.contains(&item.key)));
        assert!(second.problems(Timestamp(0))[0].1.to_string().contains("11 files"), "{second:?}");
        // A place that becomes free is taken.
        fs::remove_file(folder.path().join("f00007.md")).unwrap();
        let third = scan(&sources, &stored, Timestamp(i64::MAX));
        assert_eq!(third.items.len(), MOST_FILES);
        assert!(third.items[0].key.ends_with("a-new.md"));
        assert_ne!(format!("{:?}", second.omitted), format!("{:?}", third.omitted));
    }

    #[test]
    fn what_is_too_deep_or_has_no_name_in_utf_8_is_a_problem() {
        use std::os::unix::ffi::OsStringExt;
        let deep = format!("{}deep.md", "d/".repeat(17));
        let deepest = format!("{}deepest.md", "e/".repeat(16));
        let odd = |name: &[u8]| std::ffi::OsString::from_vec(name.to_vec());
        let folder = folder_of([
            deep.into(),
            deepest.into(),
            odd(b"odd-\xff.md"),
            odd(b"odd-\xff.png"),
            "a.md".into(),
        ]);
        let found = scan(&added(folder.path()), &HashSet::new(), Timestamp(0));
        let names = found.items.iter().filter_map(|item| item.key.rsplit('/').next());
        assert_eq!(names.collect::<Vec<_>>(), ["a.md", "deepest.md"]);
        let problems: Vec<String> =
            found.problems(Timestamp(0)).iter().map(|(_, error)| error.to_string()).collect();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("deeper than 16 folders"), "{problems:?}");
        assert!(problems[1].contains("UTF-8") && problems[1].contains("odd-"), "{problems:?}");
    }

    #[test]
    fn a_folder_whose_files_cannot_be_looked_at_is_missing_and_not_empty() {
        let folder = tempfile::tempdir().unwrap();
        // A path of more than 4,096 bytes is an error for every user, unlike a missing right.
        let long = "d".repeat(240);
        let mut deep = folder.path().to_owned();
        while deep.as_os_str().len() < 3_850 {
            deep.push(&long[..(3_850 - deep.as_os_str().len()).min(240)]);
        }
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("a.md"), "x").unwrap();
        let name = format!("{}.md", "b".repeat(250));
        let made = std::process::Command::new("touch").arg(&name).current_dir(&deep).status();
        assert!(made.unwrap().success());
        let found = scan(&added(&deep), &HashSet::new(), Timestamp(0));
        assert_eq!(found.items.len(), 1);
        let [missing] = &found.missing[..] else { panic!("{:?}", found.missing) };
        assert!(missing.path == deep && !missing.removed, "{missing:?}");
    }

    #[test]
    fn an_empty_folder_is_missing_if_it_has_documents() {
        let folder = tempfile::tempdir().unwrap();
        let scan = |stored: &[String]| {
            let stored = stored.iter().cloned().collect();
            scan(&added(folder.path()), &stored, Timestamp(0))
        };
        let stored = [folder.path().join("in/a.md").display().to_string()];
        assert!(scan(&[]).missing.is_empty());
        let found = scan(&stored);
        assert!(!found.missing[0].removed);
        let fix = found.problems(Timestamp(0))[0].1.fix.clone().unwrap();
        assert!(fix.contains("mount its drive") && fix.contains("galatea knowledge rm"), "{fix}");
        fs::write(folder.path().join(".keep"), "").unwrap();
        assert!(scan(&stored).missing.is_empty());
    }

    #[test]
    fn a_pipe_or_a_device_is_a_problem() {
        for path in ["/dev/null", "/dev/zero"] {
            let found = scan(&added(Path::new(path)), &HashSet::new(), Timestamp(0));
            assert!(found.items.is_empty());
            let error = &found.problems(Timestamp(0))[0].1;
            assert!(error.to_string().contains("found=a device"), "{error}");
            assert!(error.fix.as_ref().unwrap().contains(&format!("galatea knowledge rm {path}")));
        }
    }
}
