//! `galatea doctor`: checks what is configured, and reports problems with a fix. The most severe
//! come first.

mod answers;
mod characters;
mod configuration;
mod examined;
mod machine;
mod remembered;
mod repair;
mod servers;
mod services;
mod storage;
mod unasked;

use clap::Args;
use galatea_core::{Finding, Severity};
use serde_json::json;
use std::{cmp::Reverse, process::ExitCode};

use crate::{
    cli::{
        flags::{Characters, Fix, Json},
        repairs::Repairs,
        status,
    },
    context::Context,
    report::{breakers, exit::Exit, failure::Result, findings},
};
use examined::Examined;
use galatea_host::{
    readiness::Reason,
    storage::{data_dir::DataDir, lock},
};

/// Find out what works and what does not; exit 7 when something does not
///
/// Reads the configuration, tries the storage, and asks the configured platforms and model
/// providers. That costs no tokens and changes nothing, unless --fix is given: that puts rights of
/// files with secrets, the data folder and .gitignore right, and asks before it changes anything on
/// a platform.
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea doctor\n  galatea doctor --fix\n  galatea doctor --json | jq '.findings[] | select(.severity == \"error\")'"
)]
pub(crate) struct Doctor {
    #[command(flatten)]
    fix: Fix,
    /// Ask no platform and no model provider
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

impl Doctor {
    /// Runs every check and prints the findings.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let mut found = if self.fix.fix { repair::repair(context) } else { Vec::new() };
        found.extend(self.examine(context).await?);
        // The sort is stable: within one severity, the order of the checks remains.
        found.sort_by_key(|finding| Reverse(finding.severity));
        let broken = found.iter().any(|f| f.severity == Severity::Error);
        if self.json.json {
            context.output.json(
                "galatea.doctor/1",
                json!({ "version": env!("CARGO_PKG_VERSION"), "ok": !broken, "asked": !self.offline, "findings": found }),
            );
        } else {
            let shown: Vec<_> = found
                .iter()
                .filter(|f| !context.output.quiet || f.severity >= Severity::Warning)
                .cloned()
                .collect();
            let text = findings::render(&shown, context.output.style);
            if !text.is_empty() {
                context.output.data(text.trim_end());
            }
            let summary = findings::summary(&found, !self.offline);
            context.output.say(format_args!("\n{summary}"));
        }
        Ok(if broken { Exit::Findings.into() } else { ExitCode::SUCCESS })
    }

    async fn examine(&self, context: &Context) -> Result<Vec<Finding>> {
        let (configuration, mut found) = configuration::check(context);
        found.extend(machine::clock());
        let Some(configuration) = configuration else { return Ok(found) };
        let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
        let running = lock::holder(data_dir.path()).unwrap_or_default();
        let examined = Examined { context, configuration, data_dir, running };
        let (personas, of_characters) = characters::check(&examined, &self.characters.characters);
        found.extend(of_characters);
        found.extend(storage::check(&examined).await);
        found.extend(remembered::check(&examined, &personas).await);
        found.extend(answers::check(&examined, &personas));
        found.extend(servers::check(&examined, &personas));
        let models =
            if self.offline { Vec::new() } else { services::models(&examined, &personas).await };
        if examined.running.is_some()
            && let Ok(readiness) = status::readiness(&examined.data_dir).await
        {
            let known = |reason: &Reason| {
                let found = found.iter().chain(&models);
                found.into_iter().any(|finding| Some(&finding.id) == reason.code.as_ref())
            };
            let of_models: Vec<Finding> = readiness
                .reasons
                .iter()
                .filter(|reason| reason.subject == "model" && !known(reason))
                .map(status::finding)
                .collect();
            found.extend(of_models);
            let remarks = readiness.remarks.iter();
            found.extend(remarks.filter(|remark| !is_found(remark, &models)).map(status::remark));
            found.extend(breakers::findings(&readiness.breakers));
            found.extend(servers::live(&readiness.servers));
        }
        if self.offline {
            found.extend(unasked::check(&examined, &personas));
        } else {
            found.extend(models);
            let repairs = self.fix.fix.then_some(Repairs { yes: self.fix.yes });
            found.extend(services::connectors(&examined, &personas, repairs).await?);
        }
        found.extend(machine::port(&examined).await);
        Ok(found)
    }
}

/// Whether a check has just found what the running process remarks.
fn is_found(remark: &Reason, found: &[Finding]) -> bool {
    found.iter().any(|finding| {
        Some(&finding.id) == remark.code.as_ref() && finding.message == remark.message
    })
}
