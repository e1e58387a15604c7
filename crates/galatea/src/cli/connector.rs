//! connector: which platforms each agent is on, and whether their configuration works.

mod login;

use clap::{Args, Subcommand};
use galatea_core::{Clock, Error, Finding, Host, Severity, SystemClock};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode, sync::Arc};

use crate::{
    cli::{
        flags::{Characters, Json},
        status,
    },
    connectors::{Built, PLATFORMS, Taken},
    context::Context,
    data_dir::DataDir,
    exit::Exit,
    failure::Result,
    output::{Color, Style},
    personas::{self, Persona},
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
    /// Ask platforms that charge for it, too, without asking first
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

impl Connector {
    /// Runs the subcommand.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        match &self.command {
            Command::Ls(list) => list.run(context).await,
            Command::Check(check) => check.run(context).await,
            Command::Login(login) => login.run(context).await,
        }
    }
}

/// One platform of one agent.
struct Entry {
    agent: String,
    source: String,
    title: &'static str,
    built: Built,
}

fn entries(personas: &[Persona], data_dir: &DataDir) -> Result<Vec<Entry>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut taken = Taken::default();
    let mut entries = Vec::new();
    for persona in personas {
        let agent = persona.character.name.clone();
        let identity = persona.character.identity();
        let host = Host { agent: identity, agent_name: agent.clone(), data_dir: data_dir.path().to_owned(), clock: Arc::clone(&clock) };
        for platform in PLATFORMS {
            let built = platform.connector(&persona.settings, &host, &mut taken)?;
            entries.push(Entry { agent: agent.clone(), source: platform.source.to_string(), title: platform.title, built });
        }
    }
    Ok(entries)
}

fn configured(characters: &Characters, context: &Context) -> Result<(Vec<Entry>, DataDir)> {
    let configuration = context.configuration()?;
    let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
    let personas = personas::load(&characters.characters, configuration, &context.working_dir)?;
    Ok((entries(&personas, &data_dir)?, data_dir))
}

impl List {
    async fn run(&self, context: &Context) -> Result<ExitCode> {
        let (entries, data_dir) = configured(&self.characters, context)?;
        // A process that is running knows more; without one, the configuration is what there is.
        let live = status::readiness(&data_dir).await.ok();
        let live = |entry: &Entry| {
            let agent = live.as_ref()?.agents.iter().find(|a| a.name == entry.agent)?;
            agent.connectors.iter().find(|c| c.source == entry.source).cloned()
        };
        if self.json.json {
            let items: Vec<_> = entries
                .iter()
                .map(|e| {
                    json!({
                        "agent": e.agent, "source": e.source, "on": matches!(e.built, Built::On(_)), "why": why(e), "running": live(e),
                    })
                })
                .collect();
            context.output.json("galatea.connector.ls/1", json!({ "connectors": items }));
            return Ok(ExitCode::SUCCESS);
        }
        let several = entries.iter().any(|e| e.agent != entries[0].agent);
        let style = context.output.style;
        for entry in &entries {
            let state = match (&entry.built, live(entry)) {
                (_, Some(running)) => format!("{}  {}", style.paint(Color::Green, &format!("{:<4}", running.state)), running.detail),
                (Built::On(_), None) => format!("{}  not running", style.paint(Color::Green, "on  ")),
                (Built::Off(why), None) => format!("{}  {why}", style.paint(Color::Yellow, "off ")),
            };
            let whose = if several { format!("{:<12} ", entry.agent) } else { String::new() };
            context.output.data(format_args!("{whose}{}  {state}", style.paint(Color::Cyan, &format!("{:<9}", entry.title))));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn why(entry: &Entry) -> Option<&str> {
    match &entry.built {
        Built::Off(why) => Some(why),
        Built::On(_) => None,
    }
}

impl Check {
    async fn run(&self, context: &Context) -> Result<ExitCode> {
        let (entries, _) = configured(&self.characters, context)?;
        let wanted = self.name.as_ref().map(|name| name.to_lowercase());
        if let Some(wanted) = &wanted
            && !PLATFORMS.iter().any(|p| p.source.as_str() == wanted)
        {
            return Err(unknown(wanted).into());
        }
        let mut checked = Vec::new();
        for entry in entries.iter().filter(|e| wanted.as_ref().is_none_or(|w| e.source == *w)) {
            match &entry.built {
                Built::On(connector) => checked.push((entry, paid(connector.as_ref(), self.yes, context).await)),
                // Only what was asked for by name is worth a word when it is off.
                Built::Off(why) if wanted.is_some() => {
                    let off = Finding::new(Severity::Error, "GAL-CONNECTOR-OFF", "connector", format!("{} is off", entry.title)).with_fix(why.clone());
                    checked.push((entry, vec![off]));
                }
                Built::Off(_) => {}
            }
        }
        let failed = checked.iter().flat_map(|(_, findings)| findings).any(|f| f.severity == Severity::Error);
        if self.json.json {
            let items: Vec<_> = checked.iter().map(|(e, findings)| json!({ "agent": e.agent, "source": e.source, "findings": findings })).collect();
            context.output.json("galatea.connector.check/1", json!({ "connectors": items }));
        } else {
            for (entry, findings) in &checked {
                context.output.data(render(&format!("{} of {}", entry.title, entry.agent), findings, context.output.style).trim_end());
            }
        }
        Ok(if failed { Exit::Findings.into() } else { ExitCode::SUCCESS })
    }
}

/// A check, after a person agreed to what it costs.
async fn paid(connector: &dyn galatea_core::Connector, yes: bool, context: &Context) -> Vec<Finding> {
    let Some(cost) = connector.check_cost().filter(|_| !yes) else { return connector.check().await };
    // A prompt that ends without an answer is no consent.
    let agreed = context.may_ask() && cliclack::confirm(format!("{cost} Continue?")).initial_value(false).interact().unwrap_or(false);
    if agreed { connector.check().await } else { vec![unasked(&cost, &connector.info().source)] }
}

/// What stands in place of a check that nobody agreed to pay.
pub(super) fn unasked(cost: &str, source: &galatea_core::Source) -> Finding {
    Finding::new(Severity::Info, "GAL-CONNECTOR-PAID", "connector", format!("not asked whether it works. {cost}"))
        .with_fix(format!("`galatea connector check {source} --yes` asks"))
}

fn unknown(name: &str) -> Error {
    let known: Vec<_> = PLATFORMS.iter().map(|p| p.source.as_str()).collect();
    let near = known.iter().copied().min_by_key(|k| strsim::damerau_levenshtein(k, name)).filter(|k| strsim::damerau_levenshtein(k, name) <= 2);
    let error = Error::not_found(format!("there is no platform named {name}")).with_code("GAL-CONNECTOR-NAME");
    match near {
        Some(near) => error.with_fix(format!("did you mean {near}?")),
        None => error.with_fix(format!("choose one of: {}", known.join(", "))),
    }
}

fn render(title: &str, findings: &[Finding], style: Style) -> String {
    let mut text = format!("{}\n", style.bold(Color::Cyan, title));
    for finding in findings {
        let (mark, color) = match finding.severity {
            Severity::Ok => ("✓", Color::Green),
            Severity::Info => ("·", Color::Cyan),
            Severity::Warning => ("!", Color::Yellow),
            Severity::Error => ("✗", Color::Red),
        };
        let code = if finding.severity >= Severity::Warning { format!("  {}", finding.id) } else { String::new() };
        let _ = writeln!(text, "  {} {}{code}", style.paint(color, mark), finding.message);
        for (label, line) in [("cause", &finding.cause), ("where", &finding.origin), ("fix", &finding.fix)] {
            if let Some(line) = line {
                let _ = writeln!(text, "    {:<6} {line}", format!("{label}:"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_come_with_their_next_action() {
        let findings = [
            Finding::ok("GAL-TG-OK", "connector", "@acme_bot"),
            Finding::new(Severity::Error, "GAL-TG-WEBHOOK", "connector", "a webhook owns this bot").with_cause("getWebhookInfo").with_fix("remove it"),
        ];
        insta::assert_snapshot!(render("Telegram of Ada", &findings, Style::plain()), @r"
        Telegram of Ada
          ✓ @acme_bot
          ✗ a webhook owns this bot  GAL-TG-WEBHOOK
            cause: getWebhookInfo
            fix:   remove it
        ");
    }

    #[test]
    fn a_misspelt_platform_is_corrected() {
        assert_eq!(unknown("telegam").fix(), Some("did you mean telegram?"));
        assert!(unknown("irc").fix().unwrap().contains("terminal"));
    }
}
