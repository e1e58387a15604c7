//! Lock of a data folder: one process at a time may use it. The system releases the lock when the
//! process ends, so a crash needs no cleanup.

use galatea_core::{Error, ErrorKind, Result};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{data_dir, files};

const FILE: &str = "galatea.lock";
/// Limit in bytes. A note has two short lines; a longer file was not written by this program.
const MAX_NOTE: u64 = 256;
/// Attempts to take the lock, and the pause between them.
const TRIES: u32 = 3;
const TRY_PAUSE: Duration = Duration::from_millis(5);

/// The held lock. Dropping it releases the folder.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
    path: PathBuf,
}

/// What the process that holds the lock wrote into the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holder {
    /// Its process id.
    pub pid: Option<u32>,
    /// Address of its health server. `None` until the server listens, and for `galatea chat`.
    pub health: Option<SocketAddr>,
}

impl InstanceLock {
    /// Takes the lock of a data folder. Retries for some milliseconds.
    ///
    /// # Errors
    /// `Conflict` (`GAL-LOCK`) with the process that holds it.
    pub fn take(data_dir: &Path) -> Result<Self> {
        let path = path(data_dir);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| cannot(&path, e))?;
        let mut tries = 0;
        loop {
            tries += 1;
            match file.try_lock() {
                Ok(()) => break,
                // [`holder`] in another command may hold the lock for a moment.
                Err(TryLockError::WouldBlock) if tries < TRIES => std::thread::sleep(TRY_PAUSE),
                Err(TryLockError::WouldBlock) => return Err(held(data_dir, read(&path))),
                Err(TryLockError::Error(e)) => return Err(cannot(&path, e)),
            }
        }
        let mut lock = Self { file, path };
        lock.note(None)?;
        Ok(lock)
    }

    /// Publishes the address of the health server for other commands.
    ///
    /// # Errors
    /// `GAL-DATA-DIR` when the file cannot be written.
    pub fn announce(&mut self, health: SocketAddr) -> Result<()> {
        self.note(Some(health))
    }

    fn note(&mut self, health: Option<SocketAddr>) -> Result<()> {
        let health = health.map(|health| format!("health {health}\n")).unwrap_or_default();
        let text = format!("pid {}\n{health}", std::process::id());
        let mut write = || {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(text.as_bytes())?;
            self.file.flush()
        };
        write().map_err(|e| cannot(&self.path, e))
    }
}

/// The process that holds the lock of a data folder; `None` if the lock is free.
///
/// # Errors
/// `Forbidden` or `Unavailable` when the file cannot be opened.
pub fn holder(data_dir: &Path) -> Result<Option<Holder>> {
    let path = path(data_dir);
    let file = match OpenOptions::new().read(true).open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(cannot(&path, e)),
    };
    // A shared lock fails only while a process holds the exclusive one, and is released at once
    // here.
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(read(&path))),
        Err(TryLockError::Error(e)) => Err(cannot(&path, e)),
    }
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

fn read(path: &Path) -> Holder {
    let mut text = String::new();
    // An unreadable note counts as empty. Only the lock decides; the note helps people.
    let _ = File::open(path).and_then(|file| file.take(MAX_NOTE).read_to_string(&mut text));
    parse(&text)
}

fn parse(text: &str) -> Holder {
    let mut holder = Holder::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        match key {
            "pid" => holder.pid = value.parse().ok(),
            "health" => holder.health = value.parse().ok(),
            _ => {}
        }
    }
    holder
}

fn held(data_dir: &Path, holder: Holder) -> Error {
    let who =
        holder.pid.map_or_else(|| "another galatea".to_owned(), |pid| format!("process {pid}"));
    let fix = holder.pid.map_or_else(
        || "stop the other galatea, or use another data folder".to_owned(),
        |pid| format!("talk to it with `galatea chat`, stop it with `kill {pid}`, or use another data folder (GALATEA_DATA_DIR)"),
    );
    Error::new(ErrorKind::Conflict, format!("{who} is running with this data folder already"))
        .with_code("GAL-LOCK")
        .with("where", data_dir.display())
        .with_fix(fix)
}

fn cannot(path: &Path, source: std::io::Error) -> Error {
    let kind = match source.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            ErrorKind::Forbidden
        }
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, "the data folder cannot be locked")
        .with_code("GAL-DATA-DIR")
        .with("cause", &source)
        .with("where", path.display())
        .with_fix(files::remedy(
            &source,
            "make the folder and what is in it writable for this user",
            data_dir::ANOTHER,
        ))
        .with_source(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_free_after_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(holder(dir.path()).unwrap(), None);
        let mut lock = InstanceLock::take(dir.path()).unwrap();
        lock.announce("127.0.0.1:3000".parse().unwrap()).unwrap();
        let us = Holder {
            pid: Some(std::process::id()),
            health: Some("127.0.0.1:3000".parse().unwrap()),
        };
        assert_eq!(holder(dir.path()).unwrap(), Some(us));

        let error = InstanceLock::take(dir.path()).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Some("GAL-LOCK")));
        assert!(error.message().contains(&std::process::id().to_string()), "{error}");

        drop(lock);
        assert_eq!(holder(dir.path()).unwrap(), None);
        InstanceLock::take(dir.path()).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_reported_with_its_fix() {
        for (kind, right, wrong) in files::CAUSES {
            let error = cannot(Path::new("data/galatea.lock"), kind.into());
            let fix = error.fix().unwrap();
            assert!(fix.contains(right) && !fix.contains(wrong), "{kind:?}: {fix}");
        }
        // A file that is open for reading stands for a disk that takes nothing more.
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path());
        std::fs::write(&path, "").unwrap();
        let mut lock = InstanceLock { file: File::open(&path).unwrap(), path };
        let error = lock.announce("127.0.0.1:3000".parse().unwrap()).unwrap_err();
        assert_eq!(error.code(), Some("GAL-DATA-DIR"));
        assert!(error.fix().is_some() && error.report().contains("galatea.lock"), "{error}");
    }

    #[test]
    fn an_unreadable_note_is_ignored() {
        assert_eq!(parse("pid x\nhealth \n\nnonsense"), Holder::default());
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(path(dir.path()), [0xff; 5000]).unwrap();
        assert_eq!(read(&path(dir.path())), Holder::default());
        InstanceLock::take(dir.path()).unwrap();
        assert_eq!(read(&path(dir.path())).pid, Some(std::process::id()));
    }
}
