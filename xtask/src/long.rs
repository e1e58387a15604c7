//! `cargo xtask long`: the checks CI runs after `test` and `lint`: the crash matrix, a hundred random
//! kills, and processes of a cluster that are killed, paused and replaced. `matrix` and `canaries`
//! run by their own names, too.

use anyhow::Result;
use clap::Args;
use std::{path::Path, process::Command, time::Instant};

use xtask::{
    cargo,
    step::{step, succeed},
};

/// The end-to-end tests, with the features of the whole workspace so that nothing is rebuilt.
const E2E: [&str; 5] = ["test", "--workspace", "--locked", "--test", "e2e"];
/// Number of kills in each of the four quarters of chaos, and the variable that sets another.
const KILLS: (&str, &str) = ("GALATEA_CHAOS_KILLS", "25");

/// Searches from every place for what other places hold.
#[derive(Args)]
pub(crate) struct Canaries {
    /// Searches in SQLite. `cargo xtask test` makes 1,500; 100,000 take seven minutes of processor
    /// time.
    #[arg(long, default_value_t = 100_000)]
    queries: u32,
}

/// Runs every step. The first failure ends it.
pub(crate) fn run(root: &Path) -> Result<()> {
    let begun = Instant::now();
    step("crash matrix", || matrix(root))?;
    step("chaos", || {
        let mut command = ignored(root, "chaos::", 4);
        if std::env::var_os(KILLS.0).is_none() {
            command.env(KILLS.0, KILLS.1);
        }
        succeed(command)
    })?;
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

/// `cargo xtask hijacked`: what `test` makes a fifth of.
pub(crate) fn hijacked(root: &Path) -> Result<()> {
    let mut command = cargo(root, &["test", "--workspace", "--locked", "--test", "line", "--"]);
    command.args(["--nocapture", "hijacked"]).env("GALATEA_HIJACKED", "1");
    step("hijacked models", || succeed(command))
}

/// `cargo xtask canaries`: many searches, and whether the levers of a search are near the best.
pub(crate) fn canaries(root: &Path, canaries: &Canaries) -> Result<()> {
    step("canaries", || {
        let mut command = cargo(root, &["test", "--workspace", "--locked", "--test", "line", "--"]);
        command.args(["--nocapture", "--exact"]);
        command.arg("memory::canaries::no_search_finds_what_belongs_to_another_place");
        command.env("GALATEA_CANARY_QUERIES", canaries.queries.to_string());
        succeed(command)
    })?;
    step("levers of recall", || {
        let mut command = cargo(root, &["test", "--workspace", "--locked", "--lib", "--"]);
        command.args(["--ignored", "--exact", "tests::recall::usual_levers_are_near_the_best"]);
        succeed(command)
    })
}

/// Runs the ignored tests whose names start with `names`, so many at once.
fn ignored(root: &Path, names: &str, at_once: usize) -> Command {
    let mut command = cargo(root, &E2E);
    command
        .args(["--", "--ignored", "--nocapture", names])
        .arg(format!("--test-threads={at_once}"));
    command
}
