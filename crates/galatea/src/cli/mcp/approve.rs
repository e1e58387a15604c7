//! `galatea mcp approve`: shows a server and its tools to its owner, and asks.

use clap::Args;
use galatea_mcp::{
    Surroundings,
    config::{ServerConfig, Transport},
    probe,
};
use std::process::ExitCode;

use super::{
    found::{Named, find},
    look,
};
use crate::{
    context::Context,
    report::failure::{Failure, Result},
};

#[derive(Debug, Clone, Args)]
pub(super) struct Approve {
    #[command(flatten)]
    named: Named,
    /// Only this tool; repeat for several
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Say yes to every question
    #[arg(short, long)]
    yes: bool,
}

impl Approve {
    pub(super) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let found = find(&self.named.characters, context)?;
        let server = found.named(&self.named.name)?;
        approve(server, &found.around, &self.tools, self.yes, context).await
    }
}

/// Shows a server and its tools, asks, and approves. The command is asked about before it is started
/// for the first time.
pub(super) async fn approve(
    server: &ServerConfig,
    around: &Surroundings,
    only: &[String],
    yes: bool,
    context: &Context,
) -> Result<ExitCode> {
    let known = around.places.read(&server.key())?;
    if known.approval.identity != server.identity() {
        look::command(server, context);
        let question = match server.transport {
            Transport::Stdio { .. } => "Start this program?",
            Transport::Http { .. } => "Call this address?",
        };
        agreed(question, yes, context)?;
    }
    let probed = look::waiting(probe(server, around), context).await?;
    look::tools(server, &probed, &around.places, context)?;
    let missing: Vec<&String> =
        only.iter().filter(|name| !probed.listing.tools.iter().any(|t| t.name == **name)).collect();
    if let Some(name) = missing.first() {
        return Err(Failure::usage(
            format!("the server has no tool {name}"),
            "name one of those above",
        ));
    }
    agreed("Offer these tools to the agents, as they are?", yes, context)?;
    probed.approve(server, &around.places, (!only.is_empty()).then_some(only))?;
    context.output.say(format_args!(
        "✓ {} is approved. A running galatea takes it over within some seconds.",
        server.name
    ));
    Ok(ExitCode::SUCCESS)
}

/// Asks; anything but a yes ends the command.
fn agreed(question: &str, yes: bool, context: &Context) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !context.may_ask() {
        return Err(Failure::usage(
            format!("\"{question}\" needs an answer"),
            "run it in a terminal, or add --yes after you have read the list",
        ));
    }
    let agreed = cliclack::confirm(question).initial_value(false).interact().unwrap_or(false);
    if agreed { Ok(()) } else { Err(Failure::interrupted()) }
}
