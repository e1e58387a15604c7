//! A faulty machine for the program under test: its disk is full, slow or cannot flush, or its
//! clock is wrong. Needs no privileges: a small C library, compiled with the `cc` that the build
//! needs anyway, is preloaded into the program. Linux only.
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
/// Size of `struct machine` in the library: seconds, full, broken, slow.
const SIZE: u64 = 24;

/// A machine whose faults a test switches on and off.
#[derive(Debug)]
pub struct Machine {
    file: fs::File,
    path: PathBuf,
    disk: PathBuf,
    _folder: tempfile::TempDir,
}

impl Machine {
    /// A machine without faults. Its disk is everything below the folder `disk`.
    ///
    /// # Panics
    /// Without a C compiler named `cc`.
    pub fn new(disk: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine");
        let file = fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(SIZE).unwrap();
        // The path as the kernel reports it, without links.
        let disk = disk.canonicalize().unwrap();
        Self { file, path, disk, _folder: folder }
    }

    /// Makes the program run on this machine.
    #[must_use]
    pub fn runs(&self, program: Program) -> Program {
        program
            .env("LD_PRELOAD", library())
            .env("MACHINE_UNDER_TEST", &self.path)
            .env("MACHINE_UNDER_TEST_DISK", &self.disk)
    }

    /// Shifts the time of day by this many seconds from now on.
    pub fn set_clock(&self, seconds: i64) {
        self.file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }

    /// Sets whether the disk is full, so that every write fails.
    pub fn fill_disk(&self, full: bool) {
        self.file.write_all_at(&i32::from(full).to_ne_bytes(), 8).unwrap();
    }

    /// Sets whether flushing to the disk fails.
    pub fn break_disk(&self, broken: bool) {
        self.file.write_all_at(&i32::from(broken).to_ne_bytes(), 12).unwrap();
    }

    /// Sets how long every flush takes.
    pub fn slow_disk(&self, flush: Duration) {
        self.file
            .write_all_at(&i32::try_from(flush.as_millis()).unwrap().to_ne_bytes(), 16)
            .unwrap();
    }
}

/// Path of the compiled library, which all test processes share.
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
        // Two processes may both get here; their files are identical.
        fs::rename(&made, &library).unwrap();
    }
    library
}
