//! One call to a text model.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

use crate::clock::Timestamp;

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
    /// The caller does not wait longer: no attempt and no fallback begins or goes on after it.
    #[serde(skip)]
    pub deadline: Option<Timestamp>,
    /// The first piece of a streamed answer has to come within this, where that is less than usual:
    /// another model of the service has just hung.
    #[serde(skip)]
    pub first_within: Option<std::time::Duration>,
    /// How long the provider is asked to keep the tools and the instructions. Wire formats that
    /// mark what to cache mark them accordingly.
    #[serde(skip)]
    pub cache_instructions: CacheFor,
    /// How many of the first messages the next request of this conversation is expected to begin
    /// with as well, within minutes. Wire formats that mark what to cache mark these for minutes,
    /// together with the instructions; 0 when no such request is expected.
    #[serde(skip)]
    pub stable: usize,
    /// The same for all requests of a conversation. Services that keep what they have read on
    /// several machines send requests with the same key to the same one.
    #[serde(skip)]
    pub conversation: Option<String>,
}

impl TextRequest {
    /// One prompt from the user's side.
    pub fn prompt(system: Option<String>, prompt: impl Into<String>) -> Self {
        Self { system, messages: Arc::new(vec![ChatMessage::user(prompt)]), ..Self::default() }
    }
}

/// How long a provider is asked to keep a part of a request in its cache. To keep it longer costs
/// more when it is stored, so it pays only where a request that begins alike follows in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum CacheFor {
    /// No further request is expected soon.
    #[default]
    Nothing,
    /// As long as the provider keeps it without being asked for more: minutes.
    Minutes,
    /// An hour.
    Hour,
}

/// One message of a model conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The author's role.
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
