//! Recognises by its message that a model or its server takes no tools. No service has a code for
//! it.

use super::mentions;

/// Servers and services of OpenAI's API, in lower case.
pub(crate) const OPENAI: &[&str] = &[
    // vLLM, 400: `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be
    // set` (vllm/entrypoints/openai, serving of chat).
    "tool choice requires",
    // llama.cpp's server, 500: `tools param requires --jinja flag` (tools/server/utils.hpp).
    "tools param requires",
    // Ollama's interface of this format and LM Studio, 400: `… does not support tools`.
    "support tools",
    // OpenRouter, 404: `No endpoints found that support tool use`.
    "support tool use",
    "support tool call",
    // DeepSeek, 400: `deepseek-reasoner does not support Function Calling` (vercel/ai issue 4727);
    // Volcengine, 400: `the requested model does not support function calling`.
    "support function calling",
    // SiliconFlow, 400: `Function call is not supported for this model` (labring/FastGPT issue 4031).
    "function call is not supported",
    // DeepInfra, 405: `Tool calling is not supported for model: …`; Groq, 400: `` `tool calling` is
    // not supported with this model``.
    "tool calling is not supported",
    "tool calling` is not supported",
    // One API, 400: `The tool call is not supported` (songquanpeng/one-api issue 2214).
    "tool call is not supported",
];

/// Anthropic, and services of its format.
pub(crate) const ANTHROPIC: &[&str] = &["support tool use", "support tools"];

/// Google, 400: `Function calling is not enabled for models/…`, `Tool use is not supported …`.
pub(crate) const GOOGLE: &[&str] =
    &["function calling is not enabled", "tool use is not supported"];

/// Ollama, 400: `registry.ollama.ai/library/… does not support tools` (server/routes.go).
pub(crate) const OLLAMA: &[&str] = &["does not support tools"];

/// True if a refusal is about tools. A status that says something else by itself, such as a refused
/// key or a rate limit, is about that.
pub(crate) fn refuses_tools(phrases: &[&str], status: u16, message: &str) -> bool {
    (400..=500).contains(&status)
        && !matches!(status, 401 | 402 | 413 | 429)
        && mentions(message, phrases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_says_it_in_its_own_words() {
        for (phrases, status, message) in [
            (
                OPENAI,
                400,
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            ),
            (OPENAI, 500, "tools param requires --jinja flag"),
            (OPENAI, 400, "registry.ollama.ai/library/gemma3:4b does not support tools"),
            (OPENAI, 404, "No endpoints found that support tool use. Try disabling \"SEND\"."),
            (OPENAI, 400, "deepseek-reasoner does not support Function Calling"),
            (OPENAI, 400, "Function call is not supported for this model."),
            (OPENAI, 405, "Tool calling is not supported for model: x"),
            (OPENAI, 400, "`tool calling` is not supported with this model"),
            (ANTHROPIC, 400, "x does not support tool use"),
            (GOOGLE, 400, "Function calling is not enabled for models/gemma-3"),
            (OLLAMA, 400, "registry.ollama.ai/library/gemma3:270m does not support tools"),
        ] {
            assert!(refuses_tools(phrases, status, message), "{status} {message}");
        }
        for (status, message) in [
            (400, "Invalid schema for function 'SEND'"),
            (404, "No endpoints found for a/b."),
            (429, "this tier does not support tools; slow down"),
            (503, "does not support tools"),
        ] {
            assert!(!refuses_tools(OPENAI, status, message), "{status} {message}");
        }
    }
}
