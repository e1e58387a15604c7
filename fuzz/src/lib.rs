//! Fuzz targets: every parser that reads input from outside the process. A target must not panic,
//! hang or use unbounded memory, and it checks properties of the result.
//!
//! `cargo xtask fuzz` runs each target for a minute with coverage feedback on the stable toolchain,
//! starting from the files in `corpus/<target>/`. The test `corpus` runs the same files once in
//! every test run. After a finding is fixed, its input is added there.

#[cfg(test)]
mod corpus;
mod targets;

use anyhow::{Context, Result};

/// A parser under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the target and of its folder in `corpus/`.
    pub name: &'static str,
    /// Runs the target on one input; panics on a finding.
    pub run: fn(&[u8]),
}

/// All targets, in the order in which `cargo xtask fuzz` runs them.
pub fn targets() -> &'static [Target] {
    targets::ALL
}

/// The target named by `GALATEA_FUZZ_TARGET`.
///
/// # Errors
/// When the variable is missing or names no target; the message lists the targets.
pub fn chosen() -> Result<Target> {
    let names: Vec<_> = targets().iter().map(|target| target.name).collect();
    let known = || format!("set GALATEA_FUZZ_TARGET to one of: {}", names.join(", "));
    let name = std::env::var("GALATEA_FUZZ_TARGET").ok().with_context(known)?;
    targets().iter().copied().find(|target| target.name == name).with_context(known)
}
