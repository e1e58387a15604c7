//! The common parts of `cargo xtask` and the benchmark: cargo commands in the workspace, and
//! steps with their durations.

pub mod step;

use anyhow::{Context, Result, bail};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The workspace's root: the parent of this package's folder.
///
/// # Errors
/// If the package has no parent folder.
pub fn root() -> Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .context("xtask has no parent folder")
}

/// A cargo command in the workspace, run with the cargo that runs this program.
pub fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments);
    command
}

/// The stdout of a command. Its stderr stays visible.
///
/// # Errors
/// If it can't be started, fails, or prints something that is not text.
pub fn output(mut command: Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown} failed ({})", output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{shown} printed something that is not text"))
}

/// The target folder of the build.
///
/// # Errors
/// If `cargo metadata` fails.
pub fn target(root: &Path) -> Result<PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .other_options(vec!["--locked".to_owned()])
        .exec();
    Ok(metadata.context("cargo metadata failed")?.target_directory.into_std_path_buf())
}
