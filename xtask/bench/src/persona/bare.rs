//! Talks with a bare persona and plain messages: what the model can do by itself.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use super::talk::{Line, Place, Talk};

/// Longest answer, as the program's default.
const TOKENS: u32 = 1_024;
const LATE: Duration = Duration::from_secs(150);

/// A conversation with the model itself.
pub(super) struct Bare {
    client: reqwest::Client,
    address: String,
    model: String,
    in_private: bool,
    messages: Vec<Value>,
}

impl Bare {
    pub(super) fn new(base: &str, model: &str, character: &Value, talk: &Talk) -> Result<Self> {
        let texts = |key: &str| match &character[key] {
            Value::String(text) => text.clone(),
            Value::Array(lines) => {
                lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        };
        let system = [
            texts("system"),
            texts("bio"),
            texts("knowledge"),
            talk.document.clone().unwrap_or_default(),
        ];
        Ok(Self {
            client: reqwest::Client::builder().no_proxy().timeout(LATE).build()?,
            address: format!("{}/chat/completions", base.trim_end_matches('/')),
            model: model.to_owned(),
            in_private: talk.place == Place::Private,
            messages: vec![json!({ "role": "system", "content": system.join("\n").trim() })],
        })
    }

    /// Says a line and returns the answer, if the line asks for one.
    pub(super) async fn say(
        &mut self,
        line: &Line,
        text: &str,
    ) -> Result<(Option<String>, Duration)> {
        let words = if self.in_private { text.to_owned() } else { format!("{}: {text}", line.by) };
        self.push("user", &words);
        let started = Instant::now();
        if !line.asks {
            return Ok((None, Duration::ZERO));
        }
        let body = json!({ "model": self.model, "messages": self.messages, "temperature": 0.7, "max_tokens": TOKENS });
        let answer: Value = self
            .client
            .post(&self.address)
            .json(&body)
            .send()
            .await
            .context("the model server does not answer")?
            .json()
            .await?;
        let text =
            answer["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned();
        self.push("assistant", &text);
        Ok((Some(text), started.elapsed()))
    }

    /// Adds a message; two of one side in a row become one, since some templates refuse them.
    fn push(&mut self, role: &str, words: &str) {
        if let Some(last) = self.messages.last_mut().filter(|last| last["role"] == role) {
            last["content"] =
                format!("{}\n{words}", last["content"].as_str().unwrap_or_default()).into();
        } else {
            self.messages.push(json!({ "role": role, "content": words }));
        }
    }
}
