//! Flags that several commands share.

use clap::Args;
use std::path::PathBuf;

/// `--json`, for commands that read something.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Json {
    /// Print JSON with a versioned schema
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which characters a command is about.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Characters {
    /// A character file; repeat for several
    #[arg(short, long = "character", value_name = "FILE")]
    pub(crate) characters: Vec<PathBuf>,
}

/// `--fix`, for commands that find what they can repair.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Fix {
    /// Repair what can be repaired; asks before it changes anything elsewhere
    #[arg(long)]
    pub(crate) fix: bool,
    /// Say yes to every question: what --fix changes elsewhere, and checks that cost money
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Consent to what a command writes or removes.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Consent {
    /// Say yes to every question
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
