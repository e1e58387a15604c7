//! Platform-free text, attachments and actions. JSON field names are elizaOS's.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

use crate::{ids::MemoryId, visible::visible};

/// Content of a message. Text is Markdown (CommonMark with fences); connectors render it for their
/// platform.
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
    /// Files, pictures, sound and links that belong to the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Media>,
    /// Rows of buttons under the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<Button>>,
    /// References, as the platform shows it beside the words: the message it replies to,
    /// what it forwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<Quote>,
    /// Anything else elizaOS clients or plugins keep here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Key of [`Content::extra`]: true for a post of a channel that the platform itself copied into the
/// group that discusses it.
pub const AUTOMATIC_FORWARD: &str = "automaticForward";

/// Key of [`Content::extra`]: true for a notice of the platform that no person wrote, such as the start of
/// a thread. It is remembered and not answered.
pub const NOTICE: &str = "notice";
/// Key of [`Content::extra`]: the platform's id of the message that this one replaces: an application
/// deleted it and posted its words again under another name.
pub const REPLACES: &str = "replaces";

impl Content {
    /// Content with a text and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// True when there is nothing to show: no words, no media, nothing forwarded.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
            && self.attachments.is_empty()
            && !self.quotes.iter().any(|quote| quote.kind == QuoteKind::Forward)
    }

    /// The content as it may go out to a platform: texts without what no reader sees.
    #[must_use]
    pub fn made_visible(mut self) -> Self {
        let clean = |text: &mut String| {
            if let Cow::Owned(seen) = visible(text) {
                *text = seen;
            }
        };
        clean(&mut self.text);
        self.buttons.iter_mut().flatten().for_each(|button| clean(&mut button.text));
        for media in &mut self.attachments {
            clean(&mut media.title);
            clean(&mut media.description);
        }
        self
    }
}

/// Longest text of a [`Quote`] that is kept, in characters: a few paragraphs. The message itself
/// may be stored besides.
const LONGEST_QUOTE: usize = 4_000;

/// Another message that a message refers to, with the words the platform sent along: it need not be
/// stored here.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Quote {
    /// Kind of the reference.
    pub kind: QuoteKind,
    /// Display name of its author; none when the platform does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Said by this very account.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Its words, as Markdown; a part of them when a part was chosen.
    pub text: String,
    /// Files of the quoted message, as far as the platform shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Media>,
}

impl Quote {
    /// A quote with bounded words.
    pub fn new(kind: QuoteKind, by: Option<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if let Some((end, _)) = text.char_indices().nth(LONGEST_QUOTE) {
            text.truncate(end);
            text.push_str(" […]");
        }
        Self { kind, by, text, ..Self::default() }
    }

    /// True when nothing is known of what it said.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }
}

/// Kind of a reference to another message.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum QuoteKind {
    /// The message answers the quoted one.
    #[default]
    Reply,
    /// It passes it on.
    Forward,
    /// It talks about it (a post on X with another inside).
    Quote,
}

/// A button: a link, or data that comes back as [`crate::IncomingEvent::Pressed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Button {
    /// The label that people read.
    pub text: String,
    /// Effect of a press.
    #[serde(flatten)]
    pub press: Press,
}

/// Effect of pressing a [`Button`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Press {
    /// The platform opens this address; the agent does not learn of it.
    Url(String),
    /// Returns this data to us; at most 64 bytes (Telegram Bot API,
    /// InlineKeyboardButton.callback_data).
    Data(String),
}

/// A file, picture, sound or link. elizaOS `Media`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Media {
    /// Identifies it within its message.
    pub id: String,
    /// Address of the bytes: `https:`, `data:`, `file:` (local, ours) or a connector's own scheme
    /// such as `telegram:<file_id>`. Never holds a token.
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
    /// Origin: `Photo`, `Sticker`, `Voice`, …
    pub source: String,
    /// Description, from a vision model or the platform (a sticker's emoji).
    pub description: String,
    /// Text found in it.
    pub text: String,
}

/// Coarse kind of a [`Media`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    /// A picture, which a vision model can describe.
    Image,
    /// Video and animations.
    Video,
    /// Sound, voice notes included.
    Audio,
    /// Any other file; text files are read.
    #[default]
    Document,
    /// A link without a file: a preview, a place, a poll.
    Link,
}
