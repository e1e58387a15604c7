//! People and chats, and the actions a test makes them perform: `ann.says(&group,
//! "hi").reply_to(7).send()`.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    Handle, doings,
    entities::{Formatted, detect},
    message::Message,
    methods::photo_sizes,
    state::State,
    world::{ChatKind, Standing},
};

/// A person of the server's world.
#[derive(Clone)]
pub struct User {
    pub(super) api: Handle,
    /// Id of the person.
    pub id: i64,
}

/// A chat of the server's world.
#[derive(Clone)]
pub struct Chat {
    pub(super) api: Handle,
    /// Id of the chat.
    pub id: i64,
}

/// A message being prepared; [`Saying::send`] sends it.
#[must_use = "nothing is said before `send`"]
pub struct Saying {
    api: Handle,
    from: i64,
    chat: i64,
    text: String,
    entities: Vec<Value>,
    reply_to: Option<i64>,
    topic: Option<i64>,
    extra: Map<String, Value>,
}

impl Saying {
    /// Makes it a reply to this message of the same chat.
    pub fn reply_to(mut self, message: i64) -> Self {
        self.reply_to = Some(message);
        self
    }

    /// Puts it into this topic of a forum.
    pub fn in_topic(mut self, topic: i64) -> Self {
        self.topic = Some(topic);
        self
    }

    /// Adds an entity that the server would not detect itself (`bold`, `text_mention`, …).
    pub fn entity(mut self, entity: Value) -> Self {
        self.entities.push(entity);
        self
    }

    /// Sends the message and returns its id.
    pub fn send(self) -> i64 {
        let api = self.api.clone();
        api.change(|state| {
            let id = state.world.next_message(self.chat);
            let channel =
                state.world.chats.get(&self.chat).is_some_and(|c| c.kind == ChatKind::Channel);
            let mut message =
                Message::new(id, self.chat, (!channel).then_some(self.from), state.date());
            let mut entities = self.entities;
            entities.extend(detect(&self.text, &entities));
            entities.sort_by_key(|e| e["offset"].as_i64());
            message.words = Formatted { text: self.text, entities };
            message.extra = self.extra;
            message.reply_to = self.reply_to;
            (message.thread, message.in_topic) = place(state, self.chat, self.topic, self.reply_to);
            let chat = state.world.chats.get_mut(&self.chat);
            if let Some(chat) = chat {
                chat.opened = true;
            }
            doings::arrive(state, message)
        })
    }
}

/// Thread of a message: its topic or, in a supergroup without topics, the thread of the message it
/// replies to.
fn place(
    state: &State,
    chat: i64,
    topic: Option<i64>,
    reply_to: Option<i64>,
) -> (Option<i64>, bool) {
    let Some(chat) = state.world.chats.get(&chat) else { return (None, false) };
    if chat.forum {
        return (topic.filter(|t| *t != 1), topic.is_some_and(|t| t != 1));
    }
    let root = reply_to.map(|r| chat.messages.get(&r).and_then(|m| m.thread).unwrap_or(r));
    (root.filter(|_| chat.kind == ChatKind::Supergroup), false)
}

impl User {
    /// The person's private chat with the bot.
    pub fn direct(&self) -> Chat {
        self.api.change(|state| state.world.private(self.id).id);
        Chat { api: self.api.clone(), id: self.id }
    }

    /// Prepares a message; mentions, commands, links and hashtags become entities.
    pub fn says(&self, chat: &Chat, text: &str) -> Saying {
        self.sends(chat, text, Map::new())
    }

    fn sends(&self, chat: &Chat, text: &str, extra: Map<String, Value>) -> Saying {
        let (api, text) = (self.api.clone(), text.to_owned());
        Saying {
            api,
            from: self.id,
            chat: chat.id,
            text,
            entities: Vec::new(),
            reply_to: None,
            topic: None,
            extra,
        }
    }

    /// Prepares a photo.
    pub fn sends_photo(&self, chat: &Chat, bytes: impl Into<Bytes>, caption: &str) -> Saying {
        let extra = self.api.change(|state| photo(state, bytes.into()));
        self.sends(chat, caption, extra)
    }

    /// Prepares a document.
    pub fn sends_document(
        &self,
        chat: &Chat,
        name: &str,
        mime: &str,
        bytes: impl Into<Bytes>,
        caption: &str,
    ) -> Saying {
        let bytes = bytes.into();
        let size = bytes.len() as u64;
        self.sends_large_document(chat, name, mime, bytes, size, caption)
    }

    /// Prepares a document whose stated size differs from its bytes, to test size limits with small
    /// files.
    pub fn sends_large_document(
        &self,
        chat: &Chat,
        name: &str,
        mime: &str,
        bytes: impl Into<Bytes>,
        size: u64,
        caption: &str,
    ) -> Saying {
        let id = self.api.change(|state| state.keep_file("documents", name, bytes.into(), size));
        let object = json!({ "file_id": id, "file_unique_id": unique(&id), "file_size": size, "file_name": name, "mime_type": mime });
        self.sends(chat, caption, Map::from_iter([("document".to_owned(), object)]))
    }

    /// Prepares a voice note.
    pub fn sends_voice(&self, chat: &Chat, bytes: impl Into<Bytes>, seconds: u32) -> Saying {
        let bytes = bytes.into();
        let size = bytes.len();
        let id = self.api.change(|state| state.keep_file("voice", "voice.oga", bytes, size as u64));
        let object = json!({ "file_id": id, "file_unique_id": unique(&id), "file_size": size, "duration": seconds, "mime_type": "audio/ogg" });
        self.sends(chat, "", Map::from_iter([("voice".to_owned(), object)]))
    }

    /// Prepares a static sticker.
    pub fn sends_sticker(&self, chat: &Chat, emoji: &str) -> Saying {
        let id = self.api.change(|state| {
            state.keep_file("stickers", "sticker.webp", Bytes::from_static(b"RIFF"), 4)
        });
        let object = json!({
            "file_id": id, "file_unique_id": unique(&id), "file_size": 4, "type": "regular", "width": 512, "height": 512,
            "is_animated": false, "is_video": false, "emoji": emoji, "set_name": "test_set",
        });
        self.sends(chat, "", Map::from_iter([("sticker".to_owned(), object)]))
    }

    /// Sends photos as one album: separate messages and updates with one `media_group_id`, the
    /// caption on the first. Returns the messages' ids.
    pub fn sends_album(&self, chat: &Chat, photos: &[&[u8]], caption: &str) -> Vec<i64> {
        let group = self.api.change(State::media_group);
        let mut ids = Vec::new();
        for (i, bytes) in photos.iter().enumerate() {
            let mut saying =
                self.sends_photo(chat, bytes.to_vec(), if i == 0 { caption } else { "" });
            saying.extra.insert("media_group_id".to_owned(), json!(group));
            ids.push(saying.send());
        }
        ids
    }

    /// Edits the person's message.
    pub fn edits(&self, chat: &Chat, message: i64, text: &str) {
        self.api.change(|state| {
            let date = state.date();
            let Some(found) =
                state.world.chats.get_mut(&chat.id).and_then(|c| c.messages.get_mut(&message))
            else {
                return;
            };
            found.words = Formatted { text: text.to_owned(), entities: detect(text, &[]) };
            found.edited = Some(date);
            let found = found.clone();
            doings::edited(state, &found);
        });
    }

    /// Deletes a message; the Bot API does not report this.
    pub fn deletes(&self, chat: &Chat, message: i64) {
        self.api.change(|state| {
            state.world.chats.get_mut(&chat.id).and_then(|c| c.messages.remove(&message))
        });
    }

    /// Sets the person's reactions on a message; an empty list removes them.
    pub fn reacts(&self, chat: &Chat, message: i64, emoji: &[&str]) {
        self.api.change(|state| doings::react(state, chat.id, message, self.id, emoji));
    }

    /// Presses the button with this data, and returns the callback query's id.
    ///
    /// # Panics
    /// When the message has no such button.
    pub fn presses(&self, chat: &Chat, message: i64, data: &str) -> String {
        let pressed =
            self.api.change(|state| doings::press(state, chat.id, message, self.id, data));
        let shown = self.api.message_json(chat.id, message);
        pressed.unwrap_or_else(|| {
            panic!("message {message} has no button with data {data:?}: {shown}")
        })
    }

    /// Joins a group.
    pub fn joins(&self, chat: &Chat) {
        self.api.change(|state| {
            doings::restand(state, chat.id, self.id, self.id, Standing::Member);
            let member = state.world.person_json(self.id);
            doings::service(state, chat.id, self.id, "new_chat_members", json!([member]));
        });
    }

    /// Leaves a group.
    pub fn leaves(&self, chat: &Chat) {
        self.api.change(|state| {
            doings::restand(state, chat.id, self.id, self.id, Standing::Left);
            let member = state.world.person_json(self.id);
            doings::service(state, chat.id, self.id, "left_chat_member", member);
        });
    }

    /// Sets the bot's status in a chat: adds, promotes, restricts or removes it.
    pub fn sets_bot(&self, chat: &Chat, standing: Standing) {
        self.api.change(|state| {
            let bot = state.world.bot;
            let was_in = state.world.chats.get(&chat.id).is_some_and(|c| c.standing(bot).is_in());
            let group =
                state.world.chats.get(&chat.id).is_some_and(|c| c.kind != ChatKind::Channel);
            let member = state.world.person_json(bot);
            doings::restand(state, chat.id, self.id, bot, standing);
            if group && !was_in && standing.is_in() {
                doings::service(state, chat.id, self.id, "new_chat_members", json!([member]));
            } else if group && was_in && standing == Standing::Kicked {
                // A removed bot receives only my_chat_member; the service message is for the other
                // members.
                let id = state.world.next_message(chat.id);
                let mut message = Message::new(id, chat.id, Some(self.id), state.date());
                message.extra.insert("left_chat_member".to_owned(), member);
                state.world.store(message);
            }
        });
    }

    /// Adds the bot.
    pub fn adds_bot(&self, chat: &Chat) {
        self.sets_bot(chat, Standing::Member);
    }

    /// Makes the bot an administrator.
    pub fn promotes_bot(&self, chat: &Chat) {
        self.sets_bot(chat, Standing::Administrator);
    }

    /// Removes the bot.
    pub fn removes_bot(&self, chat: &Chat) {
        self.sets_bot(chat, Standing::Kicked);
    }

    /// Blocks the bot.
    pub fn blocks_bot(&self) {
        self.block(true);
    }

    /// Unblocks the bot.
    pub fn unblocks_bot(&self) {
        self.block(false);
    }

    fn block(&self, blocked: bool) {
        self.api.change(|state| {
            let bot = state.world.bot;
            state.world.private(self.id).blocked = blocked;
            doings::restand(
                state,
                self.id,
                self.id,
                bot,
                if blocked { Standing::Kicked } else { Standing::Member },
            );
        });
    }

    /// Turns a group into a supergroup, and returns it.
    pub fn migrates(&self, chat: &Chat) -> Chat {
        let id = self.api.change(|state| doings::migrate(state, chat.id, self.id));
        Chat { api: self.api.clone(), id }
    }

    /// Opens a topic in a forum and returns its thread id.
    pub fn opens_topic(&self, chat: &Chat, name: &str) -> i64 {
        self.api.change(|state| {
            let id = state.world.next_message(chat.id);
            let mut message = Message::new(id, chat.id, Some(self.id), state.date());
            message.thread = Some(id);
            message.in_topic = true;
            message.extra.insert(
                "forum_topic_created".to_owned(),
                json!({ "name": name, "icon_color": 7_322_096 }),
            );
            if let Some(chat) = state.world.chats.get_mut(&chat.id) {
                chat.topics.insert(id, name.to_owned());
            }
            doings::arrive(state, message)
        })
    }

    /// Closes a topic, or opens it again: members and bots without a right cannot write in it.
    pub fn closes_topic(&self, chat: &Chat, topic: i64, closes: bool) {
        self.api.change(|state| {
            let id = state.world.next_message(chat.id);
            let mut message = Message::new(id, chat.id, Some(self.id), state.date());
            message.thread = Some(topic);
            message.in_topic = true;
            let kind = if closes { "forum_topic_closed" } else { "forum_topic_reopened" };
            message.extra.insert(kind.to_owned(), json!({}));
            if let Some(chat) = state.world.chats.get_mut(&chat.id) {
                if closes {
                    chat.closed.insert(topic);
                } else {
                    chat.closed.remove(&topic);
                }
            }
            doings::arrive(state, message);
        });
    }

    /// Deletes a topic with its messages; the Bot API does not report this.
    pub fn deletes_topic(&self, chat: &Chat, topic: i64) {
        self.api.change(|state| {
            if let Some(chat) = state.world.chats.get_mut(&chat.id) {
                chat.topics.remove(&topic);
                chat.messages.retain(|_, m| m.thread != Some(topic));
            }
        });
    }
}

impl Chat {
    /// Makes a person an administrator.
    pub fn promote(&self, user: &User) {
        self.api.change(|state| {
            doings::restand(state, self.id, user.id, user.id, Standing::Administrator)
        });
    }

    /// Sets a person's status: restricts, removes or admits them.
    pub fn sets(&self, user: &User, standing: Standing) {
        self.api.change(|state| doings::restand(state, self.id, user.id, user.id, standing));
    }

    /// Sets whether members who are not administrators may write.
    pub fn lets_members_write(&self, may: bool) {
        self.api.change(|state| {
            if let Some(chat) = state.world.chats.get_mut(&self.id) {
                chat.silent = !may;
            }
        });
    }

    /// Makes the chat public under this username.
    pub fn publish(&self, username: &str) {
        self.api.change(|state| {
            if let Some(chat) = state.world.chats.get_mut(&self.id) {
                chat.username = Some(username.to_owned());
            }
        });
    }
}

fn photo(state: &mut State, bytes: Bytes) -> Map<String, Value> {
    let size = bytes.len() as u64;
    let id = state.keep_file("photos", "photo.jpg", bytes, size);
    Map::from_iter([("photo".to_owned(), photo_sizes(&id, size))])
}

fn unique(id: &str) -> String {
    format!("AQAD{}", &id[id.len().saturating_sub(8)..])
}
