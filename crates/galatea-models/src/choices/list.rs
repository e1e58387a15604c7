//! Reads a provider's list of models; there is one reader per shape of answer. Pure.

use galatea_core::model::{ModelLimits, Price};
use serde_json::Value;

use super::Facts;

/// A model of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedModel {
    /// The model's name at the provider.
    pub(crate) id: String,
    /// Time of its creation, in Unix seconds, if the list says so.
    pub(crate) created: Option<i64>,
    /// True if its end is announced or it is switched off.
    pub(crate) ends: bool,
    /// Limits and price.
    pub(crate) facts: Facts,
}

impl ListedModel {
    #[cfg(test)]
    pub(crate) fn of(id: &str) -> Self {
        Self { id: id.to_owned(), created: None, ends: false, facts: Facts::default() }
    }

    /// True if `name` refers to this model. Ollama adds a tag, Google a prefix.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let bare =
            |name: &str| name.trim_start_matches("models/").trim_end_matches(":latest").to_owned();
        self.id == name || bare(&self.id) == bare(name)
    }
}

/// Reads `{"data":[{"id"…}]}`: OpenAI, Groq, OpenRouter, Anthropic, and compatible servers.
pub(crate) fn by_id(list: &Value) -> Vec<ListedModel> {
    let read = |model: &Value| {
        let has = |name: &str| model.get(name).is_some_and(|value| !value.is_null());
        // The fields of OpenRouter, Groq, Anthropic, vLLM and Mistral, in this order, for the window and
        // then for the longest answer.
        let window = number(
            model,
            &[
                "context_length",
                "context_window",
                "max_input_tokens",
                "max_model_len",
                "max_context_length",
            ],
        );
        let output = number(&model["top_provider"], &["max_completion_tokens"])
            .or_else(|| number(model, &["max_completion_tokens", "max_tokens"]));
        Some(ListedModel {
            id: model["id"].as_str()?.to_owned(),
            created: model["created"].as_i64(),
            ends: has("shutdown_date") || has("expiration_date") || model["active"] == false,
            facts: Facts {
                limits: ModelLimits { window, output },
                price: price(&model["pricing"]),
            },
        })
    };
    list["data"].as_array().into_iter().flatten().filter_map(read).collect()
}

/// Reads `{"models":[{"name"…}]}`: Google. Only models that write text or make vectors.
pub(crate) fn by_google(list: &Value) -> Vec<ListedModel> {
    let read = |model: &Value| {
        let methods = model["supportedGenerationMethods"].as_array();
        let works = methods.is_none_or(|all| {
            all.iter().any(|m| {
                matches!(
                    m.as_str(),
                    Some("generateContent" | "embedContent" | "batchEmbedContents")
                )
            })
        });
        let limits = ModelLimits {
            window: number(model, &["inputTokenLimit"]),
            output: number(model, &["outputTokenLimit"]),
        };
        let id = model["name"].as_str()?.trim_start_matches("models/").to_owned();
        works.then_some(ListedModel {
            id,
            created: None,
            ends: false,
            facts: Facts { limits, price: None },
        })
    };
    list["models"].as_array().into_iter().flatten().filter_map(read).collect()
}

/// Reads `{"models":[{"name"…}]}`: Ollama's installed models.
pub(crate) fn by_name(list: &Value) -> Vec<ListedModel> {
    let read = |model: &Value| {
        Some(ListedModel {
            id: model["name"].as_str()?.to_owned(),
            created: None,
            ends: false,
            facts: Facts::default(),
        })
    };
    list["models"].as_array().into_iter().flatten().filter_map(read).collect()
}

fn number(value: &Value, names: &[&str]) -> Option<u32> {
    names
        .iter()
        .find_map(|name| value[*name].as_u64())
        .and_then(|tokens| u32::try_from(tokens).ok())
        .filter(|tokens| *tokens > 0)
}

/// Reads OpenRouter's prices: US dollars for one token, as text.
fn price(pricing: &Value) -> Option<Price> {
    let of = |name: &str| pricing[name].as_str().and_then(per_million);
    let (input, output) = (of("prompt")?, of("completion")?);
    let cached = of("input_cache_read").unwrap_or(input);
    // Some list the surcharge alone.
    let stored = of("input_cache_write").map(|price| price.max(input));
    Some(Price { input, cached, output, stored, stored_long: None })
}

/// Converts dollars per token to micro-dollars per million tokens, a factor of 10^12. Rounds up.
fn per_million(dollars: &str) -> Option<u64> {
    let (whole, part) = dollars.split_once('.').unwrap_or((dollars, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 6 || !digits(whole) || !digits(part) {
        return None;
    }
    let (kept, rest) = part.split_at(part.len().min(12));
    let micros = format!("{whole}{kept:0<12}").parse::<u64>().ok()?;
    Some(micros + u64::from(rest.bytes().any(|b| b != b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_shape_tells_what_it_has() {
        let list = json!({ "data": [
            { "id": "gpt-6-luna", "created": 5, "owned_by": "openai", "shutdown_date": null },
            { "id": "gpt-4o", "created": 1, "shutdown_date": "2027-01-14" },
            { "id": "a/b", "context_length": 4096, "top_provider": { "max_completion_tokens": 512 }, "expiration_date": null,
              "pricing": { "prompt": "0.0000001", "completion": "0.0000005", "input_cache_read": "0.00000001", "input_cache_write": "0.000000125" } },
            { "id": "claude", "max_input_tokens": 1_000_000, "max_tokens": 128_000 },
            { "id": "groq", "active": false, "context_window": 131_072 },
            { "id": 7 }, "x",
        ] });
        let read = by_id(&list);
        assert_eq!(
            read.iter().map(|m| (m.id.as_str(), m.ends)).collect::<Vec<_>>(),
            [
                ("gpt-6-luna", false),
                ("gpt-4o", true),
                ("a/b", false),
                ("claude", false),
                ("groq", true)
            ]
        );
        let limits = |i: usize| (read[i].facts.limits.window, read[i].facts.limits.output);
        assert_eq!(
            (limits(2), limits(3), limits(4)),
            ((Some(4096), Some(512)), (Some(1_000_000), Some(128_000)), (Some(131_072), None))
        );
        assert_eq!(
            read[2].facts.price,
            Some(Price {
                input: 100_000,
                cached: 10_000,
                output: 500_000,
                stored: Some(125_000),
                stored_long: None
            })
        );

        let google = json!({ "models": [
            { "name": "models/gemini-3.8-flash", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent"] },
            { "name": "models/veo", "supportedGenerationMethods": ["predictLongRunning"] },
        ] });
        let read = by_google(&google);
        assert_eq!(
            (read.len(), read[0].id.as_str(), read[0].facts.limits.window),
            (1, "gemini-3.8-flash", Some(1_048_576))
        );
        assert_eq!(
            by_name(&json!({ "models": [{ "name": "gemma3:latest" }] }))[0].id,
            "gemma3:latest"
        );
        for nothing in [json!(null), json!([]), json!({ "data": {} })] {
            assert!(
                by_id(&nothing).is_empty()
                    && by_google(&nothing).is_empty()
                    && by_name(&nothing).is_empty()
            );
        }
    }

    #[test]
    fn prices_of_one_token_become_prices_of_a_million() {
        for (text, expected) in [
            ("0.000002", Some(2_000_000)),
            ("0", Some(0)),
            ("0.0000000000001", Some(1)),
            ("-1", None),
            ("", None),
            ("1e-7", None),
        ] {
            assert_eq!(per_million(text), expected, "{text}");
        }
    }

    #[test]
    fn names_mean_the_same_model_with_and_without_tag_or_folder() {
        assert!(
            ListedModel::of("gemma3:latest").has_name("gemma3")
                && ListedModel::of("gemini-3").has_name("models/gemini-3")
                && !ListedModel::of("gemma3:4b").has_name("gemma3")
        );
    }
}
