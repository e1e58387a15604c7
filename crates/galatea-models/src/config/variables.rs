//! Declares every setting of the models. Names and defaults are those of elizaOS where it has them.

mod further;
mod media;
mod openai;
pub mod reasoning;
pub mod sampling;

use galatea_core::Variable;

pub use further::{
    MISTRAL, MISTRAL_API_KEY, MISTRAL_BASE_URL, MISTRAL_EMBEDDING_MODEL, MISTRAL_LARGE_MODEL,
    MISTRAL_SMALL_MODEL, XAI, XAI_API_KEY, XAI_BASE_URL, XAI_LARGE_MODEL, XAI_SMALL_MODEL,
};
pub use media::{
    GOOGLE_TRANSCRIPTION_MODEL, GROQ_TRANSCRIPTION_MODEL, GROQ_TTS_MODEL, GROQ_TTS_VOICE, MEDIA,
    OPENAI_IMAGE_MODEL, OPENAI_TRANSCRIPTION_API_KEY, OPENAI_TRANSCRIPTION_MODEL,
    OPENAI_TRANSCRIPTION_URL, OPENAI_TTS_MODEL, OPENAI_TTS_VOICE, TRANSCRIPTION_PROVIDER,
};
pub use openai::{
    OPENAI, OPENAI_API, OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_EMBEDDING_API_KEY,
    OPENAI_EMBEDDING_DIMENSIONS, OPENAI_EMBEDDING_MODEL, OPENAI_EMBEDDING_URL,
    OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS, OPENAI_IMAGE_DESCRIPTION_MODEL, OPENAI_LARGE_MODEL,
    OPENAI_SMALL_MODEL,
};
pub use reasoning::{REASONING, REASONING_LARGE_MODEL, REASONING_SMALL_MODEL};
pub use sampling::SAMPLING;

/// The provider to use; has precedence over all other settings.
pub const GALATEA_MODEL_PROVIDER: Variable = Variable::new(
    "GALATEA_MODEL_PROVIDER",
    "Provider that answers: anthropic, openrouter, openai, google, groq, xai, mistral, ollama or offline; unset takes the first that is configured.",
);
/// The `modelProvider` of an older character.
pub const MODEL_PROVIDER: Variable = Variable::new(
    "MODEL_PROVIDER",
    "Provider preferred by the character (`modelProvider` of elizaOS v1), used if it is configured.",
);
/// Small model, for any provider.
pub const SMALL_MODEL: Variable = Variable::new(
    "SMALL_MODEL",
    "Model for quick decisions, where the provider's own variable is unset.",
);
/// Large model, for any provider.
pub const LARGE_MODEL: Variable =
    Variable::new("LARGE_MODEL", "Model for answers, where the provider's own variable is unset.");
/// Use of tool calls.
pub const MODEL_TOOLS: Variable =
    Variable::new("MODEL_TOOLS", "Let models call tools natively: true, false, or auto. With auto, a model of a server of one's own is tried once with a harmless call, and offered no tools if it fails; with Ollama, it also depends on what the server says of the model.")
        .or("auto");
/// Context windows of models, in tokens.
pub const MODEL_CONTEXT_WINDOW: Variable = Variable::new(
    "MODEL_CONTEXT_WINDOW",
    "Tokens of prompt and answer together that models take: one number for all, or by model: llama3.1:8b=32768,gpt-4o=128000. Unset, what is known of the model. \
     Without any, a refusal tells it. Ollama is sent it as num_ctx; unset, OLLAMA_CONTEXT_LENGTH, else num_ctx of the Modelfile, else what the model takes, \
     at most 8192.",
);
/// Timeout for the first piece of an answer, in seconds.
pub const MODEL_FIRST_TOKEN_TIMEOUT: Variable = Variable::new(
    "MODEL_FIRST_TOKEN_TIMEOUT",
    "Seconds until the first piece of an answer. Unset, MODEL_TOTAL_TIMEOUT for Ollama and for a server of your own network, which may have to load the model or to read a long prompt on a processor.",
)
.or("30");
/// Timeout between two pieces of an answer, in seconds.
pub const MODEL_IDLE_TIMEOUT: Variable =
    Variable::new("MODEL_IDLE_TIMEOUT", "Seconds between two pieces of an answer.").or("30");
/// Timeout for one answer in total, in seconds.
pub const MODEL_TOTAL_TIMEOUT: Variable = Variable::new(
    "MODEL_TOTAL_TIMEOUT",
    "Seconds for one answer in all, retries and fallbacks included.",
)
.or("120");

/// Fallback models.
pub const MODEL_FALLBACK: Variable = Variable::new(
    "MODEL_FALLBACK",
    "Who answers when a model does not, after its further keys: auto (its sibling of the same provider, then every other configured provider; from a \
     server of one's own only to another of one's own), none, or a list in order, such as sibling, anthropic.",
)
.or("auto");
/// Streaming inside of the program.
pub const MODEL_STREAM: Variable =
    Variable::new("MODEL_STREAM", "Let models stream their answers to this program, so that a silent one is noticed early; false for servers that cannot.")
        .or("true");

/// Settings of all providers.
pub const COMMON: &[Variable] = &[
    GALATEA_MODEL_PROVIDER,
    MODEL_PROVIDER,
    MODEL_FALLBACK,
    SMALL_MODEL,
    LARGE_MODEL,
    MODEL_TOOLS,
    MODEL_CONTEXT_WINDOW,
    MODEL_STREAM,
    MODEL_FIRST_TOKEN_TIMEOUT,
    MODEL_IDLE_TIMEOUT,
    MODEL_TOTAL_TIMEOUT,
];

/// Anthropic: key.
pub const ANTHROPIC_API_KEY: Variable = Variable::new("ANTHROPIC_API_KEY", "Key of Anthropic.")
    .alias(&["ANTHROPIC_KEY", "CLAUDE_API_KEY"])
    .secret()
    .required();
/// Anthropic: address.
pub const ANTHROPIC_BASE_URL: Variable =
    Variable::new("ANTHROPIC_BASE_URL", "Address of Anthropic's API or of a proxy for it.")
        .or("https://api.anthropic.com/v1");
/// Anthropic: small model.
pub const ANTHROPIC_SMALL_MODEL: Variable =
    small("ANTHROPIC_SMALL_MODEL").alias(&["SMALL_ANTHROPIC_MODEL"]);
/// Anthropic: large model.
pub const ANTHROPIC_LARGE_MODEL: Variable =
    large("ANTHROPIC_LARGE_MODEL").alias(&["ANTHROPIC_MODEL", "LARGE_ANTHROPIC_MODEL"]);

/// Settings of Anthropic.
pub const ANTHROPIC: &[Variable] =
    &[ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_SMALL_MODEL, ANTHROPIC_LARGE_MODEL];

/// OpenRouter: key.
pub const OPENROUTER_API_KEY: Variable =
    Variable::new("OPENROUTER_API_KEY", "Key of OpenRouter.").secret().required();
/// OpenRouter: address.
pub const OPENROUTER_BASE_URL: Variable =
    Variable::new("OPENROUTER_BASE_URL", "Address of OpenRouter's API or of a proxy for it.")
        .or("https://openrouter.ai/api/v1");
/// OpenRouter: small model.
pub const OPENROUTER_SMALL_MODEL: Variable =
    small("OPENROUTER_SMALL_MODEL").alias(&["SMALL_OPENROUTER_MODEL"]);
/// OpenRouter: large model.
pub const OPENROUTER_LARGE_MODEL: Variable =
    large("OPENROUTER_LARGE_MODEL").alias(&["OPENROUTER_MODEL", "LARGE_OPENROUTER_MODEL"]);
/// OpenRouter: vision model.
pub const OPENROUTER_IMAGE_MODEL: Variable = Variable::new(
    "OPENROUTER_IMAGE_MODEL",
    "Model that describes pictures; unset uses the large one.",
);
/// OpenRouter: embedding model.
pub const OPENROUTER_EMBEDDING_MODEL: Variable = Variable::new(
    "OPENROUTER_EMBEDDING_MODEL",
    "Model for memory search, such as openai/text-embedding-3-small; unset searches by keywords.",
);
/// OpenRouter: dimensions of embedding vectors.
pub const OPENROUTER_EMBEDDING_DIMENSIONS: Variable =
    Variable::new("OPENROUTER_EMBEDDING_DIMENSIONS", "Width of the vectors; sent only if set.");
/// OpenRouter: the application's address.
pub const OPENROUTER_HTTP_REFERER: Variable = Variable::new(
    "OPENROUTER_HTTP_REFERER",
    "Address of your application, shown in OpenRouter's rankings.",
);
/// OpenRouter: the application's name.
pub const OPENROUTER_X_TITLE: Variable = Variable::new(
    "OPENROUTER_X_TITLE",
    "Name of your application, shown in OpenRouter's rankings.",
);

/// Settings of OpenRouter.
pub const OPENROUTER: &[Variable] = &[
    OPENROUTER_API_KEY,
    OPENROUTER_BASE_URL,
    OPENROUTER_SMALL_MODEL,
    OPENROUTER_LARGE_MODEL,
    OPENROUTER_IMAGE_MODEL,
    OPENROUTER_EMBEDDING_MODEL,
    OPENROUTER_EMBEDDING_DIMENSIONS,
    OPENROUTER_HTTP_REFERER,
    OPENROUTER_X_TITLE,
];

/// Google: key.
pub const GOOGLE_API_KEY: Variable =
    Variable::new("GOOGLE_GENERATIVE_AI_API_KEY", "Key of Google's Gemini API.")
        .alias(&["GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_KEY"])
        .secret()
        .required();
/// Google: address.
pub const GOOGLE_BASE_URL: Variable = Variable::new(
    "GOOGLE_GENERATIVE_AI_BASE_URL",
    "Address of Google's Gemini API or of a proxy for it.",
)
.or("https://generativelanguage.googleapis.com/v1beta");
/// Google: small model.
pub const GOOGLE_SMALL_MODEL: Variable = small("GOOGLE_SMALL_MODEL").alias(&["SMALL_GOOGLE_MODEL"]);
/// Google: large model. Not elizaOS's default, a preview that has been withdrawn.
pub const GOOGLE_LARGE_MODEL: Variable =
    large("GOOGLE_LARGE_MODEL").alias(&["GOOGLE_MODEL", "GEMINI_MODEL", "LARGE_GOOGLE_MODEL"]);
/// Google: vision model.
pub const GOOGLE_IMAGE_MODEL: Variable =
    Variable::new("GOOGLE_IMAGE_MODEL", "Model that describes pictures; unset uses the large one.");
/// Google: embedding model.
pub const GOOGLE_EMBEDDING_MODEL: Variable = Variable::new(
    "GOOGLE_EMBEDDING_MODEL",
    "Model for memory search; unset: chosen from the provider's list.",
);

/// Settings of Google.
pub const GOOGLE: &[Variable] = &[
    GOOGLE_API_KEY,
    GOOGLE_BASE_URL,
    GOOGLE_SMALL_MODEL,
    GOOGLE_LARGE_MODEL,
    GOOGLE_IMAGE_MODEL,
    GOOGLE_EMBEDDING_MODEL,
];

/// Groq: key.
pub const GROQ_API_KEY: Variable =
    Variable::new("GROQ_API_KEY", "Key of Groq.").alias(&["GROQ_KEY"]).secret().required();
/// Groq: address.
pub const GROQ_BASE_URL: Variable =
    Variable::new("GROQ_BASE_URL", "Address of Groq's API or of a proxy for it.")
        .or("https://api.groq.com/openai/v1");
/// Groq: small model.
pub const GROQ_SMALL_MODEL: Variable = small("GROQ_SMALL_MODEL").alias(&["SMALL_GROQ_MODEL"]);
/// Groq: large model.
pub const GROQ_LARGE_MODEL: Variable =
    large("GROQ_LARGE_MODEL").alias(&["GROQ_MODEL", "LARGE_GROQ_MODEL"]);

/// Settings of Groq.
pub const GROQ: &[Variable] = &[GROQ_API_KEY, GROQ_BASE_URL, GROQ_SMALL_MODEL, GROQ_LARGE_MODEL];

/// Ollama: address.
pub const OLLAMA_API_ENDPOINT: Variable =
    Variable::new("OLLAMA_API_ENDPOINT", "Address of Ollama, with or without /api.")
        .alias(&["OLLAMA_API_URL", "OLLAMA_SERVER_URL", "OLLAMA_BASE_URL"])
        .or("http://localhost:11434/api");
/// Ollama: key.
pub const OLLAMA_API_KEY: Variable =
    Variable::new("OLLAMA_API_KEY", "Key, where a proxy or Ollama's own cloud asks for one.")
        .secret();
/// Ollama: small model.
pub const OLLAMA_SMALL_MODEL: Variable = small("OLLAMA_SMALL_MODEL").alias(&["SMALL_OLLAMA_MODEL"]);
/// Ollama: medium model.
pub const OLLAMA_MEDIUM_MODEL: Variable =
    Variable::new("OLLAMA_MEDIUM_MODEL", "Model for answers where OLLAMA_LARGE_MODEL is unset.");
/// Ollama: large model.
pub const OLLAMA_LARGE_MODEL: Variable =
    large("OLLAMA_LARGE_MODEL").alias(&["OLLAMA_MODEL", "LARGE_OLLAMA_MODEL"]);
/// Ollama: embedding model.
pub const OLLAMA_EMBEDDING_MODEL: Variable = Variable::new(
    "OLLAMA_EMBEDDING_MODEL",
    "Model for memory search, such as nomic-embed-text; unset searches by keywords.",
);
/// Ollama: context window, in tokens.
pub const OLLAMA_CONTEXT_LENGTH: Variable = Variable::new(
    "OLLAMA_CONTEXT_LENGTH",
    "Tokens of prompt and answer together for every model of Ollama, as its server reads it; sent as num_ctx. MODEL_CONTEXT_WINDOW counts before it.",
);

/// Settings of Ollama.
pub const OLLAMA: &[Variable] = &[
    OLLAMA_API_ENDPOINT,
    OLLAMA_API_KEY,
    OLLAMA_SMALL_MODEL,
    OLLAMA_MEDIUM_MODEL,
    OLLAMA_LARGE_MODEL,
    OLLAMA_EMBEDDING_MODEL,
    OLLAMA_CONTEXT_LENGTH,
];

/// Folder of an embedding model that runs in this process.
pub const LOCAL_EMBEDDING_FOLDER: Variable = Variable::new(
    "LOCAL_EMBEDDING_FOLDER",
    "Folder of a static embedding model (Model2Vec: model.safetensors, tokenizer.json) for memory search in this process, before the provider's.",
);

/// Settings of models that run in this process.
pub const LOCAL: &[Variable] = &[LOCAL_EMBEDDING_FOLDER];

/// File with a custom offline script.
pub const OFFLINE_SCRIPT: Variable = Variable::new(
    "OFFLINE_SCRIPT",
    "File with rules for the offline script, instead of the built-in ones.",
);
/// Offline script on public platforms.
pub const OFFLINE_RESPONDER_PUBLIC: Variable = Variable::new(
    "OFFLINE_RESPONDER_PUBLIC",
    "Let the offline script answer on public platforms too, not only on this machine.",
)
.or("false");

/// Settings of the offline script.
pub const OFFLINE: &[Variable] = &[OFFLINE_SCRIPT, OFFLINE_RESPONDER_PUBLIC];

/// The providers' key variables. Each may have further ones, such as `OPENAI_API_KEY_2` to `_9`.
pub fn provider_keys() -> impl Iterator<Item = &'static Variable> {
    const KEYS: &[Variable] = &[
        OPENAI_API_KEY,
        ANTHROPIC_API_KEY,
        OPENROUTER_API_KEY,
        GOOGLE_API_KEY,
        GROQ_API_KEY,
        XAI_API_KEY,
        MISTRAL_API_KEY,
        OLLAMA_API_KEY,
    ];
    KEYS.iter()
}

const fn small(name: &'static str) -> Variable {
    Variable::new(name, "Model for quick decisions; unset: chosen from the provider's list.")
}

const fn large(name: &'static str) -> Variable {
    Variable::new(name, "Model for answers; unset: chosen from the provider's list.")
}

/// Every setting of this crate, in groups with a heading.
pub const VARIABLES: &[(&str, &[Variable])] = &[
    ("Models", COMMON),
    ("OpenAI and compatible servers", OPENAI),
    ("Anthropic", ANTHROPIC),
    ("OpenRouter", OPENROUTER),
    ("Google", GOOGLE),
    ("Groq", GROQ),
    ("xAI", XAI),
    ("Mistral", MISTRAL),
    ("Ollama", OLLAMA),
    ("Reasoning models", REASONING),
    ("Voice messages, pictures and speech", MEDIA),
    ("Embeddings in this process", LOCAL),
    ("Offline script", OFFLINE),
    ("Sampling", SAMPLING),
    ("Sampling", &sampling::DEFAULT.parts),
    ("Sampling", &sampling::TEXT_SMALL.parts),
    ("Sampling", &sampling::TEXT_LARGE.parts),
    ("Sampling", &sampling::REASONING_SMALL.parts),
    ("Sampling", &sampling::REASONING_LARGE.parts),
];
