//! `cargo xtask bench | soak`: runs the package `galatea-bench`. It is a package of its own because
//! it needs the loopback servers, which the other chores would otherwise wait for.

use anyhow::Result;
use std::{ffi::OsString, path::Path};

use xtask::{cargo, step::succeed};

/// Arguments of the benchmark: `cargo xtask bench --help` lists it.
#[derive(Debug, Clone, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// Handed to the benchmark
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Builds the benchmark with optimisation, because slow servers would make the program look slow,
/// and runs it.
pub(crate) fn run(root: &Path, chore: &str, arguments: &Arguments) -> Result<()> {
    let run =
        ["run", "--quiet", "--release", "--locked", "--package", "galatea-bench", "--", chore];
    let mut command = cargo(root, &run);
    command.args(&arguments.arguments).current_dir(std::env::current_dir()?);
    succeed(command)
}
