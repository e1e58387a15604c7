//! The providers, one builder each, and the plain list of them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use galatea_core::{
    Clock, EmbeddingModel, Error, ModelInfo, Models, Result, Settings, TextModel, Variable,
    model::{Sampling, Tier},
};
use galatea_http::HttpClient;

use super::{
    Configured,
    parameters::sampling,
    variables::{self as var, LARGE_MODEL, SMALL_MODEL},
};
use crate::{
    anthropic::{self, AnthropicText},
    check::Probe,
    doctor::{OfflineModel, Script},
    google::{GoogleEmbedding, GoogleText},
    ollama::{self, OllamaEmbedding, OllamaText},
    openai::{Dialect, OpenAiEmbedding, OpenAiText},
    retry::{RetryPolicy, Retrying},
    tuned::Tuned,
    wire::{Auth, Endpoint, Names, Origins, Times, codes},
};

/// Largest script file read.
const MAX_SCRIPT: u64 = 1 << 20;

/// One provider.
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// The variable that switches it on.
    pub(super) key: &'static str,
    pub(super) configured: fn(&Settings) -> bool,
    pub(super) build: fn(&Context<'_>) -> Result<Configured>,
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

/// What builders need.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    http: &'a HttpClient,
    clock: Arc<dyn Clock>,
    times: Times,
    policy: RetryPolicy,
    tools: Option<bool>,
}

impl<'a> Context<'a> {
    pub(super) fn new(settings: &'a Settings, http: &'a HttpClient, clock: Arc<dyn Clock>) -> Result<Self> {
        let seconds = |variable: &Variable| -> Result<Duration> {
            let seconds: f64 = settings.parse(variable, "a number of seconds")?.unwrap_or(30.0);
            // A day is more than any answer takes, and keeps sums of times in range.
            if (0.001..=86_400.0).contains(&seconds) {
                Ok(Duration::from_secs_f64(seconds))
            } else {
                Err(settings.complain(variable, "is not a number of seconds between 0.001 and 86400"))
            }
        };
        let times =
            Times { first: seconds(&var::MODEL_FIRST_TOKEN_TIMEOUT)?, idle: seconds(&var::MODEL_IDLE_TIMEOUT)?, total: seconds(&var::MODEL_TOTAL_TIMEOUT)? };
        let tools = match settings.text(&var::MODEL_TOOLS) {
            Some(text) if text.trim().eq_ignore_ascii_case("auto") => None,
            _ => Some(settings.flag(&var::MODEL_TOOLS)?),
        };
        let policy = RetryPolicy { total: times.total, ..RetryPolicy::default() };
        Ok(Self { settings, http, clock, times, policy, tools })
    }

    fn endpoint(&self, names: Names, base: &str, auth: Auth, key: &Variable) -> Result<Endpoint> {
        Ok(Endpoint::new(self.http.clone(), names, base, auth, self.times)?.with_origins(self.origins(names, key)))
    }

    /// Where key, address and model names of a provider come from.
    fn origins(&self, names: Names, key: &Variable) -> Origins {
        let from = |variable: &Variable| self.settings.find(variable).map(|setting| format!("{} from {}", variable.name, setting.origin));
        let all = || var::VARIABLES.iter().flat_map(|(_, list)| list.iter());
        let own = format!("{}_", names.provider.to_uppercase());
        let named = all().filter(|v| v.name.ends_with("_MODEL") && (v.name.starts_with(&own) || [SMALL_MODEL.name, LARGE_MODEL.name].contains(&v.name)));
        // What somebody set explains a name better than a default that happens to be the same.
        let (set, unset): (Vec<_>, Vec<_>) = named.partition(|v| self.settings.find(v).is_some());
        let place = |v: &Variable| from(v).unwrap_or_else(|| format!("the default of {}", v.name));
        let models = set.into_iter().chain(unset).filter_map(|v| Some((self.settings.text(v)?.trim().to_owned(), v.name, place(v)))).collect();
        Origins { key: Some(self.settings.origin(key).to_string()), url: all().find(|v| v.name == names.url).and_then(from), models }
    }

    /// The provider's own variable, the common one, the default.
    fn model(&self, own: &Variable, common: &Variable) -> String {
        let set = self.settings.find(own).or_else(|| self.settings.find(common));
        set.map_or_else(|| own.default.unwrap_or_default().to_owned(), |setting| setting.text().trim().to_owned())
    }

    fn set(&self, variable: &Variable) -> Option<String> {
        self.settings.find(variable).map(|setting| setting.text().trim().to_owned())
    }

    fn text_or_default(&self, variable: &Variable) -> String {
        self.settings.text(variable).unwrap_or_default()
    }

    fn info(&self, provider: &str, model: &str, vision: bool, tools: bool) -> ModelInfo {
        ModelInfo { provider: provider.to_owned(), model: model.to_owned(), tools: self.tools.unwrap_or(tools), vision, scripted: false }
    }

    fn finished(&self, model: impl TextModel + 'static, defaults: Sampling) -> Arc<dyn TextModel> {
        Tuned::wrap(Arc::new(Retrying::new(Arc::new(model), self.policy, self.clock.clone())), defaults)
    }

    fn embedding(&self, model: impl EmbeddingModel + 'static) -> Arc<dyn EmbeddingModel> {
        Arc::new(Retrying::new(Arc::new(model), self.policy, self.clock.clone()))
    }

    /// Small, large and, if named or able, vision model.
    fn models<M: TextModel + 'static>(&self, make: impl Fn(&str) -> M, small: &str, large: &str, vision: Option<(&str, Option<u32>)>) -> Result<Models> {
        let at_large = sampling(self.settings, Tier::TextLarge)?;
        let large = self.finished(make(large), at_large.clone());
        let vision = match vision {
            Some((model, max_tokens)) => {
                let defaults = Sampling { max_tokens: max_tokens.or(at_large.max_tokens), ..at_large };
                Some(self.finished(make(model), defaults))
            }
            None => large.info().vision.then(|| large.clone()),
        };
        Ok(Models { small: self.finished(make(small), sampling(self.settings, Tier::TextSmall)?), large, vision, embedding: None })
    }
}

fn configured(models: Models, endpoint: &Endpoint, probe: Probe) -> Configured {
    let provider = endpoint.names().provider;
    let description = format!("{provider} {} at {}", models.large.info().model, endpoint.site());
    Configured { models, provider, description, notes: Vec::new(), offline_public: false, probe }
}

fn openai(context: &Context<'_>) -> Result<Configured> {
    const NAMES: Names = Names { provider: "openai", label: "OpenAI", key: "OPENAI_API_KEY", url: "OPENAI_BASE_URL" };
    const OTHER: Names = Names { label: "the model server", ..NAMES };
    const EMBEDDING: Names = Names { provider: "openai", label: "the embedding server", key: "OPENAI_EMBEDDING_API_KEY", url: "OPENAI_EMBEDDING_URL" };
    let base = context.text_or_default(&var::OPENAI_BASE_URL);
    let own = is_openai(&base);
    let auth = |key: &Variable| context.settings.secret(key).map_or(Auth::None, Auth::Bearer);
    let endpoint = context.endpoint(if own { NAMES } else { OTHER }, &base, auth(&var::OPENAI_API_KEY), &var::OPENAI_API_KEY)?;
    let (small, large) = (context.model(&var::OPENAI_SMALL_MODEL, &SMALL_MODEL), context.model(&var::OPENAI_LARGE_MODEL, &LARGE_MODEL));
    let dialect = if own { Dialect::Strict } else { Dialect::Extended };
    let make = |model: &str| OpenAiText::new(endpoint.clone(), context.info("openai", model, sees(model), true), dialect);
    // Another server need not have OpenAI's own models.
    let vision = context.set(&var::OPENAI_IMAGE_DESCRIPTION_MODEL).or_else(|| own.then(|| context.text_or_default(&var::OPENAI_IMAGE_DESCRIPTION_MODEL)));
    let longest = context.settings.parse(&var::OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS, "a whole number")?;
    let mut models = context.models(make, &small, &large, vision.as_deref().map(|model| (model, longest)))?;
    let elsewhere = context.set(&var::OPENAI_EMBEDDING_URL);
    let embedding = context.set(&var::OPENAI_EMBEDDING_MODEL);
    if own || elsewhere.is_some() || embedding.is_some() {
        let model = embedding.unwrap_or_else(|| context.text_or_default(&var::OPENAI_EMBEDDING_MODEL));
        let at = match elsewhere {
            Some(url) => context.endpoint(EMBEDDING, &url, auth(&var::OPENAI_EMBEDDING_API_KEY), &var::OPENAI_EMBEDDING_API_KEY)?,
            None => endpoint.clone(),
        };
        let width = context.settings.parse(&var::OPENAI_EMBEDDING_DIMENSIONS, "a whole number")?;
        models.embedding = Some(context.embedding(OpenAiEmbedding::new(at, context.info("openai", &model, false, false), width)));
    }
    let probe = Probe::OpenAi { endpoint: endpoint.clone(), models: vec![small, large] };
    Ok(configured(models, &endpoint, probe))
}

fn openrouter(context: &Context<'_>) -> Result<Configured> {
    const NAMES: Names = Names { provider: "openrouter", label: "OpenRouter", key: "OPENROUTER_API_KEY", url: "OPENROUTER_BASE_URL" };
    let mut endpoint = keyed(context, NAMES, &var::OPENROUTER_BASE_URL, &var::OPENROUTER_API_KEY)?;
    for (header, variable) in [("http-referer", &var::OPENROUTER_HTTP_REFERER), ("x-title", &var::OPENROUTER_X_TITLE)] {
        if let Some(value) = context.set(variable) {
            endpoint = endpoint.with_header(header, value);
        }
    }
    let (small, large) = (context.model(&var::OPENROUTER_SMALL_MODEL, &SMALL_MODEL), context.model(&var::OPENROUTER_LARGE_MODEL, &LARGE_MODEL));
    let make = |model: &str| OpenAiText::new(endpoint.clone(), context.info("openrouter", model, sees(model), true), Dialect::Extended);
    let vision = context.set(&var::OPENROUTER_IMAGE_MODEL);
    let mut models = context.models(make, &small, &large, vision.as_deref().map(|model| (model, None)))?;
    if let Some(model) = context.set(&var::OPENROUTER_EMBEDDING_MODEL) {
        let width = context.settings.parse(&var::OPENROUTER_EMBEDDING_DIMENSIONS, "a whole number")?;
        models.embedding = Some(context.embedding(OpenAiEmbedding::new(endpoint.clone(), context.info("openrouter", &model, false, false), width)));
    }
    let probe = Probe::OpenRouter { endpoint: endpoint.clone(), models: vec![small, large] };
    Ok(configured(models, &endpoint, probe))
}

fn groq(context: &Context<'_>) -> Result<Configured> {
    const NAMES: Names = Names { provider: "groq", label: "Groq", key: "GROQ_API_KEY", url: "GROQ_BASE_URL" };
    let endpoint = keyed(context, NAMES, &var::GROQ_BASE_URL, &var::GROQ_API_KEY)?;
    let (small, large) = (context.model(&var::GROQ_SMALL_MODEL, &SMALL_MODEL), context.model(&var::GROQ_LARGE_MODEL, &LARGE_MODEL));
    let make = |model: &str| OpenAiText::new(endpoint.clone(), context.info("groq", model, sees(model), true), Dialect::Strict);
    let models = context.models(make, &small, &large, None)?;
    let probe = Probe::OpenAi { endpoint: endpoint.clone(), models: vec![small, large] };
    Ok(configured(models, &endpoint, probe))
}

fn anthropic(context: &Context<'_>) -> Result<Configured> {
    const NAMES: Names = Names { provider: "anthropic", label: "Anthropic", key: "ANTHROPIC_API_KEY", url: "ANTHROPIC_BASE_URL" };
    let base = context.text_or_default(&var::ANTHROPIC_BASE_URL);
    // Anthropic's own tools are configured without the version.
    let base = if url::Url::parse(base.trim()).is_ok_and(|url| url.path() == "/") { format!("{}/v1", base.trim().trim_end_matches('/')) } else { base };
    let auth = context.settings.secret(&var::ANTHROPIC_API_KEY).map_or(Auth::None, |key| Auth::Header("x-api-key", key));
    let endpoint = context.endpoint(NAMES, &base, auth, &var::ANTHROPIC_API_KEY)?.with_header("anthropic-version", anthropic::VERSION);
    let (small, large) = (context.model(&var::ANTHROPIC_SMALL_MODEL, &SMALL_MODEL), context.model(&var::ANTHROPIC_LARGE_MODEL, &LARGE_MODEL));
    let make = |model: &str| AnthropicText::new(endpoint.clone(), context.info("anthropic", model, true, true));
    let models = context.models(make, &small, &large, None)?;
    let probe = Probe::Anthropic { endpoint: endpoint.clone(), models: vec![small, large] };
    Ok(configured(models, &endpoint, probe))
}

fn google(context: &Context<'_>) -> Result<Configured> {
    const NAMES: Names = Names { provider: "google", label: "Google", key: "GOOGLE_GENERATIVE_AI_API_KEY", url: "GOOGLE_GENERATIVE_AI_BASE_URL" };
    let base = context.text_or_default(&var::GOOGLE_BASE_URL);
    let auth = context.settings.secret(&var::GOOGLE_API_KEY).map_or(Auth::None, |key| Auth::Header("x-goog-api-key", key));
    let endpoint = context.endpoint(NAMES, &base, auth, &var::GOOGLE_API_KEY)?;
    let (small, large) = (context.model(&var::GOOGLE_SMALL_MODEL, &SMALL_MODEL), context.model(&var::GOOGLE_LARGE_MODEL, &LARGE_MODEL));
    let make = |model: &str| GoogleText::new(endpoint.clone(), context.info("google", model, true, true));
    let vision = context.set(&var::GOOGLE_IMAGE_MODEL);
    let mut models = context.models(make, &small, &large, vision.as_deref().map(|model| (model, None)))?;
    let model = context.text_or_default(&var::GOOGLE_EMBEDDING_MODEL);
    models.embedding = Some(context.embedding(GoogleEmbedding::new(endpoint.clone(), context.info("google", &model, false, false))));
    let probe = Probe::Google { endpoint: endpoint.clone(), models: vec![small, large] };
    Ok(configured(models, &endpoint, probe))
}

fn ollama_models(context: &Context<'_>) -> Result<Configured> {
    const NAMES: Names = Names { provider: "ollama", label: "Ollama", key: "OLLAMA_API_KEY", url: "OLLAMA_API_ENDPOINT" };
    let base = ollama::base_url(&context.text_or_default(&var::OLLAMA_API_ENDPOINT));
    let auth = context.settings.secret(&var::OLLAMA_API_KEY).map_or(Auth::None, Auth::Bearer);
    let endpoint = context.endpoint(NAMES, &base, auth, &var::OLLAMA_API_KEY)?;
    let small = context.model(&var::OLLAMA_SMALL_MODEL, &SMALL_MODEL);
    let medium = context.set(&var::OLLAMA_MEDIUM_MODEL).filter(|_| context.set(&var::OLLAMA_LARGE_MODEL).is_none());
    let large = medium.unwrap_or_else(|| context.model(&var::OLLAMA_LARGE_MODEL, &LARGE_MODEL));
    let make = |model: &str| OllamaText::new(endpoint.clone(), context.info("ollama", model, sees(model), false));
    let mut models = context.models(make, &small, &large, None)?;
    let mut names = vec![small, large];
    if let Some(model) = context.set(&var::OLLAMA_EMBEDDING_MODEL) {
        models.embedding = Some(context.embedding(OllamaEmbedding::new(endpoint.clone(), context.info("ollama", &model, false, false))));
        names.push(model);
    }
    let probe = Probe::Ollama { endpoint: endpoint.clone(), models: names };
    Ok(configured(models, &endpoint, probe))
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
    Ok(Configured { models, provider: "offline", description, notes: Vec::new(), offline_public: false, probe: Probe::Offline })
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

fn keyed(context: &Context<'_>, names: Names, base: &Variable, key: &Variable) -> Result<Endpoint> {
    let auth = context.settings.secret(key).map_or(Auth::None, Auth::Bearer);
    context.endpoint(names, &context.text_or_default(base), auth, key)
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
