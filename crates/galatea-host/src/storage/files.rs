//! Writes files atomically. Existing files are replaced on request only, and secrets are readable
//! by this user only.

use galatea_core::{
    Error, ErrorKind, Result,
    whole_file::{self, Flush},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use galatea_core::whole_file::Access;

/// Writes a file that must not exist yet. Creates its folder.
///
/// # Errors
/// `Conflict` (`GAL-FILE-EXISTS`) if it exists, `GAL-FILE-WRITE` if it cannot be written.
pub fn create(path: &Path, text: &str, access: Access) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::new(ErrorKind::Conflict, format!("{} exists already", path.display()))
            .with_code("GAL-FILE-EXISTS")
            .with_fix("choose another name, or add --force to replace it"));
    }
    replace(path, text, access)
}

/// Writes a file and replaces an existing one whole. Creates its folder.
///
/// # Errors
/// `GAL-FILE-WRITE` with the path and the cause.
pub fn replace(path: &Path, text: &str, access: Access) -> Result<()> {
    let cannot = |e| cannot(path, e);
    // Writes to the target of a symbolic link, so that the link remains.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if let Some(folder) = target.parent().filter(|f| !f.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    whole_file::replace(&target, &beside(&target), text.as_bytes(), access, Flush::Yes)
        .map_err(cannot)
}

/// The temporary file of this process beside a file.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

/// Whether other users of this machine may read or write a file. Always false on systems without
/// Unix permissions.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    return path.metadata().is_ok_and(|found| {
        std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0
    });
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Restricts a file to this user (mode 0600).
///
/// # Errors
/// `GAL-FILE-WRITE` with the path and the cause.
pub fn close_to_others(path: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .map_err(|e| cannot(path, e))?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Makes git ignore a file: adds a line to the `.gitignore` next to it, if the file is in a git
/// repository and no `.gitignore` names it yet. Returns the `.gitignore` it changed.
///
/// # Errors
/// `GAL-FILE-WRITE` with the path and the cause.
pub fn ignore_in_git(path: &Path) -> Result<Option<PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|e| cannot(path, e))?;
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return Ok(None) };
    let Some(depth) = folder.ancestors().position(|f| f.join(".git").exists()) else {
        return Ok(None);
    };
    let names = [
        name.to_owned(),
        format!("/{name}"),
        format!("**/{name}"),
        format!("{name}*"),
        "*".to_owned(),
        ".*".to_owned(),
    ];
    let ignored = folder.ancestors().take(depth + 1).enumerate().any(|(level, f)| {
        let text = fs::read_to_string(f.join(".gitignore")).unwrap_or_default();
        // A pattern with a leading slash applies to the folder of its own `.gitignore` only.
        text.lines()
            .map(str::trim)
            .any(|line| names.iter().any(|n| n == line) && (level == 0 || !line.starts_with('/')))
    });
    if ignored {
        return Ok(None);
    }
    let file = folder.join(".gitignore");
    let mut text = fs::read_to_string(&file).unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    replace(&file, &format!("{text}{name}\n"), Access::Usual)?;
    Ok(Some(file))
}

/// The error for a file that cannot be written.
pub fn cannot(path: &Path, source: io::Error) -> Error {
    let kind = match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Forbidden,
        _ => ErrorKind::Unexpected,
    };
    Error::new(kind, format!("{} cannot be written", path.display()))
        .with_code("GAL-FILE-WRITE")
        .with("cause", &source)
        .with_fix(remedy(&source, "make the folder writable for this user", "name one"))
        .with_source(source)
}

/// What to do about a write error. `rights` is the advice if rights are the cause. `another` names
/// the way to choose another place, such as "set GALATEA_DATA_DIR to a folder".
pub fn remedy(source: &io::Error, rights: &str, another: &str) -> String {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("free space on that disk, or {another} on another disk")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            format!("{another} on another disk; this one is read-only")
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            format!("move the file away that is in the place of a folder, or {another} elsewhere")
        }
        io::ErrorKind::PermissionDenied => format!("{rights}, or {another} elsewhere"),
        _ => format!("check that the folder exists and its disk works, or {another} elsewhere"),
    }
}

/// Causes of write errors, each with a part of its fix and one of the wrong fixes, for tests.
#[doc(hidden)]
pub const CAUSES: [(io::ErrorKind, &str, &str); 5] = [
    (io::ErrorKind::StorageFull, "free space on that disk, or", "writable for this user"),
    (io::ErrorKind::QuotaExceeded, "free space on that disk, or", "writable for this user"),
    (io::ErrorKind::ReadOnlyFilesystem, "on another disk; this one is", "for this user"),
    (io::ErrorKind::PermissionDenied, "writable for this user, or", "disk"),
    (io::ErrorKind::NotADirectory, "move the file away that is", "writable for this user"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_never_over_another_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b.env");
        create(&path, "1", Access::Private).unwrap();
        assert_eq!(
            create(&path, "2", Access::Private).unwrap_err().code(),
            Some("GAL-FILE-EXISTS")
        );
        replace(&path, "3", Access::Private).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3");
        assert!(!is_open_to_others(&path));
        assert_eq!(
            fs::read_dir(dir.path().join("a")).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn the_fix_depends_on_the_cause() {
        for (kind, right, wrong) in CAUSES {
            let error = cannot(Path::new("a/b"), kind.into());
            let fix = error.fix().unwrap();
            assert!(fix.contains(right) && !fix.contains(wrong), "{kind:?}: {fix}");
            assert!(fix.contains("name one"), "{kind:?}: {fix}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let error = replace(&dir.path().join("file/below"), "1", Access::Usual).unwrap_err();
        assert!(error.fix().unwrap().starts_with("move the file away"), "{}", error.report());
    }

    #[cfg(unix)]
    #[test]
    fn rights_are_kept_and_can_be_taken_away() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "1").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
        replace(&path, "2", Access::Usual).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o664);
        assert!(is_open_to_others(&path));
        close_to_others(&path).unwrap();
        assert!(!is_open_to_others(&path));
    }

    #[test]
    fn git_ignores_a_file_once_and_only_in_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let env = inner.join(".env");
        assert_eq!(ignore_in_git(&env).unwrap(), None);
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".gitignore"), "/.env").unwrap();
        assert!(
            ignore_in_git(&env).unwrap().is_some(),
            "the rooted name of another folder does not count"
        );
        assert_eq!(ignore_in_git(&env).unwrap(), None);
        assert_eq!(fs::read_to_string(inner.join(".gitignore")).unwrap(), ".env\n");
        assert!(ignore_in_git(&dir.path().join("key")).unwrap().is_some());
        assert_eq!(fs::read_to_string(dir.path().join(".gitignore")).unwrap(), "/.env\nkey\n");
    }
}
