//! Fuzz targets: every reader of bytes that strangers write. A target must not panic, hang or grow
//! without bound, and checks what must hold of the result.
//!
//! `cargo xtask fuzz` runs each target for a minute with coverage feedback on the stable toolchain,
//! beginning with the files in `corpus/<target>/`. The test `corpus` runs the same files once in
//! every test run. A finding is added there after it was mended.

mod targets;

use anyhow::{Context, Result};

/// One reader under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `corpus/`.
    pub name: &'static str,
    /// Runs it on one input; panics on a finding.
    pub run: fn(&[u8]),
}

/// All targets, in the order CI runs them.
pub fn targets() -> &'static [Target] {
    targets::ALL
}

/// The target that `GALATEA_FUZZ_TARGET` names.
///
/// # Errors
/// When the variable is missing or names no target; the message lists them.
pub fn chosen() -> Result<Target> {
    let names: Vec<_> = targets().iter().map(|target| target.name).collect();
    let known = || format!("set GALATEA_FUZZ_TARGET to one of: {}", names.join(", "));
    let name = std::env::var("GALATEA_FUZZ_TARGET").ok().with_context(known)?;
    targets().iter().copied().find(|target| target.name == name).with_context(known)
}
