//! The table of providers: one row for each service.

use galatea_core::Variable;

use super::{Codec, Provider};
use crate::{config::variables as var, openai::Dialect};

/// In order of precedence: the first configured one is used (elizaOS's order of plug-ins).
pub(in crate::config) const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        label: "Anthropic",
        key: var::ANTHROPIC_API_KEY,
        address: var::ANTHROPIC_BASE_URL,
        small: var::ANTHROPIC_SMALL_MODEL,
        large: var::ANTHROPIC_LARGE_MODEL,
        codec: Codec::Anthropic,
        ..PLAIN
    },
    Provider {
        name: "openrouter",
        label: "OpenRouter",
        key: var::OPENROUTER_API_KEY,
        address: var::OPENROUTER_BASE_URL,
        small: var::OPENROUTER_SMALL_MODEL,
        large: var::OPENROUTER_LARGE_MODEL,
        codec: Codec::OpenRouter,
        vision: Some(var::OPENROUTER_IMAGE_MODEL),
        embedding: Some(var::OPENROUTER_EMBEDDING_MODEL),
        width: Some(var::OPENROUTER_EMBEDDING_DIMENSIONS),
        headers: &[
            ("http-referer", var::OPENROUTER_HTTP_REFERER),
            ("x-title", var::OPENROUTER_X_TITLE),
        ],
    },
    Provider {
        name: "openai",
        label: "OpenAI",
        key: var::OPENAI_API_KEY,
        address: var::OPENAI_BASE_URL,
        small: var::OPENAI_SMALL_MODEL,
        large: var::OPENAI_LARGE_MODEL,
        vision: Some(var::OPENAI_IMAGE_DESCRIPTION_MODEL),
        embedding: Some(var::OPENAI_EMBEDDING_MODEL),
        width: Some(var::OPENAI_EMBEDDING_DIMENSIONS),
        ..PLAIN
    },
    Provider {
        name: "google",
        label: "Google",
        key: var::GOOGLE_API_KEY,
        address: var::GOOGLE_BASE_URL,
        small: var::GOOGLE_SMALL_MODEL,
        large: var::GOOGLE_LARGE_MODEL,
        codec: Codec::Google,
        vision: Some(var::GOOGLE_IMAGE_MODEL),
        embedding: Some(var::GOOGLE_EMBEDDING_MODEL),
        ..PLAIN
    },
    Provider {
        name: "groq",
        label: "Groq",
        key: var::GROQ_API_KEY,
        address: var::GROQ_BASE_URL,
        small: var::GROQ_SMALL_MODEL,
        large: var::GROQ_LARGE_MODEL,
        ..PLAIN
    },
    Provider {
        name: "xai",
        label: "xAI",
        key: var::XAI_API_KEY,
        address: var::XAI_BASE_URL,
        small: var::XAI_SMALL_MODEL,
        large: var::XAI_LARGE_MODEL,
        ..PLAIN
    },
    // It refuses messages of one side in a row.
    Provider {
        name: "mistral",
        label: "Mistral",
        key: var::MISTRAL_API_KEY,
        address: var::MISTRAL_BASE_URL,
        small: var::MISTRAL_SMALL_MODEL,
        large: var::MISTRAL_LARGE_MODEL,
        codec: Codec::OpenAi(Dialect::Extended),
        embedding: Some(var::MISTRAL_EMBEDDING_MODEL),
        ..PLAIN
    },
    Provider {
        name: "ollama",
        label: "Ollama",
        key: var::OLLAMA_API_KEY,
        address: var::OLLAMA_API_ENDPOINT,
        small: var::OLLAMA_SMALL_MODEL,
        large: var::OLLAMA_LARGE_MODEL,
        codec: Codec::Ollama,
        embedding: Some(var::OLLAMA_EMBEDDING_MODEL),
        ..PLAIN
    },
];

const UNSET: Variable = Variable::new("", "");
/// A service of OpenAI's Chat Completions without further features.
const PLAIN: Provider = Provider {
    name: "",
    label: "",
    key: UNSET,
    address: UNSET,
    small: UNSET,
    large: UNSET,
    codec: Codec::OpenAi(Dialect::Strict),
    vision: None,
    embedding: None,
    width: None,
    headers: &[],
};
