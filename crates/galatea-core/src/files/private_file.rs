//! Private files of a connector, such as logins and secrets. Only the user who runs the process can
//! read them. A kill or a crash leaves the old file or the new one, never a part of either.

use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    path::Path,
};

use crate::{
    error::{Error, Result},
    whole_file::{self, Access, Flush, flush_folder, folder},
};

/// Replaces a file (mode 0600) and creates its folder (mode 0700). For values whose loss in a power
/// failure is bearable. Calls for the same file must not overlap.
///
/// # Errors
/// `Unexpected` with path and cause if it cannot be written; the old file is then unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, Flush::No).map_err(|e| cannot(path, e))
}

/// Like [`replace`], and the file survives a crash of the machine right afterwards. For secrets
/// that another party knows from then on.
///
/// # Errors
/// `Unexpected` with path and cause if it cannot be written or flushed; either the old or the new
/// file is then there, whole.
pub fn replace_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, Flush::Yes).map_err(|e| cannot(path, e))
}

/// Options that create files with mode 0600, for files that are appended to or locked.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder and the missing ones above it with mode 0700. An existing folder stays as it
/// is.
///
/// # Errors
/// Errors of the file system.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write(path: &Path, bytes: &[u8], flush: Flush) -> io::Result<()> {
    let folder = folder(path);
    let is_new = folder.is_some_and(|folder| !folder.exists());
    if let Some(folder) = folder {
        create_folder(folder)?;
    }
    whole_file::replace(path, &path.with_extension("new"), bytes, Access::Private, flush)?;
    match folder.filter(|_| is_new && flush == Flush::Yes) {
        Some(new) => flush_folder(whole_file::folder(new).unwrap_or(Path::new("."))),
        None => Ok(()),
    }
}

fn cannot(path: &Path, cause: io::Error) -> Error {
    Error::unexpected("a private file cannot be written")
        .with("file", path.display())
        .with("cause", cause)
        .with_fix("check the permissions and the free space of the data folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_are_replaced_whole_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("account");
        let path = folder.join("tokens.json");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        replace_durably(&path, b"one").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        let left_over = path.with_extension("new");
        std::fs::write(&left_over, "left over by a killed process").unwrap();
        std::fs::set_permissions(&left_over, PermissionsExt::from_mode(0o644)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!((mode(&path), mode(&folder)), (0o600, 0o700));
        assert!(!left_over.exists());
    }

    #[test]
    fn a_failure_names_the_file_and_leaves_the_old_one() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("tokens.json");
        std::fs::create_dir(&path).unwrap();
        let error = replace(&path, b"one").unwrap_err().report();
        assert!(error.contains("tokens.json"), "{error}");
        assert!(path.is_dir() && !path.with_extension("new").exists());
    }
}
