//! A machine that breaks while a program runs on it: its disk is full, slow, cannot flush, or its
//! clock is set. Works without any rights: a small library, compiled by the C compiler that the
//! build needs anyway, is preloaded into the program. Linux only.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::process::Program;

const SOURCE: &str = include_str!("broken_machine.c");
/// `struct machine` of the library: seconds, full, broken, slow.
const SIZE: u64 = 24;

/// A machine whose faults come and go at a test's word.
#[derive(Debug)]
pub struct Machine {
    file: fs::File,
    path: PathBuf,
    disk: PathBuf,
    _folder: tempfile::TempDir,
}

impl Machine {
    /// One without faults. Its disk is what lies below `disk`.
    ///
    /// # Panics
    /// Without a C compiler named `cc`.
    pub fn new(disk: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine");
        let file = fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(SIZE).unwrap();
        // As the kernel tells it, links resolved.
        let disk = disk.canonicalize().unwrap();
        Self { file, path, disk, _folder: folder }
    }

    /// The program on this machine.
    #[must_use]
    pub fn runs(&self, program: Program) -> Program {
        program
            .env("LD_PRELOAD", library())
            .env("MACHINE_UNDER_TEST", &self.path)
            .env("MACHINE_UNDER_TEST_DISK", &self.disk)
    }

    /// Adds this to the time of day from now on.
    pub fn set_clock(&self, seconds: i64) {
        self.file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }

    /// Whether nothing can be written: the disk is full.
    pub fn fill_disk(&self, full: bool) {
        self.file.write_all_at(&i32::from(full).to_ne_bytes(), 8).unwrap();
    }

    /// Whether what is written can be flushed.
    pub fn break_disk(&self, broken: bool) {
        self.file.write_all_at(&i32::from(broken).to_ne_bytes(), 12).unwrap();
    }

    /// How long every flush takes.
    pub fn slow_disk(&self, flush: Duration) {
        self.file
            .write_all_at(&i32::try_from(flush.as_millis()).unwrap().to_ne_bytes(), 16)
            .unwrap();
    }
}

/// The compiled library, made once for all test processes.
fn library() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    SOURCE.hash(&mut hasher);
    let name = format!("galatea-test-machine-{}-{:016x}", nix::unistd::geteuid(), hasher.finish());
    let library = std::env::temp_dir().join(format!("{name}.so"));
    if !library.exists() {
        let folder = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
        let (source, made) =
            (folder.path().join("broken_machine.c"), folder.path().join("made.so"));
        fs::write(&source, SOURCE).unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&made)
            .arg(&source)
            .output();
        let compiled = compiled.expect("a C compiler named cc, as the build needs one too");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        // Whoever came first or last: it is the same.
        fs::rename(&made, &library).unwrap();
    }
    library
}
