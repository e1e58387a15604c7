//! `cargo xtask long`: the checks CI runs after `test` and `lint`. The crash matrix, 300 random
//! kills with a soak beside them, processes of a cluster that are killed, paused and replaced,
//! 15,000 searches for canaries, ten seconds of fuzzing for each parser of external input, and a new
//! connector in a copy of the checkout.

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::{self, File},
    io::{Read as _, Seek as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};

use crate::scaffold;
use xtask::{
    cargo,
    step::{step, succeed},
    target,
};

/// The end-to-end tests, with the features of the whole workspace so that nothing is rebuilt.
const E2E: [&str; 5] = ["test", "--workspace", "--locked", "--test", "e2e"];
/// Searches for canaries: `cargo xtask test` makes 1,500. 100,000, as before a release, take seven
/// minutes of processor time: `GALATEA_CANARY_QUERIES=100000 cargo test --workspace --test line canaries`.
const CANARY_QUERIES: &str = "15000";
/// Seconds of fuzzing for each target. `cargo xtask fuzz` takes a minute for each, with which CI would
/// need more than its hour.
const FUZZING: &str = "10";

/// Runs every step. The first failure ends it.
pub(crate) fn run(root: &Path) -> Result<()> {
    let begun = Instant::now();
    let soak = soak(root)?;
    step("crash matrix", || matrix(root))?;
    step("chaos", || succeed(ignored(root, "chaos::", 4)))?;
    // Not beside chaos: a message that ten runs in a row had no time to answer is given up.
    let fuzz = fuzz(root)?;
    step("soak, beside the matrix and chaos", || soak.finish())?;
    step("canaries", || succeed(canaries(root)))?;
    step("levers of recall", || succeed(levers(root)))?;
    step("a new connector", || scaffold::run(root))?;
    step("fuzzing, beside the steps since chaos", || fuzz.finish())?;
    // Measures gaps, so nothing runs beside it.
    step("cluster, with four rooms", || succeed(ignored(root, "cluster::", 4)))?;
    eprintln!("--- everything passed in {:.0} s", begun.elapsed().as_secs_f32());
    Ok(())
}

/// `cargo xtask matrix`: a crash at every kill point, on every platform and database.
pub(crate) fn matrix(root: &Path) -> Result<()> {
    // Each test has eight cells at once. With more tests a PostgreSQL on a slow disk no longer
    // answers within the program's five seconds.
    succeed(ignored(root, "matrix::", 2))
}

/// Runs the ignored tests whose names start with `names`, so many at once.
fn ignored(root: &Path, names: &str, at_once: usize) -> Command {
    let mut command = cargo(root, &E2E);
    command
        .args(["--", "--ignored", "--nocapture", names])
        .arg(format!("--test-threads={at_once}"));
    command
}

/// Searches from every place for what other places hold.
fn canaries(root: &Path) -> Command {
    let mut command = cargo(root, &["test", "--workspace", "--locked", "--test", "line", "--"]);
    command.args(["--nocapture", "--exact"]);
    command.arg("memory::canaries::no_search_finds_what_belongs_to_another_place");
    command.env("GALATEA_CANARY_QUERIES", CANARY_QUERIES);
    command
}

/// Whether the levers of a search are still near the best ones.
fn levers(root: &Path) -> Command {
    let mut command = cargo(root, &["test", "--workspace", "--locked", "--lib", "--"]);
    command.args(["--ignored", "--exact", "tests::recall::usual_levers_are_near_the_best"]);
    command
}

/// Starts a soak with a copy of the debug build, which runs beside other steps.
fn soak(root: &Path) -> Result<Beside> {
    let mut build = cargo(root, &E2E);
    // Its test is what builds the benchmark with the features of the whole workspace.
    build.args(["--test", "help", "--no-run"]);
    succeed(build)?;
    let programs = target(root)?.join("debug");
    let copy = programs.join("galatea-soak");
    fs::copy(programs.join("galatea"), &copy).context("the program was not built")?;
    let mut command = Command::new(programs.join("galatea-bench"));
    command.current_dir(root).args([
        "soak",
        "--minutes",
        "15",
        "--answers",
        "9000",
        "--pace",
        "30",
    ]);
    command.arg("--binary").arg(copy);
    beside(command)
}

/// Starts the fuzzing of each target, with a low priority: the other steps go first.
/// Findings are printed and fail nothing: a search finds faults by chance, possibly old ones. The
/// fixed corpus is a test and does fail.
fn fuzz(root: &Path) -> Result<Beside> {
    let mut command = Command::new("nice");
    command.current_dir(root).args(["-n", "15"]).arg(itself()?);
    command.args(["fuzz", "--warn", "--seconds", FUZZING]);
    beside(command)
}

fn itself() -> Result<PathBuf> {
    std::env::current_exe().context("this program has no path")
}

/// Starts a command. Its output goes to files: a full pipe would stop it.
fn beside(mut command: Command) -> Result<Beside> {
    let (output, errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(errors.try_clone()?);
    let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    Ok(Beside { child: Some(child), said: [errors, output] })
}

/// A process that runs beside the other steps. Stopped with SIGTERM when dropped.
struct Beside {
    child: Option<Child>,
    said: [File; 2],
}

impl Beside {
    fn finish(mut self) -> Result<()> {
        let mut child = self.child.take().context("it was finished before")?;
        let status = child.wait().context("its end was lost")?;
        for said in &mut self.said {
            let mut bytes = Vec::new();
            said.rewind().and_then(|()| said.read_to_end(&mut bytes)).context("its output")?;
            eprint!("{}", String::from_utf8_lossy(&bytes));
        }
        if status.success() { Ok(()) } else { bail!("it ended with {status}") }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            if let Ok(id) = i32::try_from(child.id()) {
                let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
            }
            let _ = child.wait();
        }
    }
}
