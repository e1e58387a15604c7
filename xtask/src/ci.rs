//! `cargo xtask test | lint | ci`: the checks of a change. The first failure ends them.
//!
//! `test` must finish within 12 minutes on two idle cores, and CI within 25, the build included: it is what a newcomer
//! runs. `ci` is `test` and `lint`. Longer checks are in `cargo xtask long`.

use anyhow::Result;
use std::{path::Path, time::Instant};

use crate::{advisories, api, binaries, generate, seeds, tidy};
use xtask::{
    cargo,
    step::{installed, step, succeed},
    target,
};

/// `cargo xtask ci`: both.
pub(crate) fn run(root: &Path) -> Result<()> {
    test(root)?;
    lint(root)
}

/// `cargo xtask test`. If nextest is missing, [`binaries`] replaces it.
///
/// Everything is built with the features of the whole workspace. A build of one package would have
/// others, so its dependencies would be compiled twice.
pub(crate) fn test(root: &Path) -> Result<()> {
    let begun = Instant::now();
    let here = |arguments: &[&str]| succeed(cargo(root, arguments));
    step("structure", || tidy::run(root))?;
    step("public interface", || api::run(root, true))?;
    step("seeds", || seeds::run(root, true))?;
    if installed(root, "nextest") {
        step("tests (nextest)", || here(&["nextest", "run", "--workspace", "--locked"]))?;
    } else {
        binaries::run(root)?;
    }
    let built = target(root)?.join("debug").join("galatea");
    step("generated files", || generate::check(root, &built))?;
    step("examples in docs", || here(&["test", "--workspace", "--locked", "--doc"]))?;
    eprintln!("--- all tests passed in {:.0} s", begun.elapsed().as_secs_f32());
    Ok(())
}

/// True if clippy is cargo's compiler for the workspace, as in CI. It then lints whatever is built, and
/// one build serves tests and lints.
fn does_clippy_compile() -> bool {
    std::env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.ends_with("clippy-driver"))
}

/// `cargo xtask lint`. If cargo-deny is missing, its step is left out with a message.
pub(crate) fn lint(root: &Path) -> Result<()> {
    let here = |arguments: &[&str]| succeed(cargo(root, arguments));
    let clippy: &[&str] = if does_clippy_compile() {
        &["test", "--workspace", "--all-targets", "--locked", "--no-run"]
    } else {
        &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]
    };
    step("formatting", || here(&["fmt", "--all", "--", "--check"]))?;
    step("advisories", || advisories::run(root, &advisories::Advisories::default()))?;
    step("clippy", || here(clippy))?;
    if installed(root, "deny") {
        let deny = ["deny", "--workspace", "--locked", "check", "bans", "licenses", "sources"];
        step("licences and sources", || here(&deny))?;
    } else {
        eprintln!("--- licences and sources: left out, cargo-deny is not installed");
    }
    Ok(())
}
