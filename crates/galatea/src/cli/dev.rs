//! `galatea dev`: runs the agents and follows their character files.

use clap::Args;
use galatea_host::{
    agents::{boot::Booted, follow::Followed},
    characters::personas,
    config::Configuration,
};
use std::{path::Path, process::ExitCode};

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

/// Follows the files until it is dropped.
pub(super) async fn follow(booted: &Booted, configuration: &Configuration, context: &Context) {
    let read = |file: &Path| personas::one(file, configuration, &context.working_dir);
    let told = |name: &str, file: &Path, followed: Followed| {
        let file = file.display();
        match followed {
            Followed::Applied => {
                context
                    .output
                    .say(format_args!("{file} changed: {name} follows it from the next turn on."));
            }
            Followed::Restarted => {
                context.output.say(format_args!("{file} changed: {name} was made anew."));
            }
            Followed::Refused(faults) => {
                for report in faults.reports() {
                    context.output.report(&report);
                }
                context.output.say(format_args!("{name} goes on as it was."));
            }
        }
    };
    booted.follow_files(read, told).await;
}
