//! Follows the character files of the agents, for `galatea dev`.

use galatea_host::{
    agents::{boot::Booted, follow::Followed},
    characters::personas,
    config::Configuration,
};
use std::path::Path;

use crate::context::Context;

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
