//! `cargo xtask clients` and `cargo xtask demo`: checks of the clients, and a Galatea with demo data. Both
//! are scripts for Node in `clients`: the checks are those of the clients' own tools.

use anyhow::{Result, ensure};
use clap::Args;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

use xtask::{cargo, step::succeed, target};

/// Arguments of `cargo xtask demo`.
#[derive(Args)]
pub(crate) struct Demo {
    /// A folder that is filled and kept; without one a temporary folder is removed at the end.
    folder: Option<PathBuf>,
}

/// Builds the program and starts it with demo data until Ctrl-C: a persona, a made-up Telegram and a
/// made-up model on this machine.
///
/// # Errors
/// Failures of the build and of the script; no Node.
pub(crate) fn demo(root: &Path, demo: &Demo) -> Result<()> {
    ensure!(
        is_there("node"),
        "the demo is a script for Node (20 or newer), which is not installed"
    );
    succeed(cargo(root, &["build", "-p", "galatea", "--locked"]))?;
    let mut command = Command::new("node");
    command.arg(root.join("clients/scripts/demo.mjs")).args(&demo.folder);
    command.env("GALATEA_BIN", program(root)?);
    succeed(command)
}

/// Runs `clients/check.sh`. Where npm is missing the script says so and passes.
///
/// # Errors
/// The first check that fails.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut command = Command::new("sh");
    command.arg(root.join("clients/check.sh")).env("GALATEA_BIN", program(root)?);
    succeed(command)
}

/// Path of the debug build.
fn program(root: &Path) -> Result<PathBuf> {
    Ok(target(root)?.join("debug").join(format!("galatea{}", std::env::consts::EXE_SUFFIX)))
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
