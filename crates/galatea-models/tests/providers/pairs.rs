//! Test support: one server per provider, with models that use it.

use galatea_core::Models;
use galatea_models::Configured;
use galatea_testkit::models::{
    Anthropic, AnthropicServer, Dialect, Google, GoogleServer, ModelServer, Ollama, OllamaServer,
    OpenAi, OpenAiServer,
};

use crate::ask::{KEY, configure};

/// A server with models that use it.
pub(crate) struct Pair<D: Dialect> {
    pub(crate) server: ModelServer<D>,
    pub(crate) models: Models,
    pub(crate) configured: Configured,
    settings: Vec<(String, String)>,
}

impl<D: Dialect> Pair<D> {
    pub(crate) fn new(server: ModelServer<D>, settings: &[(&str, &str)]) -> Self {
        let base = server.base_url();
        let pairs: Vec<(&str, &str)> = settings
            .iter()
            .map(|(k, v)| (*k, if *v == "BASE" { base.as_str() } else { *v }))
            .collect();
        let configured = configure(&pairs);
        let settings = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Self { models: configured.models.clone(), server, configured, settings }
    }

    /// Builds the same models again with fresh breakers and with additional settings.
    pub(crate) fn fresh(&self, more: &[(&str, &str)]) -> Models {
        let own = self.settings.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        configure(&own.chain(more.iter().copied()).collect::<Vec<_>>()).models
    }
}

pub(crate) async fn openai() -> Pair<OpenAi> {
    let server =
        OpenAiServer::with(OpenAi { extended: true, comments: true }, Some(KEY)).await.unwrap();
    let models = [
        ("OPENAI_SMALL_MODEL", "gpt-4o-mini"),
        ("OPENAI_LARGE_MODEL", "gpt-4o"),
        ("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small"),
    ];
    Pair::new(
        server,
        &[&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "BASE")], models.as_slice()].concat(),
    )
}

/// OpenAI with the Responses format, and models that require it.
pub(crate) async fn responses() -> Pair<OpenAi> {
    let server = OpenAiServer::start(KEY).await.unwrap();
    let models = [("OPENAI_SMALL_MODEL", "gpt-6-luna"), ("OPENAI_LARGE_MODEL", "gpt-6.1-terra")];
    Pair::new(
        server,
        &[&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "BASE")], models.as_slice()].concat(),
    )
}

pub(crate) async fn anthropic() -> Pair<Anthropic> {
    Pair::new(
        AnthropicServer::start(KEY).await.unwrap(),
        &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "BASE")],
    )
}

pub(crate) async fn ollama() -> Pair<Ollama> {
    let server = OllamaServer::start(KEY).await.unwrap();
    Pair::new(
        server,
        &[
            ("OLLAMA_API_KEY", KEY),
            ("OLLAMA_API_ENDPOINT", "BASE"),
            ("OLLAMA_EMBEDDING_MODEL", "nomic-embed-text"),
        ],
    )
}

pub(crate) async fn google() -> Pair<Google> {
    Pair::new(
        GoogleServer::start(KEY).await.unwrap(),
        &[("GOOGLE_GENERATIVE_AI_API_KEY", KEY), ("GOOGLE_GENERATIVE_AI_BASE_URL", "BASE")],
    )
}
