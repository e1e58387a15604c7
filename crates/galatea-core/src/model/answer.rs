//! Answer of a text model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Price, Usage};

/// Answer of a text model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TextAnswer {
    /// The text that people may read, without reasoning.
    pub text: String,
    /// Tools it wants called, arguments as the model wrote them.
    pub tool_calls: Vec<ToolCall>,
    /// What the service needs again when the conversation goes on after these calls; none where it
    /// needs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// Tokens used, as the provider counts.
    pub usage: Usage,
    /// Why the model stopped writing.
    pub finish: Finish,
    /// Model that answered, where several could; none from a model that stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AnsweredBy>,
    /// The model that really answered, where the service says that it was another than asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
    /// Cost of this answer's tokens: the price of the model that answered. None where that
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The model was not offered the request's tools: its instructions described them
    /// ([`text_actions`](super::text_actions)). So the text may be the JSON object that they ask for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_actions: bool,
}

/// Link of a fallback chain that answered, and why the links before it did not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AnsweredBy {
    /// The link, for people: `openai gpt-6.1-terra (OPENAI_API_KEY_2)`.
    pub link: String,
    /// The provider that answered, such as `openai`.
    pub provider: String,
    /// The model that answered, by the provider's name.
    pub model: String,
    /// The links before it, each with the reason. No message text, no secrets.
    pub passed: Vec<(String, String)>,
    /// The first of them found the prompt too long.
    #[serde(default)]
    pub too_long: bool,
}

/// An answer as a service wrote it. Signatures of thoughts hold only with what they sign, in its
/// order, so nothing of it is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The wire format: `anthropic`, `google`, `responses`, `chat`, `ollama`.
    pub format: String,
    /// The model that wrote it; another one cannot read it.
    pub model: String,
    /// The content in that format.
    pub data: Value,
}

/// An action that the model wants to call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Provider's id of the call.
    pub id: String,
    /// Name of the tool, as it was offered.
    pub name: String,
    /// Arguments as text: JSON if the model kept to it.
    pub arguments: String,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model had nothing more to say.
    #[default]
    Stop,
    /// Cut at the token limit.
    Length,
    /// Cut at the caller's deadline: what had come until then.
    Deadline,
    /// It wants tools called.
    Tools,
    /// Withheld by the provider's filter.
    Filtered,
}
