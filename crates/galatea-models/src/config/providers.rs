//! The providers, one builder each, and the plain list of them.

use std::{path::PathBuf, sync::Arc};

use galatea_core::{Error, Models, Result, Settings, TextModel, Variable};

use super::{
    Configured,
    context::Context,
    links::{Endpoints, Offer},
    variables::{self as var, LARGE_MODEL, SMALL_MODEL},
};
use crate::{
    anthropic::{self, AnthropicText},
    check::Probe,
    doctor::{OfflineModel, Script},
    google::{GoogleEmbedding, GoogleText},
    ollama::{self, OllamaEmbedding, OllamaText},
    openai::{Dialect, OpenAiEmbedding, OpenAiText},
    wire::{Auth, Names, codes},
};

/// Largest script file read.
const MAX_SCRIPT: u64 = 1 << 20;

/// One provider.
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// The variable that switches it on.
    pub(super) key: &'static str,
    pub(super) configured: fn(&Settings) -> bool,
    pub(super) build: for<'a> fn(&'a Context<'a>) -> Result<Offer<'a>>,
}

/// In the order in which the first configured one is taken (elizaOS's order of plug-ins).
pub(super) const PROVIDERS: &[Provider] = &[
    Provider { name: "anthropic", key: "ANTHROPIC_API_KEY", configured: |s| s.find(&var::ANTHROPIC_API_KEY).is_some(), build: anthropic },
    Provider { name: "openrouter", key: "OPENROUTER_API_KEY", configured: |s| s.find(&var::OPENROUTER_API_KEY).is_some(), build: openrouter },
    Provider { name: "openai", key: "OPENAI_API_KEY", configured: openai_configured, build: openai },
    Provider { name: "google", key: "GOOGLE_GENERATIVE_AI_API_KEY", configured: |s| s.find(&var::GOOGLE_API_KEY).is_some(), build: google },
    Provider { name: "groq", key: "GROQ_API_KEY", configured: |s| s.find(&var::GROQ_API_KEY).is_some(), build: groq },
    Provider { name: "ollama", key: "OLLAMA_API_ENDPOINT", configured: |s| var::OLLAMA.iter().any(|v| s.find(v).is_some()), build: ollama_models },
];

/// A server of one's own may need no key; OpenAI itself does.
fn openai_configured(settings: &Settings) -> bool {
    settings.find(&var::OPENAI_API_KEY).is_some() || settings.find(&var::OPENAI_BASE_URL).is_some_and(|url| !is_openai(&url.text()))
}

fn is_openai(url: &str) -> bool {
    url::Url::parse(url.trim()).is_ok_and(|url| url.host_str().is_some_and(|host| host == "api.openai.com"))
}

/// What is looked for at a service: its models for text, and the one for vectors.
fn with(models: Vec<String>, embedding: &Option<String>) -> Vec<String> {
    models.into_iter().chain(embedding.clone()).collect()
}

fn openai<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names { provider: "openai", label: "OpenAI", key: "OPENAI_API_KEY", url: "OPENAI_BASE_URL" };
    const OTHER: Names = Names { label: "the model server", ..NAMES };
    const EMBEDDING: Names = Names { provider: "openai", label: "the embedding server", key: "OPENAI_EMBEDDING_API_KEY", url: "OPENAI_EMBEDDING_URL" };
    let base = context.text_or_default(&var::OPENAI_BASE_URL);
    let own = is_openai(&base);
    let endpoints = context.endpoints(if own { NAMES } else { OTHER }, &base, &var::OPENAI_API_KEY, Auth::Bearer)?;
    let dialect = if own { Dialect::Strict } else { Dialect::Extended };
    // Another server need not have OpenAI's own models.
    let vision = context.set(&var::OPENAI_IMAGE_DESCRIPTION_MODEL).or_else(|| own.then(|| context.text_or_default(&var::OPENAI_IMAGE_DESCRIPTION_MODEL)));
    let longest = context.settings.parse(&var::OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS, "a whole number")?;
    let elsewhere = context.set(&var::OPENAI_EMBEDDING_URL);
    let embedding =
        context.set(&var::OPENAI_EMBEDDING_MODEL).or_else(|| (own || elsewhere.is_some()).then(|| context.text_or_default(&var::OPENAI_EMBEDDING_MODEL)));
    let also = embedding.clone().filter(|_| elsewhere.is_none());
    let mut offer = Offer::new(
        endpoints,
        (context.model(&var::OPENAI_SMALL_MODEL, &SMALL_MODEL), context.model(&var::OPENAI_LARGE_MODEL, &LARGE_MODEL)),
        move |endpoint, model| Arc::new(OpenAiText::new(endpoint, context.info("openai", model, sees(model), true), dialect)),
        move |endpoint, models| Probe::OpenAi { endpoint, models: with(models, &also) },
    );
    offer.vision = vision.map(|model| (model, longest));
    if let Some(model) = embedding {
        let at = match elsewhere {
            Some(url) => {
                let auth = context.settings.secret(&var::OPENAI_EMBEDDING_API_KEY).map_or(Auth::None, Auth::Bearer);
                context.endpoint(EMBEDDING, &url, auth, &var::OPENAI_EMBEDDING_API_KEY)?
            }
            None => offer.main().clone(),
        };
        let width = context.settings.parse(&var::OPENAI_EMBEDDING_DIMENSIONS, "a whole number")?;
        offer.embedding = Some(context.embedding(&at, OpenAiEmbedding::new(at.clone(), context.info("openai", &model, false, false), width)));
    }
    Ok(offer)
}

fn openrouter<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names { provider: "openrouter", label: "OpenRouter", key: "OPENROUTER_API_KEY", url: "OPENROUTER_BASE_URL" };
    let mut endpoints = keyed(context, NAMES, &var::OPENROUTER_BASE_URL, &var::OPENROUTER_API_KEY)?;
    for (header, variable) in [("http-referer", &var::OPENROUTER_HTTP_REFERER), ("x-title", &var::OPENROUTER_X_TITLE)] {
        if let Some(value) = context.set(variable) {
            endpoints = endpoints.with_header(header, &value);
        }
    }
    let mut offer = Offer::new(
        endpoints,
        (context.model(&var::OPENROUTER_SMALL_MODEL, &SMALL_MODEL), context.model(&var::OPENROUTER_LARGE_MODEL, &LARGE_MODEL)),
        move |endpoint, model| Arc::new(OpenAiText::new(endpoint, context.info("openrouter", model, sees(model), true), Dialect::Extended)),
        |endpoint, models| Probe::OpenRouter { endpoint, models },
    );
    offer.vision = context.set(&var::OPENROUTER_IMAGE_MODEL).map(|model| (model, None));
    // Its list of models has none for vectors, so the check does not look for it there.
    if let Some(model) = context.set(&var::OPENROUTER_EMBEDDING_MODEL) {
        let width = context.settings.parse(&var::OPENROUTER_EMBEDDING_DIMENSIONS, "a whole number")?;
        let at = offer.main().clone();
        offer.embedding = Some(context.embedding(&at, OpenAiEmbedding::new(at.clone(), context.info("openrouter", &model, false, false), width)));
    }
    Ok(offer)
}

fn groq<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names { provider: "groq", label: "Groq", key: "GROQ_API_KEY", url: "GROQ_BASE_URL" };
    Ok(Offer::new(
        keyed(context, NAMES, &var::GROQ_BASE_URL, &var::GROQ_API_KEY)?,
        (context.model(&var::GROQ_SMALL_MODEL, &SMALL_MODEL), context.model(&var::GROQ_LARGE_MODEL, &LARGE_MODEL)),
        move |endpoint, model| Arc::new(OpenAiText::new(endpoint, context.info("groq", model, sees(model), true), Dialect::Strict)),
        |endpoint, models| Probe::OpenAi { endpoint, models },
    ))
}

fn anthropic<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names { provider: "anthropic", label: "Anthropic", key: "ANTHROPIC_API_KEY", url: "ANTHROPIC_BASE_URL" };
    let base = context.text_or_default(&var::ANTHROPIC_BASE_URL);
    // Anthropic's own tools are configured without the version.
    let base = if url::Url::parse(base.trim()).is_ok_and(|url| url.path() == "/") { format!("{}/v1", base.trim().trim_end_matches('/')) } else { base };
    let endpoints = context.endpoints(NAMES, &base, &var::ANTHROPIC_API_KEY, |key| Auth::Header("x-api-key", key))?;
    Ok(Offer::new(
        endpoints.with_header("anthropic-version", anthropic::VERSION),
        (context.model(&var::ANTHROPIC_SMALL_MODEL, &SMALL_MODEL), context.model(&var::ANTHROPIC_LARGE_MODEL, &LARGE_MODEL)),
        move |endpoint, model| Arc::new(AnthropicText::new(endpoint, context.info("anthropic", model, true, true))),
        |endpoint, models| Probe::Anthropic { endpoint, models },
    ))
}

fn google<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names { provider: "google", label: "Google", key: "GOOGLE_GENERATIVE_AI_API_KEY", url: "GOOGLE_GENERATIVE_AI_BASE_URL" };
    let base = context.text_or_default(&var::GOOGLE_BASE_URL);
    let embedding = context.text_or_default(&var::GOOGLE_EMBEDDING_MODEL);
    let also = Some(embedding.clone());
    let mut offer = Offer::new(
        context.endpoints(NAMES, &base, &var::GOOGLE_API_KEY, |key| Auth::Header("x-goog-api-key", key))?,
        (context.model(&var::GOOGLE_SMALL_MODEL, &SMALL_MODEL), context.model(&var::GOOGLE_LARGE_MODEL, &LARGE_MODEL)),
        move |endpoint, model| Arc::new(GoogleText::new(endpoint, context.info("google", model, true, true))),
        move |endpoint, models| Probe::Google { endpoint, models: with(models, &also) },
    );
    offer.vision = context.set(&var::GOOGLE_IMAGE_MODEL).map(|model| (model, None));
    let at = offer.main().clone();
    offer.embedding = Some(context.embedding(&at, GoogleEmbedding::new(at.clone(), context.info("google", &embedding, false, false))));
    Ok(offer)
}

fn ollama_models<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names { provider: "ollama", label: "Ollama", key: "OLLAMA_API_KEY", url: "OLLAMA_API_ENDPOINT" };
    let base = ollama::base_url(&context.text_or_default(&var::OLLAMA_API_ENDPOINT));
    let medium = context.set(&var::OLLAMA_MEDIUM_MODEL).filter(|_| context.set(&var::OLLAMA_LARGE_MODEL).is_none());
    let large = medium.unwrap_or_else(|| context.model(&var::OLLAMA_LARGE_MODEL, &LARGE_MODEL));
    let embedding = context.set(&var::OLLAMA_EMBEDDING_MODEL);
    let also = embedding.clone();
    let mut offer = Offer::new(
        context.endpoints(NAMES, &base, &var::OLLAMA_API_KEY, Auth::Bearer)?,
        (context.model(&var::OLLAMA_SMALL_MODEL, &SMALL_MODEL), large),
        move |endpoint, model| Arc::new(OllamaText::new(endpoint, context.info("ollama", model, sees(model), false))),
        move |endpoint, models| Probe::Ollama { endpoint, models: with(models, &also) },
    );
    if let Some(model) = embedding {
        let at = offer.main().clone();
        offer.embedding = Some(context.embedding(&at, OllamaEmbedding::new(at.clone(), context.info("ollama", &model, false, false))));
    }
    Ok(offer)
}

/// The offline script.
pub(super) fn offline(context: &Context<'_>) -> Result<Configured> {
    let (script, from) = match context.set(&var::OFFLINE_SCRIPT) {
        Some(path) => (read_script(context.settings, PathBuf::from(path))?, "own rules"),
        None => (Script::built_in()?, "built-in rules"),
    };
    let model: Arc<dyn TextModel> = Arc::new(OfflineModel::new(script));
    let models = Models { small: model.clone(), large: model, vision: None, embedding: None };
    let description = format!("offline script ({from}): pattern matching, not AI");
    Ok(Configured { models, provider: "offline", description, notes: Vec::new(), offline_public: false, probe: Probe::Offline, others: Vec::new() })
}

fn read_script(settings: &Settings, path: PathBuf) -> Result<Script> {
    let complain = |what: &str| settings.complain(&var::OFFLINE_SCRIPT, what).with("file", path.display());
    let size = std::fs::metadata(&path).map_err(|error| complain("names a file that cannot be read").with("cause", error.kind()))?.len();
    if size > MAX_SCRIPT {
        return Err(complain("names a file of more than 1 MiB"));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| complain("names a file that cannot be read").with("cause", error.kind()))?;
    Script::parse(&text).map_err(|error: Error| error.with("file", path.display()).with_code(codes::SCRIPT))
}

fn keyed(context: &Context<'_>, names: Names, base: &Variable, key: &Variable) -> Result<Endpoints> {
    context.endpoints(names, &context.text_or_default(base), key, Auth::Bearer)
}

/// Whether a model's name is one of a family that sees pictures. Unknown names count as blind: a picture would be an error there.
fn sees(model: &str) -> bool {
    const FAMILIES: [&str; 19] = [
        "gpt-4o",
        "gpt-4.1",
        "gpt-5",
        "o1",
        "o3",
        "o4",
        "claude-",
        "gemini-",
        "gemma3",
        "gemma-3",
        "llava",
        "vision",
        "-vl",
        "vl:",
        "pixtral",
        "minicpm-v",
        "moondream",
        "llama-4",
        "bakllava",
    ];
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    FAMILIES.iter().any(|family| if family.len() == 2 && family.starts_with('o') { name.starts_with(family) } else { name.contains(family) })
}

#[cfg(test)]
mod tests;
