//! Settings of OpenAI and of servers that speak its API.

use galatea_core::Variable;

use super::{large, small};

/// OpenAI: key.
pub const OPENAI_API_KEY: Variable = Variable::new("OPENAI_API_KEY", "Key of OpenAI, or of the server named by OPENAI_BASE_URL. Further keys, asked when this one is refused or busy: OPENAI_API_KEY_2 to _9; so with every provider.").alias(&["OPENAI_KEY"]).secret().required();
/// OpenAI: address.
pub const OPENAI_BASE_URL: Variable =
    Variable::new("OPENAI_BASE_URL", "Address of a server that speaks OpenAI's API (LM Studio, vLLM, llama.cpp, …); such servers may need no key.")
        .alias(&["OPENAI_API_BASE", "OPENAI_API_URL", "OPENAI_API_BASE_URL"])
        .or("https://api.openai.com/v1");
/// OpenAI: wire format.
pub const OPENAI_API: Variable = Variable::new(
    "OPENAI_API",
    "Format in which models are asked: auto (what OpenAI's own models need; Chat Completions for every other model), chat or responses.",
)
.or("auto");
/// OpenAI: small model.
pub const OPENAI_SMALL_MODEL: Variable = small("OPENAI_SMALL_MODEL").alias(&["SMALL_OPENAI_MODEL"]);
/// OpenAI: large model.
pub const OPENAI_LARGE_MODEL: Variable =
    large("OPENAI_LARGE_MODEL").alias(&["OPENAI_MODEL", "LARGE_OPENAI_MODEL"]);
/// OpenAI: embedding model.
pub const OPENAI_EMBEDDING_MODEL: Variable = Variable::new(
    "OPENAI_EMBEDDING_MODEL",
    "Model for memory search; with another server than OpenAI's, search uses keywords until this is set; unset: chosen from the provider's list.",
)
.alias(&["EMBEDDING_OPENAI_MODEL"]);
/// OpenAI: address for embeddings.
pub const OPENAI_EMBEDDING_URL: Variable =
    Variable::new("OPENAI_EMBEDDING_URL", "Address of another server for embeddings.");
/// OpenAI: key for embeddings.
pub const OPENAI_EMBEDDING_API_KEY: Variable =
    Variable::new("OPENAI_EMBEDDING_API_KEY", "Key of the server named by OPENAI_EMBEDDING_URL.")
        .secret();
/// OpenAI: dimensions of embedding vectors.
pub const OPENAI_EMBEDDING_DIMENSIONS: Variable = Variable::new(
    "OPENAI_EMBEDDING_DIMENSIONS",
    "Width of the vectors; sent only if set. The default model has 1536.",
);
/// OpenAI: vision model.
pub const OPENAI_IMAGE_DESCRIPTION_MODEL: Variable = Variable::new(
    "OPENAI_IMAGE_DESCRIPTION_MODEL",
    "Model that describes pictures; unset: chosen from the provider's list.",
);
/// OpenAI: longest description of a picture, in tokens.
pub const OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS: Variable = Variable::new(
    "OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS",
    "Longest description of a picture, in tokens. Where the large model of another server than OpenAI's describes pictures, only if it is set.",
)
.or("8192");

/// Settings of OpenAI and of servers that speak its API.
pub const OPENAI: &[Variable] = &[
    OPENAI_API_KEY,
    OPENAI_BASE_URL,
    OPENAI_API,
    OPENAI_SMALL_MODEL,
    OPENAI_LARGE_MODEL,
    OPENAI_EMBEDDING_MODEL,
    OPENAI_EMBEDDING_URL,
    OPENAI_EMBEDDING_API_KEY,
    OPENAI_EMBEDDING_DIMENSIONS,
    OPENAI_IMAGE_DESCRIPTION_MODEL,
    OPENAI_IMAGE_DESCRIPTION_MAX_TOKENS,
];
