//! `cargo xtask chaos`: the long run of random `kill -9` under load. Uses the harness of the
//! end-to-end tests (`tests/tests/e2e/chaos`), one quarter of it with more kills.

use anyhow::{Result, bail};
use clap::Args;
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    path::Path,
};

use xtask::cargo;

#[derive(Args)]
pub(crate) struct Chaos {
    /// Number of kills.
    #[arg(long, default_value_t = 1_000)]
    kills: u32,
    /// Repeats the choices of a run that printed this; random when none is given.
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the test. Its figures go to stderr. Fails if a message was lost, answered twice or answered
/// out of order.
pub(crate) fn run(root: &Path, chaos: &Chaos) -> Result<()> {
    let seed = chaos.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    // With the features of the whole workspace, as in CI. Otherwise half of the crates would be
    // rebuilt.
    let mut command = cargo(
        root,
        &[
            "test",
            "--workspace",
            "--locked",
            "--test",
            "e2e",
            "--",
            "--ignored",
            "--exact",
            "chaos::kills_with_the_seed",
            "--nocapture",
        ],
    );
    command
        .env("GALATEA_CHAOS_KILLS", chaos.kills.to_string())
        .env("GALATEA_CHAOS_SEED", seed.to_string());
    if !command.status()?.success() {
        bail!(
            "something was lost, answered twice or out of order; the seed and the faults stand above"
        );
    }
    Ok(())
}
