//! The JSON of a message.

use serde_json::{Value, json};

use super::{
    message::Message,
    world::{Chat, World},
};

impl Message {
    /// The `Message` object.
    pub(crate) fn json(&self, world: &World, with_reply: bool) -> Value {
        let chat = world.chats.get(&self.chat);
        let mut message = json!({ "message_id": self.id });
        if let Some(from) = self.from {
            message["from"] = world.person_json(from);
        } else if let Some(chat) = chat {
            message["sender_chat"] = chat.json();
        }
        message["chat"] = chat.map(Chat::json).unwrap_or(Value::Null);
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
