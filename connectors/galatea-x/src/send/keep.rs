//! Writes small files atomically: a temporary file is renamed over the old one. Only the owner of
//! the process can read them.

use galatea_core::{Error, Result};
use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

/// Replaces a file. With `durable` the change survives a crash of the machine right afterwards.
///
/// # Errors
/// `Unexpected` when the file cannot be written; the old one is then unchanged.
pub(crate) fn replace(path: &Path, bytes: &[u8], durable: bool) -> Result<()> {
    let beside = path.with_extension("new");
    let write = || {
        if let Some(folder) = path.parent()
            && !folder.exists()
        {
            make(folder)?;
        }
        // A temporary file left by a killed process may have other permissions.
        let _ = std::fs::remove_file(&beside);
        let mut file = private().write(true).create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        if durable {
            file.sync_all()?;
        }
        std::fs::rename(&beside, path)?;
        if durable && let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok::<_, std::io::Error>(())
    };
    write().map_err(|e| {
        Error::unexpected("a file of the X connector cannot be written").with("cause", e)
    })
}

/// Options that create files with mode 0600.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder with mode 0700.
pub(crate) fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Path of the folder with one account's files. It is created by the first write.
pub(crate) fn folder(data: &Path, name: &str) -> PathBuf {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(60)
        .collect();
    data.join(format!("x-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_are_replaced_whole_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        let folder = folder(data.path(), "12/../3");
        assert!(folder.ends_with("x-12____3"));
        let path = folder.join("tokens.json");
        make(&folder).unwrap();
        std::fs::write(path.with_extension("new"), "left over").unwrap();
        replace(&path, b"one", true).unwrap();
        replace(&path, b"two", false).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
