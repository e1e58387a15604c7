//! Verify: real calls with the answers, before anything is written.

use galatea_core::{AgentIdentity, Clock, Finding, Host, Settings, Severity, SystemClock};
use galatea_http::{HttpClient, HttpOptions};
use std::sync::Arc;

use super::answers::{Answers, TELEGRAM_TOKEN};
use crate::{
    accounts::AccountSettings,
    connectors::{Built, PLATFORMS, Taken},
    context::Context,
    data_dir::DataDir,
    exit::Exit,
    failure::Result,
    findings,
    report::Report,
};

/// Codes after which writing the answers would only move the failure to the first start.
const FATAL: &[&str] = &["GAL-TG-401", "GAL-TG-TOKEN", "GAL-MODEL-401", "GAL-MODEL-403", "GAL-MODEL-URL", "GAL-CFG-VALUE", "GAL-MODEL-CONFIG"];

/// Checks all that was answered.
///
/// # Errors
/// When the configuration cannot be read.
pub(super) async fn everything(answers: &Answers, context: &Context) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    if answers.has(TELEGRAM_TOKEN) {
        found.extend(telegram(answers, context).await?);
    }
    if answers.settings.iter().any(|(name, _)| name != TELEGRAM_TOKEN) {
        found.extend(model(answers, context).await?);
    }
    Ok(found)
}

fn settings(answers: &Answers, context: &Context) -> Result<Settings> {
    Ok(context.configuration()?.settings.with_layer(answers.layer()))
}

/// Asks Telegram about the token: who it is, what is in the way, what it sees in groups.
///
/// # Errors
/// When the configuration cannot be read.
pub(super) async fn telegram(answers: &Answers, context: &Context) -> Result<Vec<Finding>> {
    let settings = settings(answers, context)?;
    let Some(platform) = PLATFORMS.iter().find(|p| p.source.as_str() == "telegram") else { return Ok(Vec::new()) };
    let data_dir = DataDir::locate(&settings, &context.working_dir).path().to_owned();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let host = Host { agent: AgentIdentity::new(None, &answers.name), agent_name: answers.name.clone(), data_dir, clock };
    Ok(match platform.connector(&AccountSettings { number: 1, settings: settings.clone() }, &host, &mut Taken::default()) {
        Ok(Built::On(connector)) => connector.check().await,
        Ok(Built::Off(why)) => vec![Finding::new(Severity::Error, "GAL-CONNECTOR-OFF", "connector", "Telegram is off").with_fix(why)],
        Err(error) => vec![Finding::failure("connector", &error)],
    })
}

/// Asks the provider about key, address and models. Costs no tokens.
///
/// # Errors
/// When the configuration cannot be read.
pub(super) async fn model(answers: &Answers, context: &Context) -> Result<Vec<Finding>> {
    let settings = settings(answers, context)?;
    let http = HttpClient::new(HttpOptions::default())?;
    Ok(match galatea_models::build(&settings, &http, Arc::new(SystemClock)) {
        Ok(configured) => configured.check().await,
        Err(error) => vec![Finding::failure("model", &error)],
    })
}

/// The exit code for findings after which nothing should be written.
pub(super) fn fatal(findings: &[Finding]) -> Option<Exit> {
    let worst = findings.iter().find(|f| f.severity == Severity::Error && FATAL.contains(&f.id.as_str()))?;
    Some(if worst.id.ends_with("401") || worst.id.ends_with("403") || worst.id == "GAL-TG-TOKEN" { Exit::Authentication } else { Exit::Configuration })
}

/// Shows findings as talk.
pub(super) fn show(findings: &[Finding], context: &Context) {
    let text = findings::render(findings, context.output.talk_style);
    if !text.is_empty() {
        context.output.say(text.trim_end());
    }
}

/// A finding in the form of an error.
pub(super) fn report(finding: &Finding) -> Report {
    Report::error(finding.message.clone())
        .code(finding.id.clone())
        .cause(finding.cause.clone().unwrap_or_default())
        .line("where", finding.origin.clone().unwrap_or_default())
        .fix(finding.fix.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_never_work_stops() {
        let finding = |severity, id: &str| Finding::new(severity, id, "x", "x");
        assert_eq!(fatal(&[finding(Severity::Ok, "GAL-TG-TOKEN"), finding(Severity::Error, "GAL-TG-CONNECT")]), None);
        assert_eq!(fatal(&[finding(Severity::Error, "GAL-TG-401")]), Some(Exit::Authentication));
        assert_eq!(fatal(&[finding(Severity::Error, "GAL-MODEL-URL")]), Some(Exit::Configuration));
    }
}
