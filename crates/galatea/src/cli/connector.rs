//! `galatea connector`: lists, checks and logs in to platforms, and creates new connectors.

mod login;
mod names;
mod new;
mod scaffold;

use clap::{Args, Subcommand};
use galatea_core::{Clock, Finding, Host, Severity, SystemClock};
use serde_json::json;
use std::{process::ExitCode, sync::Arc};

use crate::{
    cli::{
        flags::{Characters, Fix, Json},
        repairs::Repairs,
        status,
    },
    context::Context,
    report::{exit::Exit, failure::Result, findings, output::hang},
};
use galatea_host::{
    characters::personas::{self, Persona},
    look::{Color, Look},
    platforms::{Built, PLATFORMS, Taken, accounts},
    storage::data_dir::DataDir,
};

/// Platforms: which are on, and do they work
#[derive(Debug, Clone, Args)]
pub(crate) struct Connector {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// List the platforms of each agent, on or off and why
    Ls(List),
    /// Ask the platforms whether the configuration works
    Check(Check),
    /// Log in to a platform with a browser
    Login(login::Login),
    /// Make the crate of a new connector, in a checkout of Galatea's sources
    New(new::New),
}

#[derive(Debug, Clone, Args)]
struct List {
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Args)]
struct Check {
    /// Platform to ask, such as telegram; every configured one when absent
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    fix: Fix,
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

impl Connector {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        match &self.command {
            Command::Ls(list) => list.run(context).await,
            Command::Check(check) => check.run(context).await,
            Command::Login(login) => login.run(context).await,
            Command::New(new) => new.run(context),
        }
    }
}

/// One platform of one agent.
struct Entry {
    agent: String,
    source: String,
    title: String,
    /// Number of the agent's account, from 1.
    number: u8,
    /// A platform with invalid settings is listed with its error.
    built: galatea_core::Result<Built>,
}

impl Entry {
    /// For people: `Telegram of Ada`.
    fn of(&self) -> String {
        format!("{} of {}", self.title, self.agent)
    }
}

fn entries(personas: &[Persona], data_dir: &DataDir) -> Vec<Entry> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut taken = Taken::default();
    let mut entries = Vec::new();
    for persona in personas {
        let agent = persona.character.name.clone();
        let identity = persona.character.identity();
        let host = Host {
            agent: identity,
            agent_name: agent.clone(),
            data_dir: data_dir.path().to_owned(),
            clock: Arc::clone(&clock),
        };
        for platform in PLATFORMS {
            for account in accounts::of(platform, &persona.settings) {
                let built = platform.connector(&account, &host, &mut taken);
                let (title, number) = (account.title(platform), account.number);
                entries.push(Entry {
                    agent: agent.clone(),
                    source: platform.source.to_string(),
                    title,
                    number,
                    built,
                });
            }
        }
    }
    entries
}

fn configured(characters: &Characters, context: &Context) -> Result<(Vec<Entry>, DataDir)> {
    let configuration = context.configuration()?;
    let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
    let personas = personas::load(&characters.characters, configuration, &context.working_dir)?;
    Ok((entries(&personas, &data_dir), data_dir))
}

impl List {
    async fn run(&self, context: &Context) -> Result<ExitCode> {
        let (entries, data_dir) = configured(&self.characters, context)?;
        // A running process knows the current state. Without one, only the configuration is shown.
        let live = status::readiness(&data_dir).await.ok();
        let live = |entry: &Entry| {
            let agent = live.as_ref()?.agents.iter().find(|a| a.name == entry.agent)?;
            let mut there = agent.connectors.iter().filter(|c| c.source == entry.source);
            match &entry.built {
                Ok(Built::On(built)) => there
                    .clone()
                    .find(|c| c.account == built.info().account.0)
                    .or_else(|| there.next().filter(|_| entry.number == 1))
                    .cloned(),
                // The running process was started with another configuration.
                _ => there.next().filter(|_| entry.number == 1).cloned(),
            }
        };
        if self.json.json {
            let items: Vec<_> = entries
                .iter()
                .map(|e| {
                    json!({
                        "agent": e.agent, "source": e.source, "number": e.number, "on": matches!(e.built, Ok(Built::On(_))), "why": why(e), "running": live(e),
                    })
                })
                .collect();
            context.output.json("galatea.connector.ls/1", json!({ "connectors": items }));
            return Ok(ExitCode::SUCCESS);
        }
        let several = entries.iter().any(|e| e.agent != entries[0].agent);
        let style = context.output.style;
        let indent = if several { 31 } else { 18 };
        for entry in &entries {
            let state = match (&entry.built, live(entry)) {
                (_, Some(running)) => format!(
                    "{}  {}",
                    style.paint(Color::Green, &format!("{:<4}", running.state)),
                    hang(indent, &running.detail, style)
                ),
                (Err(error), None) => format!(
                    "{}  {}",
                    style.paint(Color::Red, "wrong"),
                    hang(indent, error.message(), style)
                ),
                (Ok(Built::On(_)), None) => {
                    format!("{}  not running", style.paint(Color::Green, "on  "))
                }
                (Ok(Built::Off(why)), None) => {
                    format!("{}  {}", style.paint(Color::Yellow, "off "), hang(indent, why, style))
                }
            };
            let whose = if several { format!("{:<12} ", entry.agent) } else { String::new() };
            context.output.data(format_args!(
                "{whose}{}  {state}",
                style.paint(Color::Cyan, &format!("{:<10}", entry.title))
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn why(entry: &Entry) -> Option<&str> {
    match &entry.built {
        Ok(Built::Off(why)) => Some(why),
        Ok(Built::On(_)) => None,
        Err(error) => Some(error.message()),
    }
}

impl Check {
    async fn run(&self, context: &Context) -> Result<ExitCode> {
        let (entries, data_dir) = configured(&self.characters, context)?;
        let wanted = self.name.as_ref().map(|name| name.to_lowercase());
        if let Some(wanted) = &wanted
            && !PLATFORMS.iter().any(|p| p.source.as_str() == wanted)
        {
            return Err(names::unknown(wanted).into());
        }
        let mut checked = Vec::new();
        for entry in entries.iter().filter(|e| wanted.as_ref().is_none_or(|w| e.source == *w)) {
            match &entry.built {
                Err(error) => checked.push((entry, vec![Finding::failure("connector", error)])),
                Ok(Built::On(_))
                    if entry.source == galatea_terminal::SOURCE.as_str()
                        && !data_dir.path().exists() =>
                {
                    let later = Finding::new(
                        Severity::Info,
                        "GAL-DATA-DIR",
                        "connector",
                        "its socket is made at the first start, and the data folder for it",
                    );
                    checked.push((entry, vec![later]));
                }
                Ok(Built::On(connector)) => {
                    let mut found = paid(connector.as_ref(), self.fix.yes, context).await;
                    if self.fix.fix {
                        found = Repairs { yes: self.fix.yes }
                            .offer(connector.as_ref(), &entry.of(), found, context)
                            .await?;
                    }
                    checked.push((entry, found));
                }
                // A platform that is off is reported only if it was asked for by name.
                Ok(Built::Off(why)) if wanted.is_some() => {
                    let off = Finding::new(
                        Severity::Error,
                        "GAL-CONNECTOR-OFF",
                        "connector",
                        format!("{} is off", entry.title),
                    )
                    .with_fix(why.clone());
                    checked.push((entry, vec![off]));
                }
                Ok(Built::Off(_)) => {}
            }
        }
        let failed = checked
            .iter()
            .flat_map(|(_, findings)| findings)
            .any(|f| f.severity == Severity::Error);
        if self.json.json {
            let items: Vec<_> =
                checked.iter().map(|(e, findings)| json!({ "agent": e.agent, "source": e.source, "number": e.number, "findings": findings })).collect();
            context.output.json("galatea.connector.check/1", json!({ "connectors": items }));
        } else {
            for (entry, findings) in &checked {
                let style = context.output.style;
                context.output.data(format_args!(
                    "{}\n{}",
                    style.bold(Color::Cyan, &entry.of()),
                    findings::render(findings, style).trim_end()
                ));
            }
        }
        Ok(if failed { Exit::Findings.into() } else { ExitCode::SUCCESS })
    }
}

/// Runs a check, after the person agreed to its cost.
async fn paid(
    connector: &dyn galatea_core::Connector,
    yes: bool,
    context: &Context,
) -> Vec<Finding> {
    let Some(cost) = connector.check_cost().filter(|_| !yes) else {
        return connector.check().await;
    };
    // A prompt that ends without an answer is not consent.
    let agreed = context.may_ask()
        && cliclack::confirm(format!("{cost} Continue?"))
            .initial_value(false)
            .interact()
            .unwrap_or(false);
    if agreed { connector.check().await } else { vec![unasked(&cost, &connector.info().source)] }
}

/// The finding for a check that was skipped because its cost was not confirmed.
pub(crate) fn unasked(cost: &str, source: &galatea_core::Source) -> Finding {
    Finding::new(
        Severity::Info,
        "GAL-CONNECTOR-PAID",
        "connector",
        format!("not asked whether it works. {cost}"),
    )
    .with_fix(format!("`galatea connector check {source} --yes` asks"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_platform_is_corrected() {
        assert_eq!(names::unknown("telegam").fix(), Some("did you mean telegram?"));
        assert!(names::unknown("irc").fix().unwrap().contains("terminal"));
    }
}
