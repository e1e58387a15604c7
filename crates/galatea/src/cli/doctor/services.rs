//! Checks model providers and platforms with live requests.

use futures::future::join_all;
use galatea_core::{Clock, Connector, EventBus, Finding, Host, Severity, SystemClock};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::{Choices, Dependencies};
use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

use super::examined::Examined;
use crate::{cli::repairs::Repairs, report::failure::Result};
use galatea_host::{
    characters::{personas::Persona, wants},
    models::choosing,
    platforms::{Built, PLATFORMS, Taken, accounts},
};

/// Longest wait for one service. A slower one counts as unavailable.
const PATIENCE: Duration = Duration::from_secs(20);

/// Checks the model provider of every agent. A provider that several agents share is checked once.
pub(super) async fn models(examined: &Examined<'_>, personas: &[Persona]) -> Vec<Finding> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let http = match HttpClient::new(HttpOptions::default()) {
        Ok(http) => http,
        Err(error) => return vec![Finding::failure("model", &error)],
    };
    let dependencies = Dependencies::remembering(
        EventBus::default(),
        Choices::of(&choosing::file(&examined.data_dir)),
    );
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut asked = Vec::new();
    for persona in personas {
        match choosing::preview(&persona.settings, &http, &clock, &dependencies).await {
            Ok(configured) if seen.insert(configured.description.clone()) => asked.push(configured),
            Ok(_) => {}
            Err(error) => found.push(Finding::failure("model", &error)),
        }
    }
    for configured in &asked {
        found.extend(
            configured
                .notes
                .iter()
                .map(|note| Finding::new(Severity::Info, "GAL-MODEL-OK", "model", note.clone())),
        );
    }
    let answers = join_all(asked.iter().map(|configured| {
        patiently("model", &configured.description, "GAL-MODEL-TIMEOUT", configured.check())
    }))
    .await;
    found.extend(answers.into_iter().flatten());
    found
}

/// The platforms of all agents.
#[derive(Default)]
pub(super) struct Connected {
    /// The connectors with their titles.
    pub(super) on: Vec<(String, Arc<dyn Connector>)>,
    /// Findings about platforms without a connector.
    pub(super) off: Vec<Finding>,
}

/// Builds the connector of every platform an agent is connected to, which asks nothing. A platform
/// that is off is reported only if it is partly configured or the character asks for it.
pub(super) fn connected(
    examined: &Examined<'_>,
    personas: &[Persona],
    clock: &Arc<dyn Clock>,
) -> Connected {
    let mut taken = Taken::default();
    let mut connected = Connected::default();
    for persona in personas {
        let name = &persona.character.name;
        let host = Host {
            agent: persona.character.identity(),
            agent_name: name.clone(),
            data_dir: examined.data_dir.path().to_owned(),
            clock: Arc::clone(clock),
        };
        for platform in PLATFORMS {
            // The terminal's socket belongs to the running process, and needs the data folder that
            // the first start creates.
            if platform.source == galatea_terminal::SOURCE
                && (examined.running.is_some() || !examined.data_dir.path().exists())
            {
                continue;
            }
            for account in accounts::of(platform, &persona.settings) {
                let title = format!("{} of {name}", account.title(platform));
                match platform.connector(&account, &host, &mut taken) {
                    Ok(Built::On(connector)) => connected.on.push((title, connector)),
                    Ok(Built::Off(why)) => {
                        let configured = account.number > 1
                            || platform
                                .variables
                                .iter()
                                .any(|v| v.required && persona.settings.find(v).is_some());
                        let message = if configured {
                            format!("{title} is off")
                        } else if wants::asks_for(&persona.character, platform) {
                            format!("{title} is off, and its character asks for it")
                        } else {
                            continue;
                        };
                        connected.off.push(connector_off(message, why));
                    }
                    Err(error) => connected.off.push(Finding::failure("connector", &error)),
                }
            }
        }
    }
    connected
}

/// Checks every platform an agent is connected to, as [`connected`] finds them.
///
/// # Errors
/// As [`Repairs::offer`].
pub(super) async fn connectors(
    examined: &Examined<'_>,
    personas: &[Persona],
    repairs: Option<Repairs>,
) -> Result<Vec<Finding>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let Connected { on: asked, off: mut found } = connected(examined, personas, &clock);
    let answers = join_all(asked.iter().map(|(title, connector)| async move {
        match connector.check_cost() {
            // Checks that cost money need consent.
            Some(cost) => {
                let mut known = connector.remarks();
                known.push(crate::cli::connector::unasked(&cost, &connector.info().source));
                known
            }
            None => patiently("connector", title, "GAL-HTTP-TIMEOUT", connector.check()).await,
        }
    }))
    .await;
    for ((title, connector), mut answer) in asked.iter().zip(answers) {
        if let Some(repairs) = repairs {
            answer = repairs.offer(connector.as_ref(), title, answer, examined.context).await?;
        }
        found.extend(answer.into_iter().map(|finding| Finding {
            message: format!("{title}: {}", finding.message),
            ..finding
        }));
    }
    Ok(found)
}

fn connector_off(message: String, why: String) -> Finding {
    Finding::new(Severity::Warning, "GAL-CONNECTOR-OFF", "connector", message).with_fix(why)
}

async fn patiently(
    subject: &str,
    what: &str,
    code: &str,
    check: impl Future<Output = Vec<Finding>>,
) -> Vec<Finding> {
    match tokio::time::timeout(PATIENCE, check).await {
        Ok(findings) => findings,
        Err(_) => vec![
            Finding::new(
                Severity::Error,
                code,
                subject,
                format!("{what} did not answer within {} s", PATIENCE.as_secs()),
            )
            .with_fix("check the network and the address, then ask again"),
        ],
    }
}
