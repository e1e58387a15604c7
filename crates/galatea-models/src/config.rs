//! Which models an agent uses, from its settings.

mod context;
mod fallback;
mod links;
mod parameters;
mod providers;
pub mod variables;

use std::sync::Arc;

use galatea_core::{Clock, Error, Finding, Models, Result, Settings, Severity};
use galatea_http::HttpClient;

use crate::{check::Probe, dependencies::Dependencies, wire::codes};
use context::Context;
use providers::{PROVIDERS, Provider};

/// The models of one agent, with what there is to tell about them.
#[derive(Clone)]
pub struct Configured {
    /// The models.
    pub models: Models,
    /// `openai`, `anthropic`, `ollama`, `google`, `openrouter`, `groq`, `offline`.
    pub provider: &'static str,
    /// For the banner: `openai gpt-4o at https://api.openai.com`.
    pub description: String,
    /// What a person should know about the choice.
    pub notes: Vec<String>,
    /// The offline script may also answer where strangers read it.
    pub offline_public: bool,
    pub(crate) probe: Probe,
    /// Of those that stand in.
    pub(crate) others: Vec<Probe>,
}

impl Configured {
    /// Whether the offline script answers.
    pub fn is_offline(&self) -> bool {
        self.provider == "offline"
    }

    /// Asks the service whether key, address and models work. Costs no tokens.
    pub async fn check(&self) -> Vec<Finding> {
        let mut findings = self.probe.run(self.models.embedding.is_some()).await;
        for probe in &self.others {
            // Without a stand-in the agent still answers.
            let weaker = |finding: Finding| Finding { severity: finding.severity.min(Severity::Warning), ..finding };
            findings.extend(probe.run(true).await.into_iter().map(weaker));
        }
        findings
    }
}

/// Chooses and builds the models. No network calls.
///
/// `GALATEA_MODEL_PROVIDER` decides; else the `modelProvider` of an older character if that provider is configured; else the first
/// configured of anthropic, openrouter, openai, google, groq, ollama; else the offline script answers.
///
/// # Errors
/// `Invalid` with the variable and its place for a value that cannot be used, or for a chosen provider that is not configured.
pub fn build(settings: &Settings, http: &HttpClient, clock: Arc<dyn Clock>, dependencies: &Dependencies) -> Result<Configured> {
    let context = Context::new(settings, http, clock, dependencies)?;
    let mut notes = Vec::new();
    let mut configured = match choose(&context, &mut notes)? {
        Some(provider) => chained(&context, provider)?,
        None => providers::offline(&context)?,
    };
    configured.notes.splice(0..0, notes);
    configured.offline_public = settings.flag(&variables::OFFLINE_RESPONDER_PUBLIC)?;
    Ok(configured)
}

/// The chosen provider with those that stand in for it.
fn chained(context: &Context<'_>, provider: &'static Provider) -> Result<Configured> {
    let chosen = (provider.build)(context)?;
    let fallback = fallback::read(context.settings, provider)?;
    let mut others = Vec::new();
    for other in &fallback.providers {
        let offer = (other.build)(context)?;
        if !fallback.is_auto || offer.is_at_home() || !chosen.is_at_home() {
            others.push(offer);
        }
    }
    let models = links::assemble(context, &chosen, &others, fallback.sibling)?;
    let main = chosen.main();
    let description = format!("{} {} at {}", main.names().provider, models.large.info().model, main.site());
    let notes = if others.is_empty() {
        Vec::new()
    } else {
        let titles: Vec<String> = others.iter().map(links::Offer::title).collect();
        vec![format!("when {} does not answer: {} (MODEL_FALLBACK)", provider.name, titles.join(", then "))]
    };
    let mut probes: Vec<Probe> = chosen.probes();
    let further = probes.split_off(1);
    let probe = probes.pop().unwrap_or(Probe::Offline);
    let others = further.into_iter().chain(others.iter().flat_map(links::Offer::probes)).collect();
    Ok(Configured { models, provider: provider.name, description, notes, offline_public: false, probe, others })
}

fn choose(context: &Context<'_>, notes: &mut Vec<String>) -> Result<Option<&'static Provider>> {
    let settings = context.settings;
    if let Some(wanted) = settings.text(&variables::GALATEA_MODEL_PROVIDER) {
        let wanted = wanted.trim().to_ascii_lowercase();
        if wanted == "offline" {
            return Ok(None);
        }
        let provider = named(&wanted)
            .ok_or_else(|| settings.complain(&variables::GALATEA_MODEL_PROVIDER, "names no provider").with("value", galatea_http::shorten(&wanted, 40)))?;
        // Ollama needs nothing but itself: its address has a default.
        if provider.name != "ollama" && !(provider.configured)(settings) {
            return Err(Error::invalid(format!("GALATEA_MODEL_PROVIDER asks for {}, which has no key", provider.name))
                .with_code(codes::CONFIG)
                .with("where", settings.origin(&variables::GALATEA_MODEL_PROVIDER))
                .with_fix(format!("set {}", provider.key)));
        }
        return Ok(Some(provider));
    }
    if let Some(wanted) = settings.text(&variables::MODEL_PROVIDER) {
        let wanted = wanted.trim().to_ascii_lowercase();
        match named(&wanted) {
            Some(provider) if (provider.configured)(settings) => return Ok(Some(provider)),
            Some(provider) => notes.push(format!("the character prefers {}, which is not configured: set {}", provider.name, provider.key)),
            None => notes.push(format!("the character's modelProvider {:?} is not known here", galatea_http::shorten(&wanted, 40))),
        }
    }
    Ok(PROVIDERS.iter().find(|provider| (provider.configured)(settings)))
}

fn named(name: &str) -> Option<&'static Provider> {
    // Names of elizaOS v1 character files.
    let name = match name {
        "google_generative_ai" | "google-genai" | "gemini" => "google",
        "local" | "llama_local" | "ollama_local" => "ollama",
        "claude" => "anthropic",
        other => other,
    };
    PROVIDERS.iter().find(|provider| provider.name == name)
}
