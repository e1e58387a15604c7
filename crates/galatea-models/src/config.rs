//! Chooses and builds an agent's models from its settings.

mod context;
mod fallback;
mod links;
mod list_reader;
mod media;
mod named;
mod nearby;
mod parameters;
mod providers;
mod registered;
mod remarks;
mod siblings;
mod uses;
pub mod variables;
mod windows;

pub use list_reader::ModelListReport;
pub use media::MediaUse;
pub use named::{Named, Why};
pub use registered::with_registered;
pub use uses::Use;

use std::sync::Arc;

use galatea_core::{Clock, EmbeddingModel, Error, Finding, Models, Result, Settings, Severity};
use galatea_http::HttpClient;

use crate::{
    check::Probe,
    choices::{Choices, Facts, ToolSkill, When},
    dependencies::Dependencies,
    families::Role,
    tool_trial::ToolTrial,
    wire::codes,
};
use context::Context;
use providers::{PROVIDERS, Provider};

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

/// Chooses and builds an agent's models. Makes no network calls.
///
/// The provider is, in this order: the one that `GALATEA_MODEL_PROVIDER` names; the `modelProvider`
/// of an older character, if it is configured; the first configured one of anthropic, openrouter,
/// openai, google, groq, xai, mistral, ollama; the offline script.
///
/// # Errors
/// `Invalid` with the variable and its place for a value that cannot be used, or for a chosen
/// provider that is not configured.
pub fn build(
    settings: &Settings,
    http: &HttpClient,
    clock: Arc<dyn Clock>,
    dependencies: &Dependencies,
) -> Result<Configured> {
    let context = Context::new(settings, http, clock, dependencies)?;
    let mut notes = Vec::new();
    let mut configured = match choose(&context, &mut notes)? {
        Some(provider) => chained(&context, provider)?,
        None => providers::offline(&context)?,
    };
    if let Some(embedding) = local_embedding(settings, dependencies)? {
        configured.models.embedding = Some(embedding);
    }
    configured.notes.splice(0..0, notes);
    configured.offline_public = settings.flag(&variables::OFFLINE_RESPONDER_PUBLIC)?;
    Ok(configured)
}

/// The embedding model of this process, if a folder is set.
fn local_embedding(
    settings: &Settings,
    dependencies: &Dependencies,
) -> Result<Option<Arc<dyn EmbeddingModel>>> {
    let Some(folder) = settings.text(&variables::LOCAL_EMBEDDING_FOLDER) else { return Ok(None) };
    let model = dependencies
        .local_embedding(std::path::Path::new(folder.trim()))
        .map_err(|e| e.with("where", settings.origin(&variables::LOCAL_EMBEDDING_FOLDER)))?;
    Ok(Some(model))
}

/// Builds the chosen provider's models with their fallbacks.
fn chained(context: &Context<'_>, provider: &'static Provider) -> Result<Configured> {
    let mut chosen = provider.build(context)?;
    chosen.reasoning = providers::reasoning(context, provider.name, chosen.main());
    let fallback = fallback::read(context.settings, provider)?;
    let mut others = Vec::new();
    for other in &fallback.providers {
        let offer = other.build(context)?;
        if !fallback.is_auto || offer.is_at_home() || !chosen.is_at_home() {
            others.push(offer);
        }
    }
    let mut models = links::assemble(context, &chosen, &others, fallback.sibling)?;
    let tool_trial = chosen.tool_trial(context);
    let media = media::build(context, provider.name, chosen.is_at_home())?;
    models.media = media.models;
    let main = chosen.main();
    let description =
        format!("{} {} at {}", main.names().provider, models.large.info().model, main.site());
    let mut notes = if others.is_empty() {
        Vec::new()
    } else {
        let titles: Vec<String> = others.iter().map(links::Offer::title).collect();
        vec![format!(
            "when {} does not answer: {} (MODEL_FALLBACK)",
            provider.name,
            titles.join(", then ")
        )]
    };
    notes.extend(media.notes);
    let mut probes: Vec<Probe> = chosen.probes();
    let further = probes.split_off(1);
    let probe = probes.pop().unwrap_or(Probe::Offline);
    let offers = || std::iter::once(&chosen).chain(&others);
    let uses: Vec<Use> = offers().flat_map(links::Offer::uses).collect();
    let findings = remarks::find(context, &uses)?;
    let facts_of = |offer: &links::Offer<'_>| {
        let service = offer.main().service();
        offer
            .uses()
            .into_iter()
            .map(move |used| context.dependencies.choices().facts(&service, &used.named.name))
            .collect::<Vec<_>>()
    };
    let facts = offers().flat_map(facts_of).collect();
    let list_readers = offers().filter_map(links::Offer::list_reader).collect();
    let others = further
        .into_iter()
        .chain(others.iter().flat_map(links::Offer::probes))
        .chain(media.probes)
        .collect();
    Ok(Configured {
        models,
        provider: provider.name,
        description,
        uses,
        media: media.uses,
        notes,
        findings,
        offline_public: false,
        probe,
        others,
        list_readers,
        facts,
        tool_trial,
    })
}

fn choose(context: &Context<'_>, notes: &mut Vec<String>) -> Result<Option<&'static Provider>> {
    let settings = context.settings;
    if let Some(wanted) = settings.text(&variables::GALATEA_MODEL_PROVIDER) {
        let wanted = wanted.trim().to_ascii_lowercase();
        if wanted == "offline" {
            return Ok(None);
        }
        let provider = named(&wanted).ok_or_else(|| {
            settings
                .invalid_setting(&variables::GALATEA_MODEL_PROVIDER, "names no provider")
                .with("value", galatea_http::shorten(&wanted, 40))
        })?;
        // Ollama needs no setting: its address has a default.
        if provider.name != "ollama" && !provider.configured(settings) {
            return Err(Error::invalid(format!(
                "GALATEA_MODEL_PROVIDER asks for {}, which has no key",
                provider.name
            ))
            .with_code(codes::CONFIG)
            .with("where", settings.origin(&variables::GALATEA_MODEL_PROVIDER))
            .with_fix(format!("set {}", provider.enabled_by())));
        }
        return Ok(Some(provider));
    }
    if let Some(wanted) = settings.text(&variables::MODEL_PROVIDER) {
        let wanted = wanted.trim().to_ascii_lowercase();
        match named(&wanted) {
            Some(provider) if provider.configured(settings) => return Ok(Some(provider)),
            Some(provider) => notes.push(format!(
                "the character prefers {}, which is not configured: set {}",
                provider.name,
                provider.enabled_by()
            )),
            None => notes.push(format!(
                "the character's modelProvider {:?} is not known here",
                galatea_http::shorten(&wanted, 40)
            )),
        }
    }
    Ok(PROVIDERS.iter().find(|provider| provider.configured(settings)))
}

fn named(name: &str) -> Option<&'static Provider> {
    // Names of elizaOS v1 character files.
    let name = match name {
        "google_generative_ai" | "google-genai" | "gemini" => "google",
        "local" | "llama_local" | "ollama_local" => "ollama",
        "claude" => "anthropic",
        "grok" => "xai",
        other => other,
    };
    Provider::named(name)
}
