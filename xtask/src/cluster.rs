//! `cargo xtask cluster`: measures how long rooms stay unanswered while processes are killed,
//! paused, added and replaced. Uses the harness of the tests (`tests/tests/e2e/cluster/gaps.rs`),
//! with more rooms and the release binary.

use anyhow::{Result, bail};
use clap::Args;
use std::path::Path;

use xtask::{cargo, target};

#[derive(Args)]
pub(crate) struct Cluster {
    /// Rooms on both platforms together.
    #[arg(long, default_value_t = 40)]
    rooms: usize,
}

/// Runs the test and prints a table to stdout. Fails if a message was lost, answered twice or
/// answered out of order.
pub(crate) fn run(root: &Path, cluster: &Cluster) -> Result<()> {
    if !cargo(root, &["build", "--release", "--locked", "-p", "galatea"]).status()?.success() {
        bail!("the program could not be built");
    }
    let test = "cluster::gaps::rooms_are_silent_no_longer_than_a_lease";
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
            test,
            "--nocapture",
        ],
    );
    command
        .env("GALATEA_CLUSTER_ROOMS", cluster.rooms.to_string())
        .env("GALATEA_BIN", target(root)?.join("release/galatea"));
    if !command.status()?.success() {
        bail!("something was lost, answered twice or out of order; what was seen stands above");
    }
    Ok(())
}
