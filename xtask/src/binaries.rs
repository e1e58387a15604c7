//! Runs the tests where nextest is missing: builds all test binaries, then runs two of them at a
//! time. Many tests wait for a program or a deadline, so `cargo test`, which runs one binary after
//! the other, would leave the processors idle.

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;
use parking_lot::Mutex;
use std::{
    fs::File,
    io::{BufReader, Read as _, Seek as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use xtask::{cargo, step::step};

/// Binaries that run at the same time.
const AT_ONCE: usize = 2;
/// Tests that run at the same time in each of them.
const THREADS: usize = 3;
/// Binaries that take longest. They run first, so that the last one is a short one.
const LONGEST: &[&str] = &["e2e", "galatea_store", "line", "galatea_runtime", "loopback"];
/// Longest time of one binary. A test that hangs ends it.
const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// A built test binary.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binary {
    name: String,
    program: PathBuf,
    /// Folder of its package, in which cargo would run it.
    package: PathBuf,
}

/// Builds and runs all tests but those in docs.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut binaries = step("building the tests", || build(root))?;
    binaries.sort_by_key(|binary| rank(&binary.name));
    step("tests", || {
        let failed = run_all(&binaries);
        if failed.is_empty() { Ok(()) } else { bail!("tests of {} failed", failed.join(", ")) }
    })
}

/// Place in the order of the runs.
fn rank(name: &str) -> usize {
    LONGEST.iter().position(|long| *long == name).unwrap_or(LONGEST.len())
}

fn build(root: &Path) -> Result<Vec<Binary>> {
    let mut command = cargo(root, &["test", "--workspace", "--locked", "--lib", "--bins"]);
    command.args(["--tests", "--no-run", "--message-format=json-render-diagnostics"]);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut binaries = Vec::new();
    for message in Message::parse_stream(BufReader::new(output)) {
        let Message::CompilerArtifact(artifact) = message.context("cargo's output broke off")?
        else {
            continue;
        };
        let Some(program) = artifact.executable.filter(|_| artifact.profile.test) else { continue };
        let package = artifact.manifest_path.parent().context("a package without a folder")?;
        binaries.push(Binary {
            name: artifact.target.name.clone(),
            program: program.into_std_path_buf(),
            package: package.to_path_buf().into_std_path_buf(),
        });
    }
    let status = child.wait().context("cargo was lost")?;
    if !status.success() {
        bail!("the tests could not be built");
    }
    Ok(binaries)
}

/// Runs every binary and returns the names of those that failed.
fn run_all(binaries: &[Binary]) -> Vec<String> {
    let (waiting, failed) = (Mutex::new(binaries.iter()), Mutex::new(Vec::new()));
    let next = || waiting.lock().next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(binary) = next() {
                    if let Err(error) = run_one(binary, DEADLINE) {
                        eprintln!("{}: {error:#}", binary.name);
                        failed.lock().push(binary.name.clone());
                    }
                }
            });
        }
    });
    failed.into_inner()
}

/// Runs one binary. Its output is shown if it fails; otherwise one line of it.
fn run_one(binary: &Binary, deadline: Duration) -> Result<()> {
    // Output goes to a file: a full pipe would stop the tests.
    let mut output = tempfile::tempfile().context("no temporary file")?;
    let mut command = Command::new(&binary.program);
    command
        .arg(format!("--test-threads={THREADS}"))
        .current_dir(&binary.package)
        .env("CARGO_MANIFEST_DIR", &binary.package)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let ended = wait(child, deadline)?;
    let text = read(&mut output)?;
    match ended {
        Some(status) if status.success() => {
            let result = text.lines().rev().find_map(|line| line.strip_prefix("test result: "));
            eprintln!("{}: {}", binary.name, result.unwrap_or("ok"));
            Ok(())
        }
        Some(status) => bail!("{text}\nended with {status}"),
        None => bail!("{text}\ndid not end within {} s", deadline.as_secs()),
    }
}

/// Waits for the end of a process. `None` if it had to be killed at the deadline.
fn wait(mut child: Child, deadline: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("a test binary was lost")? {
            return Ok(Some(status));
        }
        if begun.elapsed() > deadline {
            child.kill().context("a test binary can't be ended")?;
            child.wait().context("a test binary was lost")?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn read(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).context("no output")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that ignores the arguments of a test binary.
    fn script(folder: &Path, name: &str, body: &str) -> Binary {
        use std::os::unix::fs::PermissionsExt as _;
        let program = folder.join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Binary { name: name.to_owned(), program, package: folder.to_owned() }
    }

    #[test]
    fn every_binary_runs_and_failures_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let binaries = [
            script(folder, "a", "touch ran-a; echo 'test result: ok. 1 passed'"),
            script(folder, "b", "touch ran-b; exit 1"),
            script(folder, "c", "touch ran-c"),
        ];
        assert_eq!(run_all(&binaries), ["b"]);
        for name in ["ran-a", "ran-b", "ran-c"] {
            assert!(folder.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_binary_that_hangs_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let hangs = script(folder.path(), "hangs", "echo begun; exec sleep 600");
        let error = run_one(&hangs, Duration::from_millis(300)).unwrap_err().to_string();
        assert!(error.contains("did not end"), "{error}");
    }

    #[test]
    fn the_longest_binaries_run_first() {
        let mut names = ["schedules", "line", "e2e", "suite"];
        names.sort_by_key(|name| rank(name));
        assert_eq!(names, ["e2e", "line", "schedules", "suite"]);
    }
}
