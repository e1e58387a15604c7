//! Dialects of OpenAI's API.

/// Parameters that a service of this API accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI itself and Groq: they refuse unknown parameters, and reasoning models accept fewer.
    Strict,
    /// OpenRouter, vLLM and other servers, which also accept `top_k`, `min_p` and
    /// `repetition_penalty`.
    Extended,
}
