//! `cargo xtask ci`: the checks to run before a change is submitted. The first failure ends it.
//!
//! Must finish within 15 minutes on two idle cores, including the build. Longer checks are in
//! `cargo xtask long`.

use anyhow::Result;
use std::{path::Path, time::Instant};

use crate::{
    advisories, cargo, generate,
    step::{installed, step, succeed},
    tidy,
};

/// Runs every step. If nextest is missing, `cargo test` replaces it. If cargo-deny is missing, its
/// step is skipped with a message.
pub(crate) fn run(root: &Path) -> Result<()> {
    let begun = Instant::now();
    let here = |arguments: &[&str]| succeed(cargo(root, arguments));
    let lint = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    let tests =
        ["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--", "--test-threads=5"];
    step("formatting", || here(&["fmt", "--all", "--", "--check"]))?;
    step("clippy", || here(&lint))?;
    step("tidy", || tidy::run(root))?;
    step("generated files", || generate::run(root, true))?;
    step("advisories", || advisories::run(root, &advisories::Advisories::default()))?;
    if installed(root, "nextest") {
        step("tests (nextest)", || here(&["nextest", "run", "--workspace", "--locked"]))?;
    } else {
        step("tests", || here(&tests))?;
    }
    step("examples in docs", || here(&["test", "--workspace", "--locked", "--doc"]))?;
    if installed(root, "deny") {
        let deny = ["deny", "--workspace", "--locked", "check", "bans", "licenses", "sources"];
        step("licences and sources", || here(&deny))?;
    } else {
        eprintln!("--- licences and sources: left out, cargo-deny is not installed");
    }
    eprintln!("--- everything passed in {:.0} s", begun.elapsed().as_secs_f32());
    Ok(())
}
