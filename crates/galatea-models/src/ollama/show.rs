//! Reads a model's context window from `POST /api/show`.

use serde::Serialize;
use serde_json::Value;

use crate::wire::{Call, Endpoint, Fail};

/// Window in tokens if neither settings nor server give one: twice Ollama's own smallest default
/// (docs/context-length: 4k below 24 GiB), about a gigabyte of memory with a model of 8B.
pub(crate) const DEFAULT_WINDOW: u32 = 8_192;
/// Smallest window accepted, in tokens; a prompt with a character needs as much.
const LEAST: u64 = 512;

#[derive(Serialize)]
struct ShowBody<'a> {
    model: &'a str,
}

/// The window to use for a model: `num_ctx` of its Modelfile, limited to the model's maximum;
/// without `num_ctx` the model's maximum, limited to [`DEFAULT_WINDOW`].
///
/// # Errors
/// When Ollama cannot be reached or does not have the model.
pub(crate) async fn window(endpoint: &Endpoint, model: &str) -> galatea_core::Result<Option<u32>> {
    let response = endpoint
        .post("/show", &ShowBody { model }, false, &Call { model, read: super::error::read })
        .await?;
    let bytes = endpoint.body(response).await?;
    let body = serde_json::from_slice(&bytes)
        .map_err(|_| endpoint.fail(Fail::Garbage("facts of a model"), model))?;
    Ok(read(&body))
}

/// Reads the window from the answer; `None` if it contains neither number.
fn read(body: &Value) -> Option<u32> {
    let info = &body["model_info"];
    let most = info["general.architecture"]
        .as_str()
        .and_then(|name| tokens(info[format!("{name}.context_length")].as_u64()?));
    let own = body["parameters"].as_str().and_then(num_ctx);
    match (own, most) {
        (Some(own), Some(most)) => Some(own.min(most)),
        (Some(own), None) => Some(own),
        (None, most) => most.map(|most| most.min(DEFAULT_WINDOW)),
    }
}

/// Reads `num_ctx` from `parameters`, which has one parameter per line: a name, spaces, a value.
fn num_ctx(parameters: &str) -> Option<u32> {
    let value = parameters
        .lines()
        .find_map(|line| line.trim().strip_prefix("num_ctx")?.strip_prefix(char::is_whitespace))?;
    tokens(value.trim().parse().ok()?)
}

fn tokens(number: u64) -> Option<u32> {
    u32::try_from(number).ok().filter(|_| number >= LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_modelfile_comes_before_the_default_and_no_window_is_larger_than_the_model() {
        let window = |parameters: Value, most: Value| {
            read(
                &json!({ "parameters": parameters, "model_info": { "general.architecture": "gemma3", "gemma3.context_length": most, "llama.context_length": 7 } }),
            )
        };
        let with = |n: &str| {
            json!(format!(
                "temperature                    1\nnum_ctx                        {n}\nstop                           \"<end>\""
            ))
        };
        assert_eq!(window(with("32768"), json!(131_072)), Some(32_768), "the Modelfile's");
        assert_eq!(
            window(with("32768"), json!(16_384)),
            Some(16_384),
            "never more than the model takes"
        );
        assert_eq!(window(with("32768"), Value::Null), Some(32_768));
        assert_eq!(
            window(json!("temperature 1"), json!(131_072)),
            Some(DEFAULT_WINDOW),
            "memory is not spent unasked"
        );
        assert_eq!(window(Value::Null, json!(2_048)), Some(2_048), "a small model");
        for odd in ["-1", "0", "12", "8k", "", "99999999999"] {
            assert_eq!(window(with(odd), json!(131_072)), Some(DEFAULT_WINDOW), "{odd}");
        }
        assert_eq!(
            window(json!("num_ctx_more 9000"), json!(4_096)),
            Some(4_096),
            "another parameter"
        );
        for nothing in [
            json!(null),
            json!([]),
            json!({}),
            json!({ "model_info": { "general.architecture": 7 }, "parameters": [] }),
        ] {
            assert_eq!(read(&nothing), None, "{nothing}");
        }
    }
}
