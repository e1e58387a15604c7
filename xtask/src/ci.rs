//! `cargo xtask ci`: the steps of CI in order, the first failure ends it.

use anyhow::{Context, Result, bail};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use crate::{cargo, generate, scaffold, tidy};

/// Runs every step. Tools that are not installed are named: nextest has a substitute, cargo-deny is left out.
pub(crate) fn run(root: &Path) -> Result<()> {
    let begun = Instant::now();
    step("formatting", || succeed(cargo(root, &["fmt", "--all", "--", "--check"])))?;
    step("clippy", || succeed(cargo(root, &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])))?;
    step("tidy", || tidy::run(root))?;
    step("generated files", || generate::run(root, true))?;
    if installed(root, "nextest") {
        step("tests (nextest)", || succeed(cargo(root, &["nextest", "run", "--workspace", "--locked"])))?;
    } else {
        step("tests", || succeed(cargo(root, &["test", "--workspace", "--locked", "--lib", "--bins", "--tests"])))?;
    }
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
