//! The data folder, which contains the database, the lock and the terminal's socket.

use galatea_core::{Error, ErrorKind, Result, Settings};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::files;
use crate::config::GALATEA_DATA_DIR;

const DATABASE: &str = "galatea.db";

/// How to choose another data folder, in fixes.
pub const ANOTHER: &str = "set GALATEA_DATA_DIR to a folder";

/// The data folder of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    path: PathBuf,
    /// File name of the SQLite database in it.
    database: PathBuf,
}

impl DataDir {
    /// The configured folder, whether or not it exists.
    pub fn locate(settings: &Settings, working_dir: &Path) -> Self {
        let configured = settings.text(&GALATEA_DATA_DIR).unwrap_or_default();
        Self { path: working_dir.join(configured.trim()), database: DATABASE.into() }
    }

    /// The folder of a SQLite file, whether or not it exists.
    pub fn of_file(file: &Path) -> Self {
        let path = file.parent().map(Path::to_path_buf).unwrap_or_default();
        Self {
            path: if path.as_os_str().is_empty() { ".".into() } else { path },
            database: file.file_name().map_or_else(|| DATABASE.into(), PathBuf::from),
        }
    }

    /// Creates the folder if it is missing. A new one is readable by this user only and ignored by
    /// git, because it holds people's messages.
    ///
    /// # Errors
    /// `Forbidden`, `Conflict` or `Unavailable` (`GAL-DATA-DIR`) with the path.
    pub fn create(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_) => {
                return Err(self.cannot(
                    io::ErrorKind::AlreadyExists.into(),
                    "a file is in the place of the data folder",
                ));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(self.cannot(e, "the data folder cannot be opened")),
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.path)
            .and_then(|()| fs::write(self.path.join(".gitignore"), "*\n"))
            .map_err(|e| self.cannot(e, "the data folder cannot be made"))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the SQLite database.
    pub fn database(&self) -> PathBuf {
        self.path.join(&self.database)
    }

    /// `path` as a person would write it in this working folder.
    pub fn show(path: &Path, working_dir: &Path) -> String {
        path.strip_prefix(working_dir)
            .map_or_else(|_| path.display().to_string(), |near| format!("./{}", near.display()))
    }

    /// An error about this folder, for people.
    pub fn cannot(&self, source: io::Error, message: &'static str) -> Error {
        let kind = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ErrorKind::Forbidden
            }
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => ErrorKind::Conflict,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, message)
            .with_code("GAL-DATA-DIR")
            .with("cause", &source)
            .with("where", self.path.display())
            .with_fix(files::remedy(
                &source,
                if self.path.is_dir() {
                    "make the folder and what is in it writable for this user"
                } else {
                    "make its parent folder writable for this user"
                },
                ANOTHER,
            ))
            .with_source(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_private_and_kept_out_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::locate(&Settings::default(), dir.path());
        assert_eq!(data.path(), dir.path().join(".galatea"));
        data.create().unwrap();
        data.create().unwrap();
        assert_eq!(fs::read_to_string(data.path().join(".gitignore")).unwrap(), "*\n");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&data.path().metadata().unwrap().permissions())
                & 0o777,
            0o700
        );
        assert_eq!(DataDir::show(&data.database(), dir.path()), "./.galatea/galatea.db");
        assert_eq!(DataDir::show(Path::new("/var/lib/x"), dir.path()), "/var/lib/x");
    }

    #[test]
    fn a_file_in_its_place_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("taken"), "x").unwrap();
        let settings = Settings::from_pairs([("GALATEA_DATA_DIR", "taken")]);
        let error = DataDir::locate(&settings, dir.path()).create().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Some("GAL-DATA-DIR")));
        let settings = Settings::from_pairs([("GALATEA_DATA_DIR", "taken/deeper")]);
        let below = DataDir::locate(&settings, dir.path()).create().unwrap_err();
        assert_eq!(below.code(), Some("GAL-DATA-DIR"));
        for error in [error, below] {
            let fix = error.fix().unwrap();
            assert!(fix.starts_with("move the file away"), "{fix}");
            assert!(fix.ends_with("set GALATEA_DATA_DIR to a folder elsewhere"), "{fix}");
        }
    }

    #[test]
    fn the_fix_depends_on_the_cause() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings::from_pairs([("GALATEA_DATA_DIR", "data")]);
        let data = DataDir::locate(&settings, dir.path());
        for exists in [false, true] {
            for (kind, right, wrong) in files::CAUSES {
                let error = data.cannot(kind.into(), "the data folder cannot be made");
                let fix = error.fix().unwrap();
                assert!(fix.contains(right) && !fix.contains(wrong), "{kind:?}: {fix}");
                assert!(fix.contains(ANOTHER), "{kind:?}: {fix}");
                if kind == io::ErrorKind::PermissionDenied {
                    assert_eq!(fix.contains("parent"), !exists, "{fix}");
                }
                let taken = kind == io::ErrorKind::NotADirectory;
                assert_eq!(error.kind() == ErrorKind::Conflict, taken, "{kind:?}");
            }
            data.create().unwrap();
        }
    }
}
