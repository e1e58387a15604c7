//! Development commands of the project: `cargo xtask ci | long | tidy | gen | advisories | scaffold
//! | bench | soak | matrix | chaos | cluster | fuzz`. Progress goes to stderr. The exit code is 0 if
//! everything passed.

mod advisories;
mod bench;
mod chaos;
mod ci;
mod cluster;
mod fuzz;
#[path = "gen/mod.rs"]
mod generate;
mod long;
mod scaffold;
mod step;
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
    /// What to run before a change is handed in: lints, generated files, advisories, tests.
    Ci,
    /// What CI runs after that: crash matrix, chaos, soak, cluster, canaries, fuzzing, a new
    /// connector.
    Long,
    /// A crash at every kill point, on every platform and database.
    Matrix,
    /// Feeds every reader of strangers' bytes with mutated ones, guided by coverage.
    Fuzz(fuzz::Fuzz),
    /// Compares the lock file with known advisories.
    Advisories(advisories::Advisories),
    /// Who imports whom, file heads, connector folders, machine paths, long files.
    Tidy,
    /// Writes the reference docs, the character schema and .env.example.
    Gen {
        /// Writes nothing; fails when a file differs from what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Makes a new connector in a copy of the checkout, and sees that it builds, is tidy and passes
    /// the suite.
    Scaffold,
    /// Measures the release binary end to end against loopback servers.
    Bench(bench::Bench),
    /// Kills the program at random instants under load: nothing may be lost, answered twice or out
    /// of order.
    Chaos(chaos::Chaos),
    /// Kills, pauses, adds and replaces processes that share a database, and measures how long
    /// rooms stay silent.
    Cluster(cluster::Cluster),
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
        Chore::Long => long::run(&root),
        Chore::Matrix => long::matrix(&root),
        Chore::Fuzz(fuzz) => fuzz::run(&root, fuzz),
        Chore::Advisories(advisories) => advisories::run(&root, advisories),
        Chore::Tidy => tidy::run(&root),
        Chore::Gen { check } => generate::run(&root, *check),
        Chore::Scaffold => scaffold::run(&root),
        Chore::Bench(bench) => bench::run(&root, bench),
        Chore::Chaos(chaos) => chaos::run(&root, chaos),
        Chore::Cluster(cluster) => cluster::run(&root, cluster),
        Chore::Soak(soak) => bench::soak::run(&root, soak),
    }
}

/// The workspace's root: the parent of this package's folder.
fn root() -> Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .context("xtask has no parent folder")
}

/// A cargo command in the workspace, run with the cargo that runs this program.
fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments);
    command
}

/// The stdout of a command. Its stderr stays visible.
fn output(mut command: Command) -> Result<String> {
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
