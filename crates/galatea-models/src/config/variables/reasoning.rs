//! Settings of reasoning models: `REASONING_SMALL_MODEL` and `REASONING_LARGE_MODEL` for any provider,
//! and the same with a provider's name before it.

use galatea_core::Variable;

/// Small reasoning model, for any provider.
pub const REASONING_SMALL_MODEL: Variable = Variable::new(
    "REASONING_SMALL_MODEL",
    "Model for short questions of plugins that need thought (TEXT_REASONING_SMALL), or auto: chosen from the provider's list. Unset, the large model.",
);
/// Large reasoning model, for any provider.
pub const REASONING_LARGE_MODEL: Variable = Variable::new(
    "REASONING_LARGE_MODEL",
    "Model for long questions of plugins that need thought (TEXT_REASONING_LARGE), or auto: chosen from the provider's list. Unset, the large model.",
);

macro_rules! pair {
    ($prefix:literal, $title:literal) => {
        [
            Variable::new(
                concat!($prefix, "_REASONING_SMALL_MODEL"),
                concat!("REASONING_SMALL_MODEL at ", $title, "; counts before it."),
            )
            .form_of("REASONING_SMALL_MODEL"),
            Variable::new(
                concat!($prefix, "_REASONING_LARGE_MODEL"),
                concat!("REASONING_LARGE_MODEL at ", $title, "; counts before it."),
            )
            .form_of("REASONING_LARGE_MODEL"),
        ]
    };
}

const OPENAI: [Variable; 2] = pair!("OPENAI", "OpenAI and compatible servers");
const ANTHROPIC: [Variable; 2] = pair!("ANTHROPIC", "Anthropic");
const OPENROUTER: [Variable; 2] = pair!("OPENROUTER", "OpenRouter");
const GOOGLE: [Variable; 2] = pair!("GOOGLE", "Google");
const GROQ: [Variable; 2] = pair!("GROQ", "Groq");
const XAI: [Variable; 2] = pair!("XAI", "xAI");
const MISTRAL: [Variable; 2] = pair!("MISTRAL", "Mistral");
const OLLAMA: [Variable; 2] = pair!("OLLAMA", "Ollama");

/// The settings of a provider: small, large.
pub fn of_provider(provider: &str) -> Option<&'static [Variable; 2]> {
    Some(match provider {
        "openai" => &OPENAI,
        "anthropic" => &ANTHROPIC,
        "openrouter" => &OPENROUTER,
        "google" => &GOOGLE,
        "groq" => &GROQ,
        "xai" => &XAI,
        "mistral" => &MISTRAL,
        "ollama" => &OLLAMA,
        _ => return None,
    })
}

/// All of them.
pub const REASONING: &[Variable] = &[
    REASONING_SMALL_MODEL,
    REASONING_LARGE_MODEL,
    OPENAI[0],
    OPENAI[1],
    ANTHROPIC[0],
    ANTHROPIC[1],
    OPENROUTER[0],
    OPENROUTER[1],
    GOOGLE[0],
    GOOGLE[1],
    GROQ[0],
    GROQ[1],
    XAI[0],
    XAI[1],
    MISTRAL[0],
    MISTRAL[1],
    OLLAMA[0],
    OLLAMA[1],
];
