//! Models: text, embeddings, and the set an agent uses. Wire formats live in `galatea-models`.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

use crate::{clock::Timestamp, error::Result};

/// Turns a conversation into text or tool calls.
#[async_trait]
pub trait TextModel: Send + Sync {
    /// Name and provider, for logs and badges. No I/O.
    fn info(&self) -> &ModelInfo;

    /// One call: no retry and no fallback in here. `on_text` is called with each piece of visible
    /// text as it arrives when `request.stream` is set, and never otherwise.
    async fn generate(
        &self,
        request: &TextRequest,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<TextAnswer>;
}

/// Turns text into vectors.
#[async_trait]
pub trait EmbeddingModel: Send + Sync {
    /// Name and provider. No I/O.
    fn info(&self) -> &ModelInfo;
    /// One vector per text, all of the same width.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>>;
}

/// What a model is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// `openai`, `anthropic`, `ollama`, `google`, `openrouter`, `offline`.
    pub provider: String,
    /// The model's name there.
    pub model: String,
    /// Tool calls work.
    pub tools: bool,
    /// Pictures can be shown to it.
    pub vision: bool,
    /// A script, not AI: its answers carry a label.
    pub scripted: bool,
    /// How much it reads and writes, as far as that is known.
    #[serde(default)]
    pub limits: ModelLimits,
    /// What it costs; none where that is unknown, or where it runs on a machine of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl ModelInfo {
    /// Provider and model, such as `openai text-embedding-3-small`.
    pub fn full_name(&self) -> String {
        format!("{} {}", self.provider, self.model)
    }
}

/// How much a model reads and writes, in tokens as its provider counts them. None means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelLimits {
    /// Prompt and answer together.
    pub window: Option<u32>,
    /// Longest answer, thoughts included.
    pub output: Option<u32>,
}

/// What a model costs, in micro-dollars (millionths of a US dollar) per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Of what it reads.
    pub input: u64,
    /// Of what it reads and the provider's cache held already.
    pub cached: u64,
    /// Of what it writes.
    pub output: u64,
}

impl Price {
    /// What these tokens cost, in micro-dollars, rounded up: many small calls must not count as
    /// free.
    pub fn of(&self, usage: Usage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let parts = [
            (usage.input - cached, self.input),
            (cached, self.cached),
            (usage.output, self.output),
        ];
        let sum: u128 =
            parts.into_iter().map(|(tokens, price)| u128::from(tokens) * u128::from(price)).sum();
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// elizaOS model types for text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Tier {
    /// Quick decisions.
    TextSmall,
    /// Answers.
    TextLarge,
}

/// The models of one agent. A configured model that fails says so; an answer of a fallback names it
/// ([`TextAnswer::by`]).
#[derive(Clone)]
pub struct Models {
    /// For decisions.
    pub small: Arc<dyn TextModel>,
    /// For answers.
    pub large: Arc<dyn TextModel>,
    /// For describing pictures; none when the provider has no such model.
    pub vision: Option<Arc<dyn TextModel>>,
    /// For search; none means keyword search.
    pub embedding: Option<Arc<dyn EmbeddingModel>>,
}

impl Models {
    /// elizaOS `useModel` for text types.
    pub fn text(&self, tier: Tier) -> &Arc<dyn TextModel> {
        match tier {
            Tier::TextSmall => &self.small,
            Tier::TextLarge => &self.large,
        }
    }
}

/// One call to a text model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TextRequest {
    /// Instructions.
    pub system: Option<String>,
    /// The conversation, oldest first. Shared, since each layer that asks on may change something
    /// else of the request.
    pub messages: Arc<Vec<ChatMessage>>,
    /// Tools it may call. Shared, too.
    pub tools: Arc<Vec<ToolSpec>>,
    /// Sampling; unset values are left to the provider.
    pub params: Sampling,
    /// Ask for a stream.
    pub stream: bool,
    /// Whoever asks does not wait longer: no attempt and no fallback begins or goes on after it.
    #[serde(skip)]
    pub deadline: Option<Timestamp>,
    /// The first piece of a streamed answer has to come within this, where that is less than usual:
    /// another model of the service has just hung.
    #[serde(skip)]
    pub first_within: Option<std::time::Duration>,
    /// How many of the first messages the next request of this conversation is expected to begin
    /// with as well, within minutes. Wire formats that mark what to cache mark the instructions and
    /// these; 0 when no such request is expected.
    #[serde(skip)]
    pub stable: usize,
}

impl TextRequest {
    /// One prompt from the user's side.
    pub fn prompt(system: Option<String>, prompt: impl Into<String>) -> Self {
        Self { system, messages: Arc::new(vec![ChatMessage::user(prompt)]), ..Self::default() }
    }
}

/// One message of a model conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Whose.
    pub role: ChatRole,
    /// Text and pictures.
    pub parts: Vec<ChatPart>,
    /// Who of the user's side, where several speak: 1 to 64 of `a-zA-Z0-9_-`. Written by wire
    /// formats that have a field for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ChatMessage {
    /// The user's side.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: ChatRole::User, parts: vec![ChatPart::Text { text: text.into() }], name: None }
    }
    /// The model's side.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::Assistant,
            parts: vec![ChatPart::Text { text: text.into() }],
            name: None,
        }
    }
    /// With the speaker's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
    /// Its text parts joined.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(
                |p| if let ChatPart::Text { text } = p { Some(text.as_str()) } else { None },
            )
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Whose message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The other side.
    User,
    /// The model.
    Assistant,
}

/// A piece of a model message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChatPart {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture, bytes in base64.
    Image {
        /// MIME type.
        mime: String,
        /// Base64, standard alphabet.
        data: String,
    },
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_`, `-`; at most 64 (OpenAI function names).
    pub name: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Arc<Value>,
}

/// Sampling parameters; elizaOS names in capitals (`MAX_TOKENS`, `TEMPERATURE`, …).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// Upper bound of the answer, in tokens.
    pub max_tokens: Option<u32>,
    /// Randomness.
    pub temperature: Option<f32>,
    /// Nucleus.
    pub top_p: Option<f32>,
    /// Candidates.
    pub top_k: Option<u32>,
    /// Minimum probability.
    pub min_p: Option<f32>,
    /// Repeatability.
    pub seed: Option<i64>,
    /// Repetition penalty.
    pub repetition_penalty: Option<f32>,
    /// Frequency penalty.
    pub frequency_penalty: Option<f32>,
    /// Presence penalty.
    pub presence_penalty: Option<f32>,
    /// Stop texts.
    pub stop: Vec<String>,
    /// How long a reasoning model thinks; others have no such parameter.
    pub effort: Option<Effort>,
}

/// How long a reasoning model thinks. Not every model takes every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// Briefly.
    Low,
    /// As most models do by themselves.
    Medium,
    /// Thoroughly.
    High,
    /// More than that.
    Xhigh,
    /// As long as it likes.
    Max,
}

impl Effort {
    /// The word that providers take.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl std::str::FromStr for Effort {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let all = [
            Self::None,
            Self::Minimal,
            Self::Low,
            Self::Medium,
            Self::High,
            Self::Xhigh,
            Self::Max,
        ];
        all.into_iter().find(|effort| effort.as_str().eq_ignore_ascii_case(text.trim())).ok_or(())
    }
}

/// What a text model answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TextAnswer {
    /// Visible text.
    pub text: String,
    /// Tools it wants called, arguments as the model wrote them.
    pub tool_calls: Vec<ToolCall>,
    /// Tokens used, as the provider counts.
    pub usage: Usage,
    /// Why it ended.
    pub finish: Finish,
    /// Who answered, where several could; none from a model that stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AnsweredBy>,
    /// The model that really answered, where the service says that it was another than asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
    /// What the tokens of this answer cost: the price of the model that answered. None where that
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// Which link of a fallback chain answered, and why those before it did not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AnsweredBy {
    /// The link, for people: `openai gpt-6.1-terra (OPENAI_API_KEY_2)`.
    pub link: String,
    /// Its provider.
    pub provider: String,
    /// Its model.
    pub model: String,
    /// The links before it, each with the reason. No message text, no secrets.
    pub passed: Vec<(String, String)>,
    /// The first of them found the prompt too long.
    #[serde(default)]
    pub too_long: bool,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Provider's id of the call.
    pub id: String,
    /// Tool.
    pub name: String,
    /// Arguments as text: JSON if the model kept to it.
    pub arguments: String,
}

/// Tokens used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Read by the model, the cached part included.
    pub input: u64,
    /// Of those read, what the provider's cache held already, which is cheaper.
    #[serde(default)]
    pub cached: u64,
    /// Written by the model, thoughts included.
    pub output: u64,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// Complete.
    #[default]
    Stop,
    /// Cut at the token limit.
    Length,
    /// It wants tools called.
    Tools,
    /// Withheld by the provider's filter.
    Filtered,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_counts_what_was_cached_for_less_and_rounds_up() {
        let price = Price { input: 1_000_000, cached: 100_000, output: 5_000_000 };
        let of = |input, cached, output| price.of(Usage { input, cached, output });
        assert_eq!(of(1_000_000, 0, 0), 1_000_000);
        assert_eq!(of(1_000_000, 900_000, 100_000), 100_000 + 90_000 + 500_000);
        assert_eq!((of(0, 0, 0), of(0, 0, 1), of(1, 1, 0)), (0, 5, 1));
        assert_eq!(of(10, 99, 0), 1, "a provider that counts more cached than read");
        assert_eq!(of(u64::MAX, 0, u64::MAX), u64::MAX);
    }
}
