//! Runs the steps of a command: prints the name and duration of each, and stops at the first
//! failure.

use anyhow::{Context, Result, bail};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use crate::cargo;

/// Runs one step and prints its duration.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("--- {name}");
    let begun = Instant::now();
    let made = work().with_context(|| format!("{name} failed"))?;
    eprintln!("--- {name}: passed in {:.1} s", begun.elapsed().as_secs_f32());
    Ok(made)
}

/// Runs a command. An exit code other than 0 is an error.
pub fn succeed(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// True if `cargo <subcommand>` exists.
pub fn installed(root: &Path, subcommand: &str) -> bool {
    let mut command = cargo(root, &[subcommand, "--version"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
