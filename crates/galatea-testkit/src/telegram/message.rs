//! A message as the server stores it, and its JSON.

use serde_json::{Map, Value, json};

use super::{entities::Formatted, world::World};

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

    /// The `Message` object.
    pub(crate) fn json(&self, world: &World, with_reply: bool) -> Value {
        let chat = world.chats.get(&self.chat);
        let mut message = json!({ "message_id": self.id });
        if let Some(from) = self.from {
            message["from"] = world.person_json(from);
        } else if let Some(chat) = chat {
            message["sender_chat"] = chat.json();
        }
        message["chat"] = chat.map(super::world::Chat::json).unwrap_or(Value::Null);
        message["date"] = json!(self.date);
        if let Some(thread) = self.thread {
            message["message_thread_id"] = json!(thread);
        }
        if self.in_topic {
            message["is_topic_message"] = json!(true);
        }
        if let Some(edited) = self.edited {
            message["edit_date"] = json!(edited);
        }
        // In a topic, a message that replies to nothing refers to the topic's first message;
        // clients must not take that for a reply.
        let replied = self.reply_to.or(self.thread.filter(|t| self.in_topic && *t != self.id));
        if with_reply && let Some(replied) = replied.and_then(|id| world.message(self.chat, id)) {
            message["reply_to_message"] = replied.json(world, false);
        }
        for (key, value) in &self.extra {
            message[key.as_str()] = value.clone();
        }
        let (text, entities) =
            if self.has_media() { ("caption", "caption_entities") } else { ("text", "entities") };
        if !self.words.text.is_empty() {
            message[text] = json!(self.words.text);
            if !self.words.entities.is_empty() {
                message[entities] = json!(self.words.entities);
            }
        }
        if let Some(markup) = &self.markup {
            message["reply_markup"] = markup.clone();
        }
        message
    }
}
