//! Whether the file that is written is still the one that bears its name. On Unix an open file that
//! is removed or replaced goes on to take what is written, and no one could ever read it.

use galatea_core::{Error, Result};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::error;

/// What a name stands for.
type Identity = (u64, u64);

/// The files of an open database, as they were when it was opened.
#[derive(Debug, Default)]
pub(crate) struct Presence(Vec<(PathBuf, Identity)>);

impl Presence {
    /// Of the main file and its log.
    pub(crate) fn of(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let files = [path.to_owned(), PathBuf::from(log)];
        Self(
            files
                .into_iter()
                .filter_map(|file| identity(&file).ok().map(|identity| (file, identity)))
                .collect(),
        )
    }

    /// Refuses to go on when one of them was removed or replaced. It costs two looks at the folder,
    /// some microseconds.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.iter().find_map(|(file, known)| gone(file, *known)).map_or(Ok(()), Err)
    }
}

fn gone(file: &Path, known: Identity) -> Option<Error> {
    match identity(file) {
        Ok(found) if found == known => None,
        Ok(_) => Some(error::gone(file, "another file has its name")),
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => {
            Some(error::gone(file, "nothing has its name any more"))
        }
        // What cannot be looked at need not be gone.
        Err(_) => None,
    }
}

#[cfg(unix)]
fn identity(file: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(file).map(|found| (found.dev(), found.ino()))
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn identity(file: &Path) -> io::Result<Identity> {
    fs::metadata(file).map(|_| (0, 0))
}
