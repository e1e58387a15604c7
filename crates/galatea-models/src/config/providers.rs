//! The list of providers, with one builder for each. The offline script has no service behind it
//! and is built in `offline`.

mod offline;

pub(super) use offline::offline;

use std::sync::Arc;

use galatea_core::{Result, Settings, Variable};

use super::{
    context::Context,
    links::{Endpoints, Offer},
    named::{Named, Why},
    variables::{self as var, LARGE_MODEL, SMALL_MODEL},
};
use crate::{
    anthropic::{self, AnthropicText},
    check::Probe,
    families::{self, Role, Rules, Wire},
    google::{GoogleEmbedding, GoogleText},
    ollama::{self, OllamaEmbedding, OllamaText},
    openai::{Dialect, OpenAiEmbedding, OpenAiText},
    wire::{Auth, Endpoint, Names},
};

/// One provider.
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// The variable that enables it.
    pub(super) key: &'static str,
    pub(super) configured: fn(&Settings) -> bool,
    pub(super) build: for<'a> fn(&'a Context<'a>) -> Result<Offer<'a>>,
}

/// In order of precedence: the first configured one is used (elizaOS's order of plug-ins).
pub(super) const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        key: "ANTHROPIC_API_KEY",
        configured: |s| s.find(&var::ANTHROPIC_API_KEY).is_some(),
        build: anthropic,
    },
    Provider {
        name: "openrouter",
        key: "OPENROUTER_API_KEY",
        configured: |s| s.find(&var::OPENROUTER_API_KEY).is_some(),
        build: openrouter,
    },
    Provider {
        name: "openai",
        key: "OPENAI_API_KEY",
        configured: openai_configured,
        build: openai,
    },
    Provider {
        name: "google",
        key: "GOOGLE_GENERATIVE_AI_API_KEY",
        configured: |s| s.find(&var::GOOGLE_API_KEY).is_some(),
        build: google,
    },
    Provider {
        name: "groq",
        key: "GROQ_API_KEY",
        configured: |s| s.find(&var::GROQ_API_KEY).is_some(),
        build: groq,
    },
    Provider {
        name: "xai",
        key: "XAI_API_KEY",
        configured: |s| s.find(&var::XAI_API_KEY).is_some(),
        build: xai,
    },
    Provider {
        name: "mistral",
        key: "MISTRAL_API_KEY",
        configured: |s| s.find(&var::MISTRAL_API_KEY).is_some(),
        build: mistral,
    },
    Provider {
        name: "ollama",
        key: "OLLAMA_API_ENDPOINT",
        configured: |s| var::OLLAMA.iter().any(|v| s.find(v).is_some()),
        build: ollama_models,
    },
];

/// OpenAI itself needs a key; a self-hosted server may not.
pub(super) fn openai_configured(settings: &Settings) -> bool {
    settings.find(&var::OPENAI_API_KEY).is_some()
        || settings.find(&var::OPENAI_BASE_URL).is_some_and(|url| !is_openai(&url.text()))
}

pub(super) fn is_openai(url: &str) -> bool {
    url::Url::parse(url.trim())
        .is_ok_and(|url| url.host_str().is_some_and(|host| host == "api.openai.com"))
}

/// The models that a probe looks for: the text models and the embedding model.
fn and_embedding(models: Vec<String>, embedding: &Option<String>) -> Vec<String> {
    models.into_iter().chain(embedding.clone()).collect()
}

fn openai<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names {
        provider: "openai",
        label: "OpenAI",
        key: "OPENAI_API_KEY",
        url: "OPENAI_BASE_URL",
    };
    const OTHER: Names = Names { label: "the model server", ..NAMES };
    const EMBEDDING: Names = Names {
        provider: "openai",
        label: "the embedding server",
        key: "OPENAI_EMBEDDING_API_KEY",
        url: "OPENAI_EMBEDDING_URL",
    };
    let base = context.text_or_default(&var::OPENAI_BASE_URL);
    let own = is_openai(&base);
    let endpoints = context.endpoints(
        if own { NAMES } else { OTHER },
        &base,
        &var::OPENAI_API_KEY,
        Auth::Bearer,
    )?;
    let dialect = if own { Dialect::Strict } else { Dialect::Extended };
    // Another server may not have OpenAI's own models.
    let first = endpoints.first.clone();
    let vision = (own || context.set(&var::OPENAI_IMAGE_DESCRIPTION_MODEL).is_some())
        .then(|| context.model(&first, Role::Vision, &var::OPENAI_IMAGE_DESCRIPTION_MODEL, None));
    let longest =
        context.settings.parse(&var::OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS, "a whole number")?;
    let elsewhere = context.set(&var::OPENAI_EMBEDDING_URL);
    let embedding =
        (own || elsewhere.is_some() || context.set(&var::OPENAI_EMBEDDING_MODEL).is_some())
            .then(|| context.model(&first, Role::Embedding, &var::OPENAI_EMBEDDING_MODEL, None));
    let here = embedding.clone().filter(|_| elsewhere.is_none());
    let also = here.as_ref().map(|named| named.name.clone());
    let mut offer = Offer::new(
        endpoints,
        pair(context, &first, &var::OPENAI_SMALL_MODEL, &var::OPENAI_LARGE_MODEL),
        move |endpoint, model| {
            let rules = rules("openai", model);
            let wire = context.wire(&rules);
            let info = context.info(&endpoint, model, sees(model), true);
            Arc::new(OpenAiText::new(endpoint, info, dialect, rules, wire))
        },
        move |endpoint, models| Probe::OpenAi { endpoint, models: and_embedding(models, &also) },
    );
    // The default is OpenAI's: a server of one's own may have a smaller window.
    if context.set(&var::OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS).is_some() {
        offer.description_tokens = longest;
    }
    offer.vision = vision.map(|model| (model, longest));
    offer.embedding_name = here;
    if let Some(Named { name: model, .. }) = embedding {
        let at = match elsewhere {
            Some(url) => {
                let auth = context
                    .settings
                    .secret(&var::OPENAI_EMBEDDING_API_KEY)
                    .map_or(Auth::None, Auth::Bearer);
                context.endpoint(EMBEDDING, &url, auth, &var::OPENAI_EMBEDDING_API_KEY)?
            }
            None => offer.main().clone(),
        };
        let width = context.settings.parse(&var::OPENAI_EMBEDDING_DIMENSIONS, "a whole number")?;
        offer.embedding = Some(context.embedding(&at, &model, width, OpenAiEmbedding::new));
    }
    Ok(offer)
}

fn openrouter<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names {
        provider: "openrouter",
        label: "OpenRouter",
        key: "OPENROUTER_API_KEY",
        url: "OPENROUTER_BASE_URL",
    };
    let mut endpoints = keyed(context, NAMES, &var::OPENROUTER_BASE_URL, &var::OPENROUTER_API_KEY)?;
    for (header, variable) in
        [("http-referer", &var::OPENROUTER_HTTP_REFERER), ("x-title", &var::OPENROUTER_X_TITLE)]
    {
        if let Some(value) = context.set(variable) {
            endpoints = endpoints.with_header(header, &value);
        }
    }
    let first = endpoints.first.clone();
    let mut offer = Offer::new(
        endpoints,
        pair(context, &first, &var::OPENROUTER_SMALL_MODEL, &var::OPENROUTER_LARGE_MODEL),
        move |endpoint, model| {
            let info = context.info(&endpoint, model, sees(model), true);
            Arc::new(OpenAiText::new(
                endpoint,
                info,
                Dialect::Extended,
                rules("openrouter", model),
                Wire::Chat,
            ))
        },
        |endpoint, models| Probe::OpenRouter { endpoint, models },
    );
    offer.vision = context
        .set(&var::OPENROUTER_IMAGE_MODEL)
        .map(|name| (Named { name, why: Why::Set(var::OPENROUTER_IMAGE_MODEL.name) }, None));
    // OpenRouter's list contains no embedding models, so the check does not look for this one.
    if let Some(model) = context.set(&var::OPENROUTER_EMBEDDING_MODEL) {
        let width =
            context.settings.parse(&var::OPENROUTER_EMBEDDING_DIMENSIONS, "a whole number")?;
        let at = offer.main().clone();
        offer.embedding = Some(context.embedding(&at, &model, width, OpenAiEmbedding::new));
    }
    Ok(offer)
}

fn groq<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names =
        Names { provider: "groq", label: "Groq", key: "GROQ_API_KEY", url: "GROQ_BASE_URL" };
    let endpoints = keyed(context, NAMES, &var::GROQ_BASE_URL, &var::GROQ_API_KEY)?;
    let first = endpoints.first.clone();
    Ok(Offer::new(
        endpoints,
        pair(context, &first, &var::GROQ_SMALL_MODEL, &var::GROQ_LARGE_MODEL),
        move |endpoint, model| {
            let info = context.info(&endpoint, model, sees(model), true);
            Arc::new(OpenAiText::new(
                endpoint,
                info,
                Dialect::Strict,
                rules("groq", model),
                Wire::Chat,
            ))
        },
        |endpoint, models| Probe::OpenAi { endpoint, models },
    ))
}

fn xai<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names =
        Names { provider: "xai", label: "xAI", key: "XAI_API_KEY", url: "XAI_BASE_URL" };
    let endpoints = keyed(context, NAMES, &var::XAI_BASE_URL, &var::XAI_API_KEY)?;
    let models = (&var::XAI_SMALL_MODEL, &var::XAI_LARGE_MODEL);
    Ok(of_openais_form(context, endpoints, models, Dialect::Strict))
}

fn mistral<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names {
        provider: "mistral",
        label: "Mistral",
        key: "MISTRAL_API_KEY",
        url: "MISTRAL_BASE_URL",
    };
    let endpoints = keyed(context, NAMES, &var::MISTRAL_BASE_URL, &var::MISTRAL_API_KEY)?;
    let models = (&var::MISTRAL_SMALL_MODEL, &var::MISTRAL_LARGE_MODEL);
    // It refuses messages of one side in a row.
    let mut offer = of_openais_form(context, endpoints, models, Dialect::Extended);
    if let Some(model) = context.set(&var::MISTRAL_EMBEDDING_MODEL) {
        let at = offer.main().clone();
        offer.embedding = Some(context.embedding(&at, &model, None, OpenAiEmbedding::new));
    }
    Ok(offer)
}

/// A service of OpenAI's Chat Completions without further features.
fn of_openais_form<'a>(
    context: &'a Context<'a>,
    endpoints: Endpoints,
    (small, large): (&Variable, &Variable),
    dialect: Dialect,
) -> Offer<'a> {
    let first = endpoints.first.clone();
    Offer::new(
        endpoints,
        pair(context, &first, small, large),
        move |endpoint, model| {
            let provider = endpoint.names().provider;
            let info = context.info(&endpoint, model, sees(model), true);
            Arc::new(OpenAiText::new(endpoint, info, dialect, rules(provider, model), Wire::Chat))
        },
        |endpoint, models| Probe::OpenAi { endpoint, models },
    )
}

fn anthropic<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names {
        provider: "anthropic",
        label: "Anthropic",
        key: "ANTHROPIC_API_KEY",
        url: "ANTHROPIC_BASE_URL",
    };
    let base = context.text_or_default(&var::ANTHROPIC_BASE_URL);
    // Anthropic's own tools are configured without `/v1`.
    let base = if url::Url::parse(base.trim()).is_ok_and(|url| url.path() == "/") {
        format!("{}/v1", base.trim().trim_end_matches('/'))
    } else {
        base
    };
    let endpoints = context
        .endpoints(NAMES, &base, &var::ANTHROPIC_API_KEY, |key| Auth::Header("x-api-key", key))?;
    let first = endpoints.first.clone();
    Ok(Offer::new(
        endpoints.with_header("anthropic-version", anthropic::VERSION),
        pair(context, &first, &var::ANTHROPIC_SMALL_MODEL, &var::ANTHROPIC_LARGE_MODEL),
        move |endpoint, model| {
            let info = context.info(&endpoint, model, true, true);
            Arc::new(AnthropicText::new(endpoint, info, rules("anthropic", model)))
        },
        |endpoint, models| Probe::Anthropic { endpoint, models },
    ))
}

fn google<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names {
        provider: "google",
        label: "Google",
        key: "GOOGLE_GENERATIVE_AI_API_KEY",
        url: "GOOGLE_GENERATIVE_AI_BASE_URL",
    };
    let base = context.text_or_default(&var::GOOGLE_BASE_URL);
    let endpoints = context
        .endpoints(NAMES, &base, &var::GOOGLE_API_KEY, |key| Auth::Header("x-goog-api-key", key))?;
    let first = endpoints.first.clone();
    let named = context.model(&first, Role::Embedding, &var::GOOGLE_EMBEDDING_MODEL, None);
    let embedding = named.name.clone();
    let also = Some(embedding.clone());
    let mut offer = Offer::new(
        endpoints,
        pair(context, &first, &var::GOOGLE_SMALL_MODEL, &var::GOOGLE_LARGE_MODEL),
        move |endpoint, model| {
            let info = context.info(&endpoint, model, true, true);
            Arc::new(GoogleText::new(endpoint, info, rules("google", model)))
        },
        move |endpoint, models| Probe::Google { endpoint, models: and_embedding(models, &also) },
    );
    offer.vision = context
        .set(&var::GOOGLE_IMAGE_MODEL)
        .map(|name| (Named { name, why: Why::Set(var::GOOGLE_IMAGE_MODEL.name) }, None));
    offer.embedding_name = Some(named);
    let at = offer.main().clone();
    offer.embedding = Some(
        context.embedding(&at, &embedding, None, |at, info, _| GoogleEmbedding::new(at, info)),
    );
    Ok(offer)
}

fn ollama_models<'a>(context: &'a Context<'a>) -> Result<Offer<'a>> {
    const NAMES: Names = Names {
        provider: "ollama",
        label: "Ollama",
        key: "OLLAMA_API_KEY",
        url: "OLLAMA_API_ENDPOINT",
    };
    let base = ollama::base_url(&context.text_or_default(&var::OLLAMA_API_ENDPOINT));
    let endpoints = context.endpoints(NAMES, &base, &var::OLLAMA_API_KEY, Auth::Bearer)?;
    let first = endpoints.first.clone();
    let has_medium = context.set(&var::OLLAMA_MEDIUM_MODEL).is_some()
        && context.set(&var::OLLAMA_LARGE_MODEL).is_none();
    let large = if has_medium { &var::OLLAMA_MEDIUM_MODEL } else { &var::OLLAMA_LARGE_MODEL };
    let embedding = context.set(&var::OLLAMA_EMBEDDING_MODEL);
    let also = embedding.clone();
    let mut offer = Offer::new(
        endpoints,
        pair(context, &first, &var::OLLAMA_SMALL_MODEL, large),
        move |endpoint, model| {
            let info = context.info(&endpoint, model, sees(model), false);
            Arc::new(OllamaText::new(endpoint, info))
        },
        move |endpoint, models| Probe::Ollama { endpoint, models: and_embedding(models, &also) },
    );
    if let Some(model) = embedding {
        let at = offer.main().clone();
        offer.embedding = Some(
            context.embedding(&at, &model, None, |at, info, _| OllamaEmbedding::new(at, info)),
        );
    }
    Ok(offer)
}

/// Names of the small and the large model.
fn pair(
    context: &Context<'_>,
    at: &Endpoint,
    small: &Variable,
    large: &Variable,
) -> (Named, Named) {
    (
        context.model(at, Role::Small, small, Some(&SMALL_MODEL)),
        context.model(at, Role::Large, large, Some(&LARGE_MODEL)),
    )
}

/// Names of the small and the large reasoning model; none is the large model.
pub(super) fn reasoning(
    context: &Context<'_>,
    provider: &str,
    at: &Endpoint,
) -> [Option<Named>; 2] {
    let Some([small, large]) = var::reasoning::of_provider(provider) else { return [None, None] };
    [
        context.reasoning(at, Role::ReasoningSmall, small, &var::REASONING_SMALL_MODEL),
        context.reasoning(at, Role::ReasoningLarge, large, &var::REASONING_LARGE_MODEL),
    ]
}

fn keyed(
    context: &Context<'_>,
    names: Names,
    base: &Variable,
    key: &Variable,
) -> Result<Endpoints> {
    context.endpoints(names, &context.text_or_default(base), key, Auth::Bearer)
}

/// Which parameters a model accepts, according to its family.
fn rules(provider: &str, model: &str) -> Rules {
    families::known().of(provider, model).map(|family| family.rules.clone()).unwrap_or_default()
}

/// True if a model accepts pictures, according to its family or name. Unknown names count as
/// unable: a picture would be an error there.
fn sees(model: &str) -> bool {
    families::known().sees(model)
}

#[cfg(test)]
mod tests;
