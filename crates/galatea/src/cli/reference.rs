//! reference: what the generated documents are made of. Hidden: `cargo xtask gen` calls it.

use clap::{Args, ValueEnum};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode};

use crate::{catalogue, config, context::Context};

/// Print the declarations that the reference documents are generated from
#[derive(Debug, Clone, Args)]
pub(crate) struct Reference {
    /// Which
    topic: Topic,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Topic {
    /// Every setting, as JSON
    Env,
    /// Every error code, as JSON
    Errors,
    /// Every command, as Markdown
    Cli,
    /// The JSON Schema of a character file
    Schema,
}

impl Reference {
    /// Prints one.
    pub(crate) fn run(&self, context: &Context) -> ExitCode {
        let text = match self.topic {
            Topic::Env => {
                let groups: Vec<_> = config::groups().iter().map(|g| json!({ "title": g.title, "variables": g.variables })).collect();
                format!("{:#}", json!({ "groups": groups }))
            }
            Topic::Errors => format!("{:#}", json!({ "errors": catalogue::all().collect::<Vec<_>>() })),
            Topic::Cli => commands(),
            Topic::Schema => format!("{:#}", galatea_core::character::schema()),
        };
        context.output.raw(format!("{}\n", text.trim_end()).as_bytes());
        ExitCode::SUCCESS
    }
}

fn commands() -> String {
    let mut command = super::command();
    command.build();
    let mut text = "# Commands\n".to_owned();
    section(&command, 2, &mut text);
    text
}

fn section(command: &clap::Command, depth: usize, text: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.clone().render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(text, "\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(depth), help.join("\n").trim());
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        section(sub, (depth + 1).min(4), text);
    }
}
