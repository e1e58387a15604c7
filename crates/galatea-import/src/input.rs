//! The file that an import reads: one on disk, a pipe, or standard input.

use galatea_core::Error;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::format::unreadable;

/// The argument that means standard input.
const STANDARD: &str = "-";
/// Most bytes of a pipe, which is copied to a temporary file: one without an end must not fill the
/// disk.
const COPIED: u64 = 4 << 30;

/// An open file that can be read several times, each time from its beginning. A pipe is copied to a
/// file without a name first, since its bytes can be read once only.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    file: Rc<File>,
    is_copy: bool,
}

impl Input {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// `Invalid` (`GAL-MEMORY-IMPORT`) with the cause and what to do about it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path.as_os_str() == STANDARD {
            return Self::copied(path, io::stdin().lock(), COPIED);
        }
        let failed = |error: io::Error| cannot_open(path, &error);
        if path.metadata().map_err(failed)?.is_dir() {
            return Err(folder(path));
        }
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Self::copied(path, file, COPIED);
        }
        Ok(Self { path: path.to_owned(), file: Rc::new(file), is_copy: false })
    }

    /// Copies what a pipe gives, up to `most` bytes.
    fn copied(path: &Path, from: impl Read, most: u64) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            unreadable(path, &format!("it cannot be copied to a temporary file: {error}"))
                .with_fix("set TMPDIR to a folder with enough space, or give the name of a file")
        };
        let mut file = tempfile::tempfile().map_err(failed)?;
        let size = io::copy(&mut from.take(most + 1), &mut file).map_err(failed)?;
        if size > most {
            let cause = format!("it gives more than {} MiB", most >> 20);
            return Err(unreadable(path, &cause)
                .with_fix("write it to a file first, and give the name of that file"));
        }
        Ok(Self { path: path.to_owned(), file: Rc::new(file), is_copy: true })
    }

    /// The bytes, from the beginning.
    pub(crate) fn reader(&self) -> Reader {
        Reader { file: Rc::clone(&self.file), at: 0 }
    }

    /// The same in pieces of some KiB.
    pub(crate) fn buffered(&self) -> impl BufRead + use<> {
        BufReader::new(self.reader())
    }

    /// The file's name without its ending. A pipe has none that says anything.
    pub fn stem(&self) -> Option<String> {
        let stem = self.path.file_stem().filter(|_| !self.is_copy)?;
        Some(stem.to_string_lossy().into_owned())
    }
}

impl AsRef<Path> for Input {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// A reader with a place of its own in a file that others read, too.
#[derive(Debug)]
pub(crate) struct Reader {
    file: Rc<File>,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.file).seek(SeekFrom::Start(self.at))?;
        let read = (&*self.file).read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn cannot_open(path: &Path, error: &io::Error) -> Error {
    let fix = match error.kind() {
        io::ErrorKind::NotFound => "check the name of the file: nothing has this one",
        io::ErrorKind::PermissionDenied => "make the file readable for this user",
        _ => "check that the file can be read, or give the name of a copy of it",
    };
    unreadable(path, &error.to_string()).with_fix(fix)
}

fn folder(path: &Path) -> Error {
    if path.join("PG_VERSION").is_file() {
        return unreadable(path, "it is the data folder of a database (PostgreSQL or PGlite)").with_fix(
            "make a dump of that database with `pg_dump`, for PGlite with its own (@electric-sql/pglite-tools), and import the dump",
        );
    }
    unreadable(path, "it is a folder").with_fix("name a file in it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &Input) -> String {
        let mut text = String::new();
        input.buffered().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_pipe_is_read_several_times_and_has_no_stem() {
        let input = Input::copied(Path::new("/dev/fd/63"), b"one\ntwo\n".as_slice(), 8).unwrap();
        assert_eq!((text(&input), text(&input)), ("one\ntwo\n".into(), "one\ntwo\n".into()));
        assert_eq!(input.stem(), None);
        let error = Input::copied(Path::new("-"), b"one\ntwo\n".as_slice(), 7).unwrap_err();
        assert!(error.fix().unwrap().contains("to a file first"), "{error:?}");
    }

    #[test]
    fn readers_do_not_move_each_other() {
        let input = Input::copied(Path::new("-"), b"abcdef".as_slice(), 10).unwrap();
        let (mut one, mut other) = (input.reader(), input.reader());
        let (mut two, mut three) = ([0; 2], [0; 3]);
        one.read_exact(&mut two).unwrap();
        other.read_exact(&mut three).unwrap();
        assert_eq!((&two, &three), (b"ab", b"abc"));
        one.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"cd");
    }

    #[test]
    fn each_cause_has_its_fix() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("PG_VERSION"), "17").unwrap();
        let inside = home.path().join("base");
        std::fs::create_dir(&inside).unwrap();
        for (path, fix) in [
            (home.path().join("gone"), "check the name"),
            (home.path().to_owned(), "pg_dump"),
            (inside, "name a file in it"),
        ] {
            let error = Input::open(&path).unwrap_err();
            assert!(error.fix().unwrap().contains(fix), "{error:?}");
        }
        let denied = cannot_open(Path::new("x"), &io::ErrorKind::PermissionDenied.into());
        assert!(denied.fix().unwrap().contains("readable"), "{denied:?}");
    }
}
