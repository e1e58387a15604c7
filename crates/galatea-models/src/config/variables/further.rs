//! Settings of xAI and Mistral, whose services have OpenAI's form.

use galatea_core::Variable;

use super::{large, small};

/// xAI: key.
pub const XAI_API_KEY: Variable =
    Variable::new("XAI_API_KEY", "Key of xAI.").alias(&["GROK_API_KEY"]).secret().required();
/// xAI: address.
pub const XAI_BASE_URL: Variable =
    Variable::new("XAI_BASE_URL", "Address of xAI's API or of a proxy for it.")
        .or("https://api.x.ai/v1");
/// xAI: small model.
pub const XAI_SMALL_MODEL: Variable = small("XAI_SMALL_MODEL").alias(&["SMALL_GROK_MODEL"]);
/// xAI: large model.
pub const XAI_LARGE_MODEL: Variable =
    large("XAI_LARGE_MODEL").alias(&["XAI_MODEL", "GROK_MODEL", "LARGE_GROK_MODEL"]);

/// Settings of xAI.
pub const XAI: &[Variable] = &[XAI_API_KEY, XAI_BASE_URL, XAI_SMALL_MODEL, XAI_LARGE_MODEL];

/// Mistral: key.
pub const MISTRAL_API_KEY: Variable =
    Variable::new("MISTRAL_API_KEY", "Key of Mistral.").secret().required();
/// Mistral: address.
pub const MISTRAL_BASE_URL: Variable =
    Variable::new("MISTRAL_BASE_URL", "Address of Mistral's API or of a proxy for it.")
        .or("https://api.mistral.ai/v1");
/// Mistral: small model.
pub const MISTRAL_SMALL_MODEL: Variable =
    small("MISTRAL_SMALL_MODEL").alias(&["SMALL_MISTRAL_MODEL"]);
/// Mistral: large model.
pub const MISTRAL_LARGE_MODEL: Variable =
    large("MISTRAL_LARGE_MODEL").alias(&["MISTRAL_MODEL", "LARGE_MISTRAL_MODEL"]);
/// Mistral: embedding model.
pub const MISTRAL_EMBEDDING_MODEL: Variable = Variable::new(
    "MISTRAL_EMBEDDING_MODEL",
    "Model for memory search, such as mistral-embed; unset searches by keywords.",
);

/// Settings of Mistral.
pub const MISTRAL: &[Variable] = &[
    MISTRAL_API_KEY,
    MISTRAL_BASE_URL,
    MISTRAL_SMALL_MODEL,
    MISTRAL_LARGE_MODEL,
    MISTRAL_EMBEDDING_MODEL,
];
