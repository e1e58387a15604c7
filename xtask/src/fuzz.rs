//! `cargo xtask fuzz`: runs the fuzz targets with coverage feedback on the stable toolchain.
//!
//! Instruments with LLVM's `sancov-module`, switched on by stable flags, and uses libFuzzer as
//! driver. The build has its own target folder, because the flags apply to every crate in it.

use anyhow::{Context, Result, bail};
use clap::Args;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use xtask::{cargo, output, target};

#[derive(Args)]
pub(crate) struct Fuzz {
    /// Only this target; all when none is given
    target: Option<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Targets that run at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

/// Compiler flags that libFuzzer needs: counters for every edge, and compared values.
const FLAGS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions=on",
];
/// Timeout for one input, in seconds. Readers need milliseconds.
const TIMEOUT: u32 = 10;
/// Memory limit in MiB. An input that exceeds it is a finding.
const MEMORY: u32 = 1_024;
/// Length limit of an input, in bytes.
const LONGEST: u32 = 65_536;

/// Runs the search. Fails if a target has a finding.
pub(crate) fn run(root: &Path, fuzz: &Fuzz) -> Result<()> {
    let findings = search(root, fuzz)?;
    if findings.is_empty() { Ok(()) } else { bail!("findings in {}", findings.join(", ")) }
}

/// Builds the fuzzer and runs the targets. Prints the paths of findings, and returns the targets
/// that have one.
fn search(root: &Path, fuzz: &Fuzz) -> Result<Vec<String>> {
    let folder = target(root)?.join("fuzz");
    let program = build(root, &folder)?;
    let names = names(root, fuzz.target.as_deref())?;
    let mut findings = Vec::new();
    for group in names.chunks(fuzz.jobs.max(1)) {
        let started: Vec<_> = group
            .iter()
            .map(|name| start(root, &folder, &program, name, fuzz))
            .collect::<Result<_>>()?;
        for (name, child) in group.iter().zip(started) {
            let ended = child.wait_with_output().context("a fuzzer was lost")?;
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            let last =
                said.lines().rev().find(|line| line.starts_with("Done ") || line.contains("DONE"));
            eprintln!("--- {name}: {}", last.unwrap_or("ended early"));
            if !ended.status.success() {
                eprintln!("{said}");
                findings.push(name.clone());
            }
        }
    }
    if !findings.is_empty() {
        eprintln!("the inputs lie in {}", folder.join("findings").display());
    }
    Ok(findings)
}

fn build(root: &Path, folder: &Path) -> Result<PathBuf> {
    let host = output(cargo(root, &["-vV"]))?;
    let host =
        host.lines().find_map(|line| line.strip_prefix("host: ")).context("cargo names no host")?;
    // With `--target`, build scripts and macros are compiled without the flags.
    let arguments =
        ["build", "--locked", "--package", "galatea-fuzz", "--target", host, "--profile", "fuzz"];
    let mut command = cargo(root, &arguments);
    command.env("CARGO_TARGET_DIR", folder).env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"));
    if !command.status()?.success() {
        bail!("the fuzzer was not built");
    }
    Ok(folder.join(host).join("fuzz/galatea-fuzz"))
}

/// Names of the targets: the folders of the corpus. A test of the fuzz crate checks that both lists
/// are equal.
fn names(root: &Path, only: Option<&str>) -> Result<Vec<String>> {
    let corpus = root.join("fuzz/corpus");
    let mut names = Vec::new();
    for entry in fs::read_dir(&corpus).context("there is no fuzz/corpus")? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    match only {
        None => Ok(names),
        Some(name) if names.iter().any(|known| known == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("there is no target {name}; there are {}", names.join(", ")),
    }
}

fn start(root: &Path, folder: &Path, program: &Path, name: &str, fuzz: &Fuzz) -> Result<Child> {
    let (learnt, findings) = (folder.join("learnt").join(name), folder.join("findings"));
    fs::create_dir_all(&learnt)?;
    fs::create_dir_all(&findings)?;
    let mut command = Command::new(program);
    command.env("GALATEA_FUZZ_TARGET", name).current_dir(root);
    command.arg(format!("-max_total_time={}", fuzz.seconds)).arg(format!("-timeout={TIMEOUT}"));
    command.arg(format!("-rss_limit_mb={MEMORY}")).arg(format!("-max_len={LONGEST}"));
    command
        .arg(format!("-artifact_prefix={}/{name}-", findings.display()))
        .arg("-print_final_stats=0");
    // libFuzzer writes new inputs to the first folder and only reads the fixed corpus.
    command.arg(&learnt).arg(root.join("fuzz/corpus").join(name));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().with_context(|| format!("{} cannot be started", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_or_all_are_run() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b", "a"] {
            fs::create_dir_all(root.path().join("fuzz/corpus").join(name)).unwrap();
        }
        assert_eq!(names(root.path(), None).unwrap(), ["a", "b"]);
        assert_eq!(names(root.path(), Some("b")).unwrap(), ["b"]);
        let error = names(root.path(), Some("c")).unwrap_err().to_string();
        assert_eq!(error, "there is no target c; there are a, b");
    }
}
