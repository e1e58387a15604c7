//! The file of an export: written beside its place, and moved there once it is whole.

use galatea_core::{Error, ErrorKind, whole_file};
use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

use galatea_host::storage::files;

/// A new file that only the user can read: it contains what people said in private. Dropped before
/// [`Self::keep`], it leaves nothing.
#[derive(Debug)]
pub(super) struct NewFile {
    path: PathBuf,
    beside: BufWriter<NamedTempFile>,
}

impl NewFile {
    /// Creates the file beside `path`, at which there must be none.
    ///
    /// # Errors
    /// `GAL-MEMORY-WRITE`.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        if path.symlink_metadata().is_ok() {
            return Err(unwritable(path, &io::ErrorKind::AlreadyExists.into()));
        }
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        prefix.push(".");
        let folder = whole_file::folder(path).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().prefix(&prefix).suffix(".new").tempfile_in(folder);
        let beside = BufWriter::new(file.map_err(|error| unwritable(path, &error))?);
        Ok(Self { path: path.to_owned(), beside })
    }

    /// Gives the file its name once everything is on the disk.
    ///
    /// # Errors
    /// `GAL-MEMORY-WRITE`, also if there is a file of this name by now.
    pub(super) fn keep(self) -> Result<(), Error> {
        let Self { path, beside } = self;
        let keep = || {
            let file = beside.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist_noclobber(&path).map_err(|refused| refused.error)?;
            whole_file::flush_folder(whole_file::folder(&path).unwrap_or(Path::new(".")))
        };
        keep().map_err(|error| unwritable(&path, &error))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.beside.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.beside.flush()
    }
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> Error {
    let (kind, fix) = if error.kind() == io::ErrorKind::AlreadyExists {
        (ErrorKind::Conflict, "give the name of a file that does not exist yet".to_owned())
    } else {
        let rights = "make the folder writable for this user";
        (ErrorKind::Unavailable, files::remedy(error, rights, "name a file"))
    };
    Error::new(kind, "the export cannot be written")
        .with_code("GAL-MEMORY-WRITE")
        .with("where", path.display())
        .with("cause", error)
        .with_fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::exit::Exit;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_has_its_name_once_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert!(names(folder.path()).is_empty(), "an interrupted export leaves nothing");
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        file.keep().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(names(folder.path()), ["a.jsonl"]);
        assert_eq!(NewFile::create(&path).unwrap_err().kind(), ErrorKind::Conflict);
    }

    #[test]
    fn a_file_that_another_program_wrote_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let file = NewFile::create(&path).unwrap();
        std::fs::write(&path, "other").unwrap();
        assert_eq!(file.keep().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "other");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        NewFile::create(&path).unwrap().keep().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_written_has_its_code_and_fix() {
        for (kind, right, wrong) in files::CAUSES {
            let error = unwritable(Path::new("a.jsonl"), &kind.into());
            let fix = error.fix().unwrap();
            assert!(fix.contains(right) && !fix.contains(wrong), "{kind:?}: {fix}");
            assert_eq!(Exit::of(&error), Exit::Failure, "{kind:?}");
        }
        let error = unwritable(Path::new("a.jsonl"), &io::ErrorKind::AlreadyExists.into());
        assert_eq!(Exit::of(&error), Exit::Conflict);
        assert!(error.fix().unwrap().contains("does not exist yet"));
    }
}
