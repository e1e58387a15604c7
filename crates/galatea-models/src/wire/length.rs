//! Reads whether a refusal is about the length of a request, and its numbers. Pure.
//!
//! Services have no common code for it, and a limit of tokens per minute reads much alike. A prompt
//! is shortened only for a refusal that says so: what is shortened for another reason is lost for
//! nothing.

use galatea_core::Overlong;

use super::{Hint, mentions};

/// Smallest number that is a count of tokens; smaller ones are times and indices.
const LEAST: u64 = 64;

/// Words of a limit of requests or tokens in a time.
const RATE: &[&str] = &[
    "tokens per min",
    "tokens per day",
    "tokens per hour",
    "tokens per second",
    "token per minute",
    "tokens/min",
    "(tpm)",
    "(tpd)",
    " tpm",
    "per minute",
    "per day",
    "per second",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "rate-limit",
    "please wait",
    "try again in",
    "try again later",
    "retry in",
    "retry after",
    "slow down",
    "quota",
    "throttl",
    "too many requests",
    "concurren",
];

/// The part that is too long.
const WHAT: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "context limit",
    "context the overflows",
    "context_length",
    "context overflow",
    "contextlength",
    "model length",
    "token",
    "prompt",
    "input is too long",
    "input length",
    "input too long",
    "length of the messages",
    "larger than the context",
    "message is too long",
    "messages are too long",
];

/// That it is too long.
const TOO: &[&str] = &[
    "exceed",
    "too long",
    "too large",
    "too many",
    "too big",
    "longer than",
    "larger than",
    "greater than",
    "more than",
    "maximum context",
    "maximum prompt",
    "max context",
    "must have less than",
    "must be <=",
    "not enough",
    "does not fit",
    "doesn't fit",
    "cannot exceed",
    "reduce the length",
    "reduce your",
    "shorten",
    "overflow",
    "keep the first",
    "out of context",
    " > ",
];

/// Words of a refusal of a feature or a field, which may name the context window as well.
const OTHER: &[&str] = &[
    "not available",
    "not enabled",
    "not supported",
    "unsupported",
    "unknown",
    "unrecognized",
    "invalid value",
    "beta",
    "your plan",
    "your tier",
    "not allowed",
    "not permitted",
    "schema",
];

/// Codes of a conversation that is too long: OpenAI's, and llama.cpp's.
const CODES: [&str; 3] =
    ["context_length_exceeded", "string_above_max_length", "exceed_context_size_error"];

/// Message of a refusal about length. `None` if it is about something else.
pub(crate) fn hint(status: u16, code: Option<&str>, message: &str) -> Option<Hint> {
    if !matches!(status, 400 | 413 | 422 | 429 | 500) {
        return None;
    }
    // A limit of the answer alone.
    if mentions(message, &["completion tokens", "output tokens"])
        && mentions(message, &["supports at most"])
    {
        return None;
    }
    let numbers = numbers(message);
    let over = match (numbers.most, numbers.asked) {
        (Some(most), Some(asked)) => Some(asked > most),
        _ => None,
    };
    let by_code = code.is_some_and(|code| CODES.contains(&code));
    let rate = mentions(message, RATE) || code == Some("rate_limit_exceeded");
    if rate && !by_code {
        // More than the limit of a minute never passes, however long one waits.
        let never_passes = over == Some(true) && mentions(message, &["too large", "reduce"]);
        let is_limit = matches!(status, 413 | 429)
            || (status < 500 && (over.is_some() || mentions(message, &["token", "request"])));
        return match (never_passes, is_limit) {
            (true, _) => Some(Hint::TooLong(numbers)),
            (false, true) => Some(Hint::RateLimited),
            (false, false) => None,
        };
    }
    if over == Some(false) {
        return None;
    }
    let says = mentions(message, WHAT) && (over == Some(true) || mentions(message, TOO));
    let other = mentions(message, OTHER) && over.is_none() && !by_code;
    let too_long = match status {
        413 => true,
        // A fault that names the context is the only form of some servers.
        500 => says && !other && mentions(message, &["context", "prompt"]),
        429 => false,
        _ => by_code || (says && !other),
    };
    too_long.then_some(Hint::TooLong(numbers))
}

/// The numbers of a refusal.
fn numbers(message: &str) -> Overlong {
    // Of the limit: before the number, or behind it.
    const MOST: &[&str] = &[
        "context length is",
        "context length is only",
        "context length of",
        "context length of only",
        "context length:",
        "context window is",
        "context window of",
        "context size of",
        "context size (",
        "context limit is",
        "context limit of",
        "prompt length is",
        "input length of",
        "model length of",
        "model length is",
        "tokens allowed (",
        "tokens allowed is",
        "less than",
        "cannot exceed",
        "must be <=",
        "limit",
        "limit:",
        "limit is",
        "limit of",
        "maximum is",
        "maximum of",
        "at most",
        "up to",
        "n_ctx\":",
        ">",
        "only",
    ];
    const BEHIND: &[&str] =
        &["maximum", "token limit", "tokens maximum", "token maximum", "max context"];
    let lower = message.to_lowercase();
    let found = counts(&lower);
    let is_most = |(start, end, _): &&(usize, usize, u64)| {
        let before = lower[..*start].trim_end();
        let behind = lower[*end..].trim_start();
        // `exceed context limit: 190000 + 20000 > 200000`.
        !behind.starts_with('+')
            && (MOST.iter().any(|words| before.ends_with(words))
                || BEHIND.iter().any(|words| behind.starts_with(words)))
    };
    let most = found.iter().find(is_most).map(|(.., number)| *number);
    let mut others: Vec<u64> =
        found.iter().filter(|one| !is_most(one)).map(|(.., number)| *number).collect();
    others.sort_unstable();
    others.dedup();
    let Some(limit) = most else { return Overlong::default() };
    // Ollama: `exceeded max context length by 1234 tokens` has no limit, only the surplus.
    let largest = others.last().copied();
    let sum = others.iter().sum();
    let asked = match largest {
        Some(largest) if largest > limit => Some(largest),
        // Prompt and answer, told apart.
        Some(_) if others.len() > 1 && others.len() <= 3 && sum > limit => Some(sum),
        Some(largest) if lower.contains("request") || lower.contains("used") => Some(largest),
        _ => None,
    };
    Overlong { most, asked }
}

/// Whole numbers in a text, with their places; `131,072` is one.
fn counts(text: &str) -> Vec<(usize, usize, u64)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        let groups = |at: usize| {
            bytes.get(at) == Some(&b',')
                && bytes
                    .get(at + 1..at + 4)
                    .is_some_and(|three| three.iter().all(u8::is_ascii_digit))
        };
        while at < bytes.len() && (bytes[at].is_ascii_digit() || groups(at)) {
            at += 1;
        }
        let inside_word = start > 0
            && (bytes[start - 1].is_ascii_alphanumeric() || b"-_.".contains(&bytes[start - 1]));
        let goes_on = bytes.get(at).is_some_and(|next| {
            next.is_ascii_alphabetic()
                || (*next == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit))
        });
        let is_size = ["byte", "kb", "mb", "kib", "mib"]
            .iter()
            .any(|unit| text[at..].trim_start().starts_with(unit));
        let digits: String = text[start..at].chars().filter(char::is_ascii_digit).collect();
        if let Ok(number) = digits.parse::<u64>()
            && number >= LEAST
            && !inside_word
            && !goes_on
            && !is_size
        {
            found.push((start, at, number));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(most: Option<u64>, asked: Option<u64>) -> Option<Hint> {
        Some(Hint::TooLong(Overlong { most, asked }))
    }

    /// Refusals of OpenAI, Azure, Anthropic, Google, Groq, Mistral, OpenRouter, llama.cpp, vLLM,
    /// Ollama, LM Studio, Together, DeepSeek, Fireworks, xAI, Cohere, Bedrock and
    /// text-generation-inference, as their documentation and issue trackers show them.
    #[test]
    fn what_is_too_long_is_told_from_what_comes_too_fast() {
        let rate = Some(Hint::RateLimited);
        let cases: &[(u16, Option<&str>, &str, Option<Hint>)] = &[
            (
                400,
                Some("context_length_exceeded"),
                "This model's maximum context length is 8192 tokens. However, you requested 8300 tokens (7300 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
                long(Some(8192), Some(8300)),
            ),
            (
                400,
                Some("context_length_exceeded"),
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.",
                long(Some(272_000), Some(300_000)),
            ),
            (
                400,
                Some("context_length_exceeded"),
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                long(None, None),
            ),
            (
                400,
                None,
                "prompt is too long: 210000 tokens > 200000 maximum",
                long(Some(200_000), Some(210_000)),
            ),
            (
                400,
                None,
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
                long(Some(200_000), Some(210_000)),
            ),
            (
                400,
                None,
                "The input token count (9001) exceeds the maximum number of tokens allowed (8192).",
                long(Some(8192), Some(9001)),
            ),
            (
                400,
                Some("context_length_exceeded"),
                "Please reduce the length of the messages or completion.",
                long(None, None),
            ),
            (
                400,
                None,
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                long(Some(32_768), Some(40_000)),
            ),
            (
                400,
                None,
                "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens (8500 of text input, 500 in the output). Please reduce the length of either one.",
                long(Some(8192), Some(9000)),
            ),
            (
                400,
                Some("exceed_context_size_error"),
                "the request exceeds the available context size, try increasing it",
                long(None, None),
            ),
            (
                400,
                None,
                "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
                long(Some(4096), Some(9000)),
            ),
            (
                400,
                None,
                "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 4096 tokens and your request has 3500 input tokens (1024 > 4096 - 3500).",
                long(Some(4096), Some(4524)),
            ),
            (
                400,
                None,
                "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
                long(Some(4096), Some(5000)),
            ),
            (
                400,
                None,
                "You passed 3500 input tokens and requested 1000 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3096 tokens.",
                long(Some(4096), Some(4500)),
            ),
            (
                400,
                None,
                "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
                long(Some(4096), Some(9000)),
            ),
            (400, None, "input length exceeds maximum context length", long(None, None)),
            (
                500,
                None,
                "prompt too long; exceeded max context length by 1234 tokens",
                long(None, None),
            ),
            (
                422,
                None,
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`",
                long(Some(8193), Some(9000)),
            ),
            (
                422,
                None,
                "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
                long(Some(1024), Some(2000)),
            ),
            (
                400,
                None,
                "The prompt is too long: 140000, model maximum context length: 131071",
                long(Some(131_071), Some(140_000)),
            ),
            (
                400,
                None,
                "This model's maximum prompt length is 131,072 but the request contains 140,000 tokens.",
                long(Some(131_072), Some(140_000)),
            ),
            (
                400,
                None,
                "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt.",
                long(Some(4081), Some(5000)),
            ),
            (400, None, "Input is too long for requested model.", long(None, None)),
            (413, None, "", long(None, None)),
            (413, None, "Request exceeds the maximum size", long(None, None)),
            (
                413,
                None,
                "Request payload size exceeds the limit: 20971520 bytes.",
                long(None, None),
            ),
            // More than a minute's limit: waiting does not help.
            (
                413,
                Some("rate_limit_exceeded"),
                "Request too large for model `openai/gpt-oss-20b` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
                long(Some(6000), Some(9000)),
            ),
            (
                429,
                Some("rate_limit_exceeded"),
                "Request too large for gpt-4 in organization org-1 on tokens per min (TPM): Limit 10000, Requested 12000. The input or output tokens must be reduced in order to run successfully.",
                long(Some(10_000), Some(12_000)),
            ),
            // Limits of a time.
            (413, Some("rate_limit_exceeded"), "Tokens per minute exceeded", rate),
            (413, None, "Request too large on tokens per minute (TPM)", rate),
            (
                429,
                Some("rate_limit_exceeded"),
                "Rate limit reached for gpt-4 in organization org-1 on tokens per min (TPM): Limit 10000, Used 9500, Requested 1200. Please try again in 4.2s.",
                rate,
            ),
            (
                429,
                None,
                "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
                rate,
            ),
            (400, None, "Too many tokens, please wait before trying again.", rate),
            (400, None, "Too many tokens per day, please wait before trying again.", rate),
            (429, None, "Requests rate limit exceeded", rate),
            (
                429,
                None,
                "You exceeded your current quota, please check your plan and billing details.",
                rate,
            ),
            (429, None, "Too many tokens", None),
            // About something else.
            (
                400,
                None,
                "The long context window beta is not yet available for this subscription.",
                None,
            ),
            (400, None, "Unsupported parameter: context window", None),
            (400, None, "Unknown field: max_context_tokens exceeds the schema", None),
            (400, None, "Invalid value for max_tokens: must be at least 1", None),
            (
                400,
                None,
                "max_tokens is too large: 500000. This model supports at most 128000 completion tokens, whereas you provided 500000.",
                None,
            ),
            (
                400,
                None,
                "This model's maximum context length is 131072 tokens. However, you requested 900 tokens.",
                None,
            ),
            (400, None, "The context window shows that you are kind.", None),
            (401, None, "prompt is too long", None),
            (503, None, "the prompt exceeds what is free", None),
        ];
        let wrong: Vec<_> = cases
            .iter()
            .map(|(status, code, message, expected)| {
                (hint(*status, *code, message), *expected, *status, *message)
            })
            .filter(|(read, expected, ..)| read != expected)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
