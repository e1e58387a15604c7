//! The models of one agent, and what is known about them.

use galatea_core::{Finding, Models, Severity};

use super::{
    list_reader::{self, ModelListReport},
    media_use::MediaUse,
    uses::Use,
};
use crate::{
    check::Probe,
    choices::{Choices, Facts, ToolSkill, When},
    families::Role,
    tool_trial::ToolTrial,
    wire::codes,
};

/// The models of one agent, and what banner, `doctor` and status report about them.
#[derive(Clone)]
pub struct Configured {
    /// The models by tier, with fallbacks.
    pub models: Models,
    /// `openai`, `anthropic`, `ollama`, `google`, `openrouter`, `groq`, `xai`, `mistral`, `offline`.
    pub provider: &'static str,
    /// Text for the banner: `openai gpt-6.1-terra at https://api.openai.com`.
    pub description: String,
    /// The provider's models, then the fallbacks, each with its purpose and the reason for its
    /// choice.
    pub uses: Vec<Use>,
    /// The models for sound, pictures and speech.
    pub media: Vec<MediaUse>,
    /// Notes about the choice, for the owner.
    pub notes: Vec<String>,
    /// Problems that are known without a network call: announced ends of models, parameters that
    /// are left out, outdated data.
    pub findings: Vec<Finding>,
    /// True if the offline script may also answer in public.
    pub offline_public: bool,
    pub(crate) probe: Probe,
    /// Probes of further keys, of fallbacks, and of media models.
    pub(crate) others: Vec<Probe>,
    pub(crate) list_readers: Vec<list_reader::ListReader>,
    /// Facts about the models in use, from the services' lists.
    pub(crate) facts: Vec<Option<Facts>>,
    pub(crate) tool_trial: Option<ToolTrial>,
}

impl Configured {
    /// True if the agent uses the offline script.
    pub fn is_offline(&self) -> bool {
        self.provider == "offline"
    }

    /// Why the large model was chosen, for the banner; empty for the script.
    pub fn reason(&self) -> String {
        self.uses
            .iter()
            .find(|used| used.role == Role::Large)
            .map(|used| used.named.why.to_string())
            .unwrap_or_default()
    }

    /// Reads the model lists of all services in use, chooses models where none is named, and finds
    /// named models that no longer exist. Each list has a timeout of 10 s; a start never waits for
    /// it. New choices take effect at the next [`build`].
    pub async fn read_lists(
        &self,
        choices: &Choices,
        today: time::Date,
        when: When,
    ) -> ModelListReport {
        let mut report = ModelListReport::default();
        for reader in &self.list_readers {
            reader.read_lists(choices, today, when, &mut report).await;
        }
        report
    }

    /// True if there is a model to choose: a purpose without a named model, or a named model that
    /// the service does not know.
    pub fn chooses(&self) -> bool {
        // A name that was missing may exist by now.
        self.uses.iter().any(|used| !used.named.is_set())
            || self.findings.iter().any(|finding| finding.id == codes::UNKNOWN)
    }

    /// True if the services have to be asked: for a model to choose, or for a window that only the
    /// server knows.
    pub fn asks(&self) -> bool {
        self.chooses() || self.list_readers.iter().any(list_reader::ListReader::asks_each)
    }

    /// True if both use the same models with the same limits.
    pub fn is_as(&self, other: &Self) -> bool {
        self.uses == other.uses && self.facts == other.facts
    }

    /// Tries once whether the large model can call tools, if it is one of a server of one's own and no
    /// trial is stored. Takes a minute at most. Returns what a new trial has shown.
    pub async fn try_tools(&self) -> Option<ToolSkill> {
        self.tool_trial.as_ref()?.run().await
    }

    /// Checks with the services whether keys, addresses and models work. Costs no tokens.
    pub async fn check(&self) -> Vec<Finding> {
        let mut findings = self.probe.run(self.models.embedding.is_some()).await;
        // The probe has just checked whether the names exist.
        findings
            .extend(self.findings.iter().filter(|finding| finding.id != codes::UNKNOWN).cloned());
        for probe in &self.others {
            // The agent still answers without a fallback or a media model, so its failure is at most
            // a warning.
            let weaker = |finding: Finding| Finding {
                severity: finding.severity.min(Severity::Warning),
                ..finding
            };
            for finding in probe.run(true).await.into_iter().map(weaker) {
                // Several models of a service meet the same problem.
                let known =
                    |other: &Finding| other.id == finding.id && other.message == finding.message;
                if !findings.iter().any(known) {
                    findings.push(finding);
                }
            }
        }
        findings
    }
}
