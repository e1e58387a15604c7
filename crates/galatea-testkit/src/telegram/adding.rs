//! Adds people and chats to the server's world.

use super::{
    Handle,
    people::{Chat, User},
    world::ChatKind,
};

impl Handle {
    /// Adds a person; an empty username means none.
    pub fn user(&self, first_name: &str, username: &str) -> User {
        let id = self.change(|s| {
            s.world.add_person(first_name, Some(username).filter(|u| !u.is_empty()), false)
        });
        User { api: self.clone(), id }
    }

    /// Adds another bot.
    pub fn other_bot(&self, first_name: &str, username: &str) -> User {
        let id = self.change(|s| s.world.add_person(first_name, Some(username), true));
        User { api: self.clone(), id }
    }

    /// Adds a group with the bot and these members; the first one is its owner.
    pub fn group(&self, title: &str, members: &[&User]) -> Chat {
        self.chat(ChatKind::Group, title, members)
    }

    /// Adds a supergroup with the bot and these members; the first one is its owner.
    pub fn supergroup(&self, title: &str, members: &[&User]) -> Chat {
        self.chat(ChatKind::Supergroup, title, members)
    }

    /// Adds a supergroup with topics, among them General (1).
    pub fn forum(&self, title: &str, members: &[&User]) -> Chat {
        let made = self.chat(ChatKind::Supergroup, title, members);
        self.change(|s| {
            if let Some(chat) = s.world.chats.get_mut(&made.id) {
                chat.forum = true;
                chat.topics.insert(1, "General".to_owned());
                // The chat's creation is message 1, which is also General's thread id.
                chat.last_message = 1;
            }
        });
        made
    }

    /// Adds a channel with the bot as administrator.
    pub fn channel(&self, title: &str, members: &[&User]) -> Chat {
        self.chat(ChatKind::Channel, title, members)
    }

    pub(super) fn chat(&self, kind: ChatKind, title: &str, members: &[&User]) -> Chat {
        let ids: Vec<i64> = members.iter().map(|m| m.id).collect();
        Chat { api: self.clone(), id: self.change(|s| s.world.add_chat(kind, title, &ids)) }
    }
}
