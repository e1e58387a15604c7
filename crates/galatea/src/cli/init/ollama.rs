//! Ollama: is it there, and which of its models to take.

use galatea_http::{HttpClient, HttpOptions};
use galatea_models::config::variables::OLLAMA_API_ENDPOINT;
use serde_json::Value;
use std::time::Duration;

use crate::context::Context;

/// It runs on this machine or near it: what does not answer at once is not there.
const PATIENCE: Duration = Duration::from_secs(2);
/// The list of models is short.
const MAX_ANSWER: usize = 1 << 20;

/// The models to take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// For answers.
    pub(super) text: Option<String>,
    /// For memory search.
    pub(super) embedding: Option<String>,
}

impl Found {
    /// For a list of choices: `llama3.2, nomic-embed-text`.
    pub(super) fn describe(&self) -> String {
        [&self.text, &self.embedding].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ")
    }
}

/// Where Ollama is by the configuration.
pub(super) fn endpoint(context: &Context) -> String {
    context
        .configuration()
        .ok()
        .and_then(|c| c.settings.text(&OLLAMA_API_ENDPOINT))
        .unwrap_or_else(|| "http://localhost:11434/api".to_owned())
}

/// Asks it for its models; none when nobody answers there.
pub(super) async fn probe(endpoint: &str) -> Option<Found> {
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

fn choose(list: &Value) -> Found {
    let names: Vec<&str> = list["models"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|m| m["name"].as_str())
        .map(|n| n.strip_suffix(":latest").unwrap_or(n))
        .collect();
    // Ollama lists the model used last first. Embedding models say so in their names.
    let embeds = |name: &&&str| ["embed", "bge", "minilm"].iter().any(|part| name.contains(part));
    Found {
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
        assert_eq!(choose(&json!({})), Found::default());
    }
}
