//! Detects Ollama, and chooses among its models.

use galatea_http::{HttpClient, HttpOptions};
use galatea_models::config::variables::OLLAMA_API_ENDPOINT;
use serde_json::Value;
use std::time::Duration;

use crate::context::Context;

/// Ollama runs on this machine or near it, so a slow answer means that it is absent.
const PATIENCE: Duration = Duration::from_secs(2);
/// Limit of the answer in bytes. The list of models is short.
const MAX_ANSWER: usize = 1 << 20;

/// The models chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OllamaModels {
    /// Text model, for answers.
    pub(super) text: Option<String>,
    /// Embedding model, for memory search.
    pub(super) embedding: Option<String>,
}

impl OllamaModels {
    /// The models for display: `llama3.2, nomic-embed-text`.
    pub(super) fn describe(&self) -> String {
        [&self.text, &self.embedding].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ")
    }
}

/// The configured address of Ollama.
pub(super) fn endpoint(context: &Context) -> String {
    context
        .configuration()
        .ok()
        .and_then(|c| c.settings.text(&OLLAMA_API_ENDPOINT))
        .unwrap_or_else(|| "http://localhost:11434/api".to_owned())
}

/// Asks Ollama for its models. `None` if it does not answer.
pub(super) async fn probe(endpoint: &str) -> Option<OllamaModels> {
    let http = HttpClient::new(HttpOptions {
        total_timeout: PATIENCE,
        connect_timeout: PATIENCE,
        max_body: MAX_ANSWER,
        ..HttpOptions::default()
    })
    .ok()?;
    let list: Value =
        http.get(&format!("{}/tags", endpoint.trim_end_matches('/'))).send_json().await.ok()?;
    Some(choose(&list))
}

fn choose(list: &Value) -> OllamaModels {
    let names: Vec<&str> = list["models"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|m| m["name"].as_str())
        .map(|n| n.strip_suffix(":latest").unwrap_or(n))
        .collect();
    // Ollama lists recent models first. Embedding models are recognised by their names.
    let embeds = |name: &&&str| ["embed", "bge", "minilm"].iter().any(|part| name.contains(part));
    OllamaModels {
        text: names.iter().find(|n| !embeds(n)).map(|n| (*n).to_owned()),
        embedding: names.iter().find(embeds).map(|n| (*n).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_model_for_answers_and_one_for_search() {
        let list = json!({ "models": [{ "name": "nomic-embed-text:latest" }, { "name": "llama3.2:latest" }, { "name": "qwen3:8b" }] });
        let found = choose(&list);
        assert_eq!(found.describe(), "llama3.2, nomic-embed-text");
        assert_eq!(choose(&json!({})), OllamaModels::default());
    }
}
