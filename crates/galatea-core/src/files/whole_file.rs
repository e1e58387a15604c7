//! Replaces files whole: a kill or a crash leaves the old file or the new one, never a part of
//! either.

use std::{
    fs::{File, Permissions},
    io::{self, Write},
    path::Path,
};

/// Readers of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Like the existing file; for a new one, as the system does by default.
    Usual,
    /// Only the user who runs the process (mode 0600).
    Private,
}

/// Loss that a crash of the machine right after the write may cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// The whole write: nothing is flushed.
    No,
    /// Nothing: the file and its folder are flushed to the disk.
    Yes,
}

/// Writes `bytes` to the file `temporary`, which lies in the same folder, and renames it to `path`.
/// An earlier `temporary`, which a killed process left, is removed first; so two processes must not
/// share one.
///
/// # Errors
/// Errors of the file system. `path` is then unchanged, and `temporary` does not exist; only if
/// flushing the folder failed is the new file there already.
pub fn replace(
    path: &Path,
    temporary: &Path,
    bytes: &[u8],
    access: Access,
    flush: Flush,
) -> io::Result<()> {
    let folder = folder(path).unwrap_or(Path::new("."));
    let _ = std::fs::remove_file(temporary);
    let mut builder = tempfile::Builder::new();
    builder.prefix(temporary.file_name().unwrap_or_default()).rand_bytes(0);
    if let Some(mode) = mode(access) {
        builder.permissions(mode);
    }
    let mut file = builder.tempfile_in(folder)?;
    if access == Access::Usual
        && let Ok(existing) = path.metadata()
    {
        file.as_file().set_permissions(existing.permissions())?;
    }
    file.write_all(bytes)?;
    if flush == Flush::Yes {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    if flush == Flush::Yes { flush_folder(folder) } else { Ok(()) }
}

/// The folder of a path; none if the path is a bare name or a root.
pub fn folder(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

/// Makes the names in a folder durable. Only Unix can open a folder to flush it.
///
/// # Errors
/// Errors of the file system.
pub fn flush_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The mode of a new file, before the process's mask applies.
fn mode(access: Access) -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(match access {
        Access::Usual => 0o666,
        Access::Private => 0o600,
    }));
    #[cfg(not(unix))]
    {
        let _ = access;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str, access: Access) -> io::Result<()> {
        replace(path, &path.with_extension("new"), text.as_bytes(), access, Flush::Yes)
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, "one", Access::Usual).unwrap();
        std::fs::write(path.with_extension("new"), "left by a killed process").unwrap();
        write(&path, "two", Access::Usual).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_what_was_there_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::create_dir(&path).unwrap();
        assert!(write(&path, "one", Access::Private).is_err());
        assert!(path.is_dir());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn an_existing_mode_is_kept_and_a_private_file_is_private_from_the_start() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let (usual, private) = (folder.path().join("usual"), folder.path().join("private"));
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "made by the system").unwrap();
        write(&usual, "new", Access::Usual).unwrap();
        assert_eq!(mode(&usual), mode(&plain));
        std::fs::set_permissions(&usual, Permissions::from_mode(0o664)).unwrap();
        write(&usual, "again", Access::Usual).unwrap();
        std::fs::write(&private, "open").unwrap();
        write(&private, "closed", Access::Private).unwrap();
        assert_eq!((mode(&usual), mode(&private)), (0o664, 0o600));
    }
}
