//! Reads a provider's list of models, to choose from it and to find models that no longer exist.

use std::{collections::BTreeSet, time::Duration};

use galatea_core::{Error, ErrorKind, Finding, Result, Severity};

use super::uses::Use;
use crate::{
    check::{Probe, unknown},
    choices::{Change, Choices, ListReading, ListedModel, When},
    families::Role,
    ollama,
    wire::{Endpoint, codes},
};

/// Timeout for a list, and for all windows after it. Only the choice of models waits for them.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads the list of one service that the agent uses.
#[derive(Clone)]
pub(crate) struct ListReader {
    endpoint: Endpoint,
    probe: Probe,
    uses: Vec<Use>,
    /// True for a self-hosted server, which may have no model of a preferred family.
    any: bool,
}

/// The result of reading lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelListReport {
    /// Choices that changed.
    pub changes: Vec<Change>,
    /// Names from settings that the provider does not have.
    pub findings: Vec<Finding>,
    /// Lists that could not be read. An actual call reports the problem in more detail.
    pub unread: Vec<Finding>,
}

impl ListReader {
    pub(super) fn of(probe: &Probe, uses: Vec<Use>, any: bool) -> Option<Self> {
        let any = any || matches!(probe, Probe::Ollama { .. });
        Some(Self { endpoint: probe.endpoint()?.clone(), probe: probe.clone(), uses, any })
    }

    /// Reads the list and updates `choices` and `report`.
    pub(super) async fn read_lists(
        &self,
        choices: &Choices,
        today: time::Date,
        when: When,
        report: &mut ModelListReport,
    ) {
        let list = match self.list().await {
            Ok(list) => list,
            Err(error) => {
                report.unread.push(Finding {
                    severity: Severity::Warning,
                    ..Finding::failure("model", &error)
                });
                return;
            }
        };
        let open: Vec<Role> =
            self.uses.iter().filter(|used| !used.named.is_set()).map(|used| used.role).collect();
        let in_use: Vec<String> = self.uses.iter().map(|used| used.named.name.clone()).collect();
        let service = self.endpoint.service();
        let provider = self.endpoint.names().provider;
        let reading = ListReading {
            service: &service,
            provider,
            list: &list,
            open: &open,
            in_use: &in_use,
            any: self.any,
            today,
        };
        match choices.apply(&reading, when) {
            Ok(changes) => report.changes.extend(changes),
            Err(error) => {
                tracing::warn!(error = %error.report(), "failed to store the chosen models; they are chosen again at the next start")
            }
        }
        self.learn(choices, &list).await;
        let names: Vec<String> = list.iter().map(|model| model.id.clone()).collect();
        let gone = self.uses.iter().filter(|used| {
            used.named.is_set() && !list.iter().any(|model| model.has_name(&used.named.name))
        });
        for used in gone {
            let finding = unknown(&self.endpoint, &used.named.name, &names, Severity::Warning);
            if !report.findings.contains(&finding) {
                report.findings.push(finding);
            }
        }
    }

    /// True if windows have to be asked for model by model.
    pub(super) fn asks_each(&self) -> bool {
        matches!(self.probe, Probe::Ollama { .. })
    }

    /// Asks Ollama for the window of each installed text model in use, once per look. Without an
    /// answer, the window stored earlier applies, or else the default.
    async fn learn(&self, choices: &Choices, list: &[ListedModel]) {
        if !self.asks_each() {
            return;
        }
        let service = self.endpoint.service();
        let name = |used: &Use| {
            if used.named.is_set() {
                Some(used.named.name.clone())
            } else {
                Some(choices.chosen(&service, used.role)?.0)
            }
        };
        let texts = self.uses.iter().filter(|used| used.role != Role::Embedding);
        let installed = |name: &String| list.iter().any(|model| model.has_name(name));
        let names: BTreeSet<String> = texts.filter_map(name).filter(installed).collect();
        let mut windows = Vec::new();
        let asking = async {
            for model in names {
                match ollama::show::window(&self.endpoint, &model).await {
                    Ok(window) => windows.push((model, window)),
                    Err(error) => {
                        tracing::info!(model, error = %error.report(), "failed to read the model's window from Ollama; the stored one or 8192 applies")
                    }
                }
            }
        };
        if tokio::time::timeout(PATIENCE, asking).await.is_err() {
            tracing::info!(
                service,
                "Ollama did not report the windows of all models in time; the stored ones or 8192 apply"
            );
        }
        if let Err(error) = choices.learn(&service, &windows) {
            tracing::warn!(error = %error.report(), "failed to store the windows of models; they are read again at the next start");
        }
    }

    async fn list(&self) -> Result<Vec<ListedModel>> {
        match tokio::time::timeout(PATIENCE, self.probe.list()).await {
            Ok(list) => list,
            Err(_) => Err(Error::new(
                ErrorKind::Timeout,
                format!("{} did not list its models in time", self.endpoint.names().label),
            )
            .with_code(codes::TIMEOUT)),
        }
    }
}
