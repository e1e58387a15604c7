//! `cargo xtask ci`: the steps of CI in order, the first failure ends it.

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Instant,
};

use crate::{bench, cargo, generate, scaffold, tidy};

/// Runs every step. Tools that are not installed are named: nextest has a substitute, cargo-deny is left out.
pub(crate) fn run(root: &Path) -> Result<()> {
    let begun = Instant::now();
    step("formatting", || succeed(cargo(root, &["fmt", "--all", "--", "--check"])))?;
    step("clippy", || succeed(cargo(root, &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])))?;
    step("tidy", || tidy::run(root))?;
    step("generated files", || generate::run(root, true))?;
    let soak = soak(root)?;
    if installed(root, "nextest") {
        step("tests (nextest)", || succeed(cargo(root, &["nextest", "run", "--workspace", "--locked"])))?;
    } else {
        step("tests", || succeed(cargo(root, &["test", "--workspace", "--locked", "--lib", "--bins", "--tests"])))?;
    }
    step("ten minutes of answering, beside the tests", || soak.finish())?;
    step("examples in docs", || succeed(cargo(root, &["test", "--workspace", "--locked", "--doc"])))?;
    step("a new connector", || scaffold::run(root))?;
    if installed(root, "deny") {
        // Advisories need a database from the network, which a closed CI cannot fetch; run `cargo deny check` by hand.
        step("licences and sources", || succeed(cargo(root, &["deny", "--workspace", "--locked", "check", "bans", "licenses", "sources"])))?;
    } else {
        eprintln!("--- licences and sources: left out, cargo-deny is not installed");
    }
    eprintln!("--- everything passed in {:.0} s", begun.elapsed().as_secs_f32());
    Ok(())
}

/// Begins to answer at an even pace, on a program of its own, while the tests run.
fn soak(root: &Path) -> Result<Beside> {
    // Built as the tests are, so that nothing is compiled twice.
    succeed(cargo(root, &["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--no-run"]))?;
    let programs = bench::target(root)?.join("debug");
    let copy = programs.join("galatea-soak");
    fs::copy(programs.join("galatea"), &copy).context("the program was not built")?;
    let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
    command.current_dir(root).args(["soak", "--minutes", "10", "--pace", "5", "--binary"]).arg(copy);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(Beside(Some(command.spawn().context("the soak could not be started")?)))
}

/// A process that runs beside the other steps, and ends with them.
struct Beside(Option<Child>);

impl Beside {
    fn finish(mut self) -> Result<()> {
        let child = self.0.take().context("it was finished before")?;
        let output = child.wait_with_output().context("it was lost")?;
        eprint!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        if output.status.success() { Ok(()) } else { bail!("it ended with {}", output.status) }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            if let Ok(id) = i32::try_from(child.id()) {
                let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
            }
            let _ = child.wait();
        }
    }
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("--- {name}");
    let begun = Instant::now();
    work().with_context(|| format!("{name} failed"))?;
    eprintln!("--- {name}: passed in {:.1} s", begun.elapsed().as_secs_f32());
    Ok(())
}

fn succeed(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Whether `cargo <subcommand>` exists.
fn installed(root: &Path, subcommand: &str) -> bool {
    cargo(root, &[subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}
