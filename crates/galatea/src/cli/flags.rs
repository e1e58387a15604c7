//! Flags that several commands share.

use clap::Args;
use std::path::PathBuf;

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Globals {
    /// Only data and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// More detail; twice for even more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Never ask; fail with the flag that answers the question
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Read this file in place of ./.env
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// Read this file in place of ./galatea.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Write log lines as JSON
    #[arg(long, global = true)]
    pub(crate) log_json: bool,
}

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
