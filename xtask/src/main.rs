//! The project's own chores: `cargo xtask ci | tidy | gen | scaffold | bench | soak`. Talk goes to stderr; the exit code says whether all is well.

mod bench;
mod ci;
#[path = "gen/mod.rs"]
mod generate;
mod scaffold;
mod tidy;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own chores")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything CI checks, in its order.
    Ci,
    /// Who imports whom, file heads, connector folders, machine paths, long files.
    Tidy,
    /// Writes the reference docs, the character schema and .env.example.
    Gen {
        /// Writes nothing; fails when a file differs from what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Makes a new connector in a copy of the checkout, and sees that it builds, is tidy and passes the suite.
    Scaffold,
    /// Measures the release binary end to end against loopback servers.
    Bench(bench::Bench),
    /// Answers at an even pace for an hour, and looks whether memory grows.
    Soak(bench::soak::Soak),
}

fn main() -> ExitCode {
    match run(&Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &Chore) -> Result<()> {
    let root = root()?;
    match chore {
        Chore::Ci => ci::run(&root),
        Chore::Tidy => tidy::run(&root),
        Chore::Gen { check } => generate::run(&root, *check),
        Chore::Scaffold => scaffold::run(&root),
        Chore::Bench(bench) => bench::run(&root, bench),
        Chore::Soak(soak) => bench::soak::run(&root, soak),
    }
}

/// The workspace's folder: the parent of this package's.
fn root() -> Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).context("xtask has no parent folder")
}

/// A cargo command in the workspace, the cargo that runs this program.
fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments);
    command
}

/// What a command prints; its own complaints stay visible.
fn output(mut command: Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command.stderr(std::process::Stdio::inherit()).output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown} failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} printed something that is not text"))
}
