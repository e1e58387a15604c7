//! `galatea dev`: runs the agents and follows their character files.

use clap::Args;
use std::process::ExitCode;

use super::start::Start;
use crate::{context::Context, report::failure::Result};

/// Run the agents; a changed character file applies within a second
///
/// As `galatea start`, for those who write a character. A change applies from the next turn on, and no
/// message is lost. Where models, connectors or documents change, the agent is made anew. A file that
/// cannot be read changes nothing; the fault is shown.
#[derive(Debug, Clone, Args)]
#[command(before_help = "Examples:\n  galatea dev --character characters/helper.json")]
pub(crate) struct Dev {
    #[command(flatten)]
    start: Start,
}

impl Dev {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        self.start.clone().following().run(context).await
    }
}
