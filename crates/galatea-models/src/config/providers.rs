//! Builds a provider's models from its row in the table of providers. The offline script has no
//! service behind it and is built in `offline`.

mod offline;
mod rows;

pub(super) use offline::offline;
pub(super) use rows::PROVIDERS;

use std::sync::Arc;

use galatea_core::{EmbeddingModel, Result, SecretString, Settings, TextModel, Variable};

use super::{
    context::Context,
    endpoints::Endpoints,
    links::Offer,
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

/// A service that answers: its settings, its wire format, and what sets it apart.
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// Name for people.
    label: &'static str,
    key: Variable,
    address: Variable,
    small: Variable,
    large: Variable,
    codec: Codec,
    /// Names the model that describes pictures.
    vision: Option<Variable>,
    /// Names the embedding model.
    embedding: Option<Variable>,
    /// Width of the vectors.
    width: Option<Variable>,
    /// Headers with the value of a setting.
    headers: &'static [(&'static str, Variable)],
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    /// Chat Completions, and Responses at OpenAI.
    OpenAi(Dialect),
    /// Chat Completions with a list of models of its own format.
    OpenRouter,
    Anthropic,
    Google,
    Ollama,
}

impl Codec {
    fn auth(self) -> fn(SecretString) -> Auth {
        match self {
            Self::OpenAi(_) | Self::OpenRouter | Self::Ollama => Auth::Bearer,
            Self::Anthropic => |key| Auth::Header("x-api-key", key),
            Self::Google => |key| Auth::Header("x-goog-api-key", key),
        }
    }
}

impl Provider {
    /// The row of a name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// The variable that enables it.
    pub(super) fn enabled_by(&self) -> &'static str {
        if self.codec == Codec::Ollama { self.address.name } else { self.key.name }
    }

    /// True if a setting enables it. OpenAI itself needs a key; another server with its API may not.
    pub(super) fn configured(&self, settings: &Settings) -> bool {
        let other = |url: &Variable| settings.find(url).is_some_and(|url| !is_openai(&url.text()));
        match self.codec {
            Codec::Ollama => var::OLLAMA.iter().any(|variable| settings.find(variable).is_some()),
            _ => {
                settings.find(&self.key).is_some() || self.name == "openai" && other(&self.address)
            }
        }
    }

    /// Its endpoints, one for each key, and whether another server than OpenAI's has its API.
    pub(super) fn endpoints(&self, context: &Context<'_>) -> Result<(Endpoints, bool)> {
        let base = context.text_or_default(&self.address);
        let base = match self.codec {
            Codec::Ollama => ollama::base_url(&base),
            // Anthropic's own tools are configured without `/v1`.
            Codec::Anthropic if url::Url::parse(base.trim()).is_ok_and(|url| url.path() == "/") => {
                format!("{}/v1", base.trim().trim_end_matches('/'))
            }
            _ => base,
        };
        let is_other = self.name == "openai" && !is_openai(&base);
        let names = Names {
            provider: self.name,
            label: if is_other { "the model server" } else { self.label },
            key: self.key.name,
            url: self.address.name,
        };
        let mut endpoints = context.endpoints(names, &base, &self.key, self.codec.auth())?;
        if self.codec == Codec::Anthropic {
            endpoints = endpoints.with_header("anthropic-version", anthropic::VERSION);
        }
        for (header, variable) in self.headers {
            if let Some(value) = context.set(variable) {
                endpoints = endpoints.with_header(header, &value);
            }
        }
        Ok((endpoints, is_other))
    }

    /// Builds its models.
    pub(super) fn build<'a>(&'static self, context: &'a Context<'a>) -> Result<Offer<'a>> {
        let (endpoints, is_other) = self.endpoints(context)?;
        let codec = if is_other { Codec::OpenAi(Dialect::Extended) } else { self.codec };
        let first = endpoints.first.clone();
        let models = (
            context.model(&first, Role::Small, &self.small, Some(&SMALL_MODEL)),
            context.model(&first, Role::Large, self.large(context), Some(&LARGE_MODEL)),
        );
        let elsewhere = context.set(&var::OPENAI_EMBEDDING_URL).filter(|_| self.name == "openai");
        let embedding = self.embedding_model(context, &first, is_other && elsewhere.is_none());
        let here = embedding.clone().filter(|_| elsewhere.is_none() && self.lists_embeddings());
        let also = here.as_ref().map(|named| named.name.clone());
        let mut offer = Offer::new(
            endpoints,
            models,
            move |endpoint, model| self.text(context, codec, endpoint, model),
            move |endpoint, models| {
                codec.probe(endpoint, models.into_iter().chain(also.clone()).collect())
            },
        );
        if let Some(named) = embedding {
            let at = match elsewhere {
                Some(url) => embedding_server(context, &url)?,
                None => first.clone(),
            };
            let width =
                self.width.as_ref().map(|width| context.settings.parse(width, "a whole number"));
            let width = width.transpose()?.flatten();
            offer.embedding = Some(codec.embedding(context, &at, &named.name, width));
        }
        // Of the others the check knows no list with this model, so it is not a model in use there.
        offer.embedding_name = here.filter(|_| matches!(self.name, "openai" | "google"));
        self.describe(context, &first, is_other, &mut offer)?;
        Ok(offer)
    }

    /// Ollama has a medium model, which answers where no large one is named.
    fn large(&'static self, context: &Context<'_>) -> &'static Variable {
        const MEDIUM: &Variable = &var::OLLAMA_MEDIUM_MODEL;
        let has_medium = self.codec == Codec::Ollama
            && context.set(MEDIUM).is_some()
            && context.set(&self.large).is_none();
        if has_medium { MEDIUM } else { &self.large }
    }

    /// True if its list of models contains embedding models.
    fn lists_embeddings(&self) -> bool {
        !matches!(self.name, "openrouter" | "mistral")
    }

    /// The embedding model. OpenAI and Google always have one; another server may not have OpenAI's.
    fn embedding_model(
        &self,
        context: &Context<'_>,
        at: &Endpoint,
        is_other: bool,
    ) -> Option<Named> {
        let variable = self.embedding.as_ref()?;
        match self.name {
            "openai" | "google" if !is_other || context.set(variable).is_some() => {
                Some(context.model(at, Role::Embedding, variable, None))
            }
            _ => set(context, variable),
        }
    }

    /// Sets the model that describes pictures.
    fn describe(
        &self,
        context: &Context<'_>,
        at: &Endpoint,
        is_other: bool,
        offer: &mut Offer<'_>,
    ) -> Result<()> {
        let Some(variable) = &self.vision else { return Ok(()) };
        if self.name != "openai" {
            offer.vision = set(context, variable).map(|named| (named, None));
            return Ok(());
        }
        const LONGEST: &Variable = &var::OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS;
        let longest = context.settings.parse(LONGEST, "a whole number")?;
        // The default is OpenAI's: a server of one's own may have a smaller window.
        if context.set(LONGEST).is_some() {
            offer.description_tokens = longest;
        }
        // Another server may not have OpenAI's own models.
        if !is_other || context.set(variable).is_some() {
            offer.vision = Some((context.model(at, Role::Vision, variable, None), longest));
        }
        Ok(())
    }

    fn text(
        &self,
        context: &Context<'_>,
        codec: Codec,
        endpoint: Endpoint,
        model: &str,
    ) -> Arc<dyn TextModel> {
        let rules = rules(self.name, model);
        let always_sees = matches!(codec, Codec::Anthropic | Codec::Google);
        let info =
            context.info(&endpoint, model, always_sees || sees(model), codec != Codec::Ollama);
        let wire = if self.name == "openai" { context.wire(&rules) } else { Wire::Chat };
        match codec {
            Codec::OpenAi(dialect) => {
                Arc::new(OpenAiText::new(endpoint, info, dialect, rules, wire))
            }
            Codec::OpenRouter => {
                Arc::new(OpenAiText::new(endpoint, info, Dialect::Extended, rules, wire))
            }
            Codec::Anthropic => Arc::new(AnthropicText::new(endpoint, info, rules)),
            Codec::Google => Arc::new(GoogleText::new(endpoint, info, rules)),
            Codec::Ollama => Arc::new(OllamaText::new(endpoint, info)),
        }
    }
}

impl Codec {
    fn probe(self, endpoint: Endpoint, models: Vec<String>) -> Probe {
        match self {
            Self::OpenAi(_) => Probe::OpenAi { endpoint, models },
            Self::OpenRouter => Probe::OpenRouter { endpoint, models },
            Self::Anthropic => Probe::Anthropic { endpoint, models },
            Self::Google => Probe::Google { endpoint, models },
            Self::Ollama => Probe::Ollama { endpoint, models },
        }
    }

    fn embedding(
        self,
        context: &Context<'_>,
        at: &Endpoint,
        model: &str,
        width: Option<u32>,
    ) -> Arc<dyn EmbeddingModel> {
        match self {
            Self::Google => {
                context.embedding(at, model, width, |at, info, _| GoogleEmbedding::new(at, info))
            }
            Self::Ollama => {
                context.embedding(at, model, width, |at, info, _| OllamaEmbedding::new(at, info))
            }
            _ => context.embedding(at, model, width, OpenAiEmbedding::new),
        }
    }
}

/// The server that `OPENAI_EMBEDDING_URL` names.
fn embedding_server(context: &Context<'_>, url: &str) -> Result<Endpoint> {
    const KEY: &Variable = &var::OPENAI_EMBEDDING_API_KEY;
    const NAMES: Names = Names {
        provider: "openai",
        label: "the embedding server",
        key: KEY.name,
        url: var::OPENAI_EMBEDDING_URL.name,
    };
    let auth = context.settings.secret(KEY).map_or(Auth::None, Auth::Bearer);
    context.endpoint(NAMES, url, auth, KEY)
}

/// The model that a variable names.
fn set(context: &Context<'_>, variable: &Variable) -> Option<Named> {
    context.set(variable).map(|name| Named { name, why: Why::Set(variable.name) })
}

pub(super) fn is_openai(url: &str) -> bool {
    url::Url::parse(url.trim())
        .is_ok_and(|url| url.host_str().is_some_and(|host| host == "api.openai.com"))
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

/// Parameters that a model accepts, according to its family.
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
