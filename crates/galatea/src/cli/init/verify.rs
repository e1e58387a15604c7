//! Checks the answers with live requests before they are written.

use galatea_core::{AgentIdentity, Clock, Finding, Host, Settings, Severity, SystemClock};
use galatea_http::{HttpClient, HttpOptions};
use std::sync::Arc;

use super::answers::Answers;
use crate::{
    cli::connector::unasked,
    context::Context,
    report::{exit::Exit, failure::Result, findings},
};
use galatea_host::{
    models::choosing,
    platforms::{Built, PLATFORMS, Platform, Taken, accounts::AccountSettings},
    report::Report,
    storage::data_dir::DataDir,
};

/// Codes that stop `init`, because the first start would fail with them.
const FATAL: &[&str] = &[
    "GAL-TG-401",
    "GAL-TG-TOKEN",
    "GAL-DC-4004",
    "GAL-DC-TOKEN",
    "GAL-X-401",
    "GAL-X-TOKEN",
    "GAL-MODEL-401",
    "GAL-MODEL-403",
    "GAL-MODEL-URL",
    "GAL-CFG-VALUE",
    "GAL-MODEL-CONFIG",
];

/// Checks all answers.
///
/// # Errors
/// If the configuration cannot be read.
pub(super) async fn everything(answers: &Answers, context: &Context) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for connected in PLATFORMS.iter().filter(|p| answers.connects(p)) {
        found.extend(platform(connected, answers, context, |_| false).await?);
    }
    if answers.has_model() {
        found.extend(model(answers, context).await?);
    }
    Ok(found)
}

fn settings(answers: &Answers, context: &Context) -> Result<Settings> {
    Ok(context.configuration()?.settings.with_layer(answers.layer()))
}

/// Checks a platform's login: the account, problems, and what it can see. A check that costs money
/// runs only if `agreed` returns true.
///
/// # Errors
/// If the configuration cannot be read.
pub(super) async fn platform(
    platform: &Platform,
    answers: &Answers,
    context: &Context,
    agreed: impl Fn(&str) -> bool,
) -> Result<Vec<Finding>> {
    let settings = settings(answers, context)?;
    let data_dir = DataDir::locate(&settings, &context.working_dir).path().to_owned();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let host = Host {
        agent: AgentIdentity::new(None, &answers.name),
        agent_name: answers.name.clone(),
        data_dir,
        clock,
    };
    Ok(
        match platform.connector(
            &AccountSettings { number: 1, settings: settings.clone() },
            &host,
            &mut Taken::default(),
        ) {
            Ok(Built::On(connector)) => match connector.check_cost() {
                Some(cost) if !agreed(&cost) => vec![unasked(&cost, &platform.source)],
                _ => connector.check().await,
            },
            Ok(Built::Off(why)) => vec![
                Finding::new(
                    Severity::Error,
                    "GAL-CONNECTOR-OFF",
                    "connector",
                    format!("{} is off", platform.title),
                )
                .with_fix(why),
            ],
            Err(error) => vec![Finding::failure("connector", &error)],
        },
    )
}

/// Checks the provider's key, address and models. Uses no tokens.
///
/// # Errors
/// If the configuration cannot be read.
pub(super) async fn model(answers: &Answers, context: &Context) -> Result<Vec<Finding>> {
    let settings = settings(answers, context)?;
    let http = HttpClient::new(HttpOptions::default())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    Ok(
        match choosing::preview(&settings, &http, &clock, &galatea_models::Dependencies::default())
            .await
        {
            Ok(configured) => configured.check().await,
            Err(error) => vec![Finding::failure("model", &error)],
        },
    )
}

/// The exit code, if the findings contain one after which nothing should be written.
pub(super) fn fatal(findings: &[Finding]) -> Option<Exit> {
    let worst = findings
        .iter()
        .find(|f| f.severity == Severity::Error && FATAL.contains(&f.id.as_str()))?;
    Some(if ["401", "403", "4004", "-TOKEN"].iter().any(|end| worst.id.ends_with(end)) {
        Exit::Authentication
    } else {
        Exit::Configuration
    })
}

/// Shows findings on stderr.
pub(super) fn show(findings: &[Finding], context: &Context) {
    let text = findings::render(findings, context.output.talk_style);
    if !text.is_empty() {
        context.output.say(text.trim_end());
    }
}

/// Converts a finding into a report.
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
        assert_eq!(
            fatal(&[
                finding(Severity::Ok, "GAL-TG-TOKEN"),
                finding(Severity::Error, "GAL-TG-CONNECT")
            ]),
            None
        );
        for refused in ["GAL-TG-401", "GAL-DC-TOKEN", "GAL-X-401"] {
            assert_eq!(fatal(&[finding(Severity::Error, refused)]), Some(Exit::Authentication));
        }
        assert_eq!(fatal(&[finding(Severity::Error, "GAL-MODEL-URL")]), Some(Exit::Configuration));
    }
}
