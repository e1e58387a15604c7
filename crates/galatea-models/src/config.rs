//! Chooses and builds an agent's models from its settings.

mod configured;
mod context;
mod endpoints;
mod fallback;
mod links;
mod list_reader;
mod media;
mod media_use;
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

pub use configured::Configured;
pub use list_reader::ModelListReport;
pub use media_use::MediaUse;
pub use named::{Named, Why};
pub use registered::with_registered;
pub use uses::Use;

use std::sync::Arc;

use galatea_core::{Clock, EmbeddingModel, Error, Result, Settings};
use galatea_http::HttpClient;

use crate::{check::Probe, dependencies::Dependencies, wire::codes};
use context::Context;
use providers::{PROVIDERS, Provider};

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
