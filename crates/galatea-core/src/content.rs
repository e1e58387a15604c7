//! Content: platform-free text, attachments and actions. JSON field names are elizaOS's.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::MemoryId;

/// What a message says. Text is Markdown (CommonMark with fences); connectors render it for their platform.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Content {
    /// The words, as Markdown.
    pub text: String,
    /// The model's reasoning, never shown to the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
    /// Names of actions this answer took.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Names of providers the model asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<String>,
    /// Platform name, such as `telegram`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Link to the original, where the platform has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The memory this answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MemoryId>,
    /// Files and media.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Media>,
    /// Rows of buttons under the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<Button>>,
    /// Anything else elizaOS clients or plugins keep here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Content {
    /// Plain text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// True when there is nothing to show: no words, no media.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }
}

/// One button: a link, or data that comes back as [`crate::IncomingEvent::Pressed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Button {
    /// What it says.
    pub text: String,
    /// What it does.
    #[serde(flatten)]
    pub press: Press,
}

/// What pressing a [`Button`] does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Press {
    /// Opens this address.
    Url(String),
    /// Returns this data to us; at most 64 bytes (Telegram Bot API, InlineKeyboardButton.callback_data).
    Data(String),
}

/// A file, picture, sound or link. elizaOS `Media`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Media {
    /// Identifies it within its message.
    pub id: String,
    /// Where the bytes are: `https:`, `data:`, `file:` (local, ours) or a connector's own scheme such as `telegram:<file_id>`. Never holds a token.
    pub url: String,
    /// File name or title.
    pub title: String,
    /// `image`, `video`, `audio`, `document`, `link`.
    pub content_type: MediaKind,
    /// MIME type, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Size in bytes, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where it came from: `Photo`, `Sticker`, `Voice`, …
    pub source: String,
    /// What it shows, from a vision model or the platform (a sticker's emoji).
    pub description: String,
    /// Text found in it.
    pub text: String,
}

/// Coarse kind of a [`Media`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Moving pictures.
    Video,
    /// Sound, voice notes included.
    Audio,
    /// Any other file.
    #[default]
    Document,
    /// A link only.
    Link,
}
