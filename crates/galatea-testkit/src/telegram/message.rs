//! A message as the server stores it.

use serde_json::{Map, Value};

use super::entities::Formatted;

/// A message in a chat.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: i64,
    pub(crate) chat: i64,
    /// Author; `None` for channel posts.
    pub(crate) from: Option<i64>,
    /// Topic or reply thread.
    pub(crate) thread: Option<i64>,
    /// True if the thread is a forum topic.
    pub(crate) in_topic: bool,
    pub(crate) date: i64,
    pub(crate) edited: Option<i64>,
    /// Message of the same chat that it replies to.
    pub(crate) reply_to: Option<i64>,
    /// Text, or the caption when it has media.
    pub(crate) words: Formatted,
    /// Content fields besides text: `photo`, `document`, `new_chat_members`, …
    pub(crate) extra: Map<String, Value>,
    /// Inline keyboard.
    pub(crate) markup: Option<Value>,
    /// Reactions by person.
    pub(crate) reactions: std::collections::BTreeMap<i64, Vec<Value>>,
}

/// Content fields with which the text is a caption.
const MEDIA: &[&str] =
    &["photo", "document", "voice", "audio", "video", "animation", "sticker", "video_note"];

impl Message {
    pub(crate) fn new(id: i64, chat: i64, from: Option<i64>, date: i64) -> Self {
        Self {
            id,
            chat,
            from,
            thread: None,
            in_topic: false,
            date,
            edited: None,
            reply_to: None,
            words: Formatted::default(),
            extra: Map::new(),
            markup: None,
            reactions: std::collections::BTreeMap::new(),
        }
    }

    /// True if it carries a file, so that its text is a caption.
    pub(crate) fn has_media(&self) -> bool {
        MEDIA.iter().any(|m| self.extra.contains_key(*m))
    }

    /// True if it is a service message.
    pub(crate) fn is_service(&self) -> bool {
        !self.extra.is_empty() && !self.has_media()
    }
}
