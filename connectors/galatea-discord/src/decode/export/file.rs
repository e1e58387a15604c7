//! The form of an export: one channel with its messages.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct ExportedName {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedMessage {
    pub(super) id: String,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    pub(super) author: Author,
    #[serde(flatten)]
    pub(super) said: ExportedWords,
    #[serde(default)]
    pub(super) reference: Option<Reference>,
    #[serde(default)]
    pub(super) forwarded_message: Option<ExportedWords>,
    #[serde(default)]
    pub(super) mentions: Vec<Author>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Author {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) nickname: Option<String>,
    #[serde(default)]
    pub(super) is_bot: bool,
}

impl Author {
    /// The name that the exported channel shows.
    pub(super) fn shown(&self) -> &str {
        self.nickname.as_deref().unwrap_or(&self.name)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    #[serde(default)]
    pub(super) message_id: Option<String>,
}

/// The words, files and stickers of a message or of one that it forwards.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportedWords {
    pub(super) content: String,
    #[serde(default)]
    pub(super) attachments: Vec<Attachment>,
    #[serde(default)]
    pub(super) embeds: Vec<Embed>,
    #[serde(default)]
    pub(super) stickers: Vec<Sticker>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attachment {
    pub(super) id: String,
    #[serde(default)]
    pub(super) url: String,
    pub(super) file_name: String,
    #[serde(default)]
    pub(super) file_size_bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Embed {
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sticker {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) format: String,
}

impl Sticker {
    /// True if it is a vector animation, which models cannot read as an image.
    pub(super) fn is_lottie(&self) -> bool {
        self.format == "Lottie"
    }
}
