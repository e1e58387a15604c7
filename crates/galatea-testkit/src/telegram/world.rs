//! The server's world: people, chats, members, topics, messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::message::Message;

/// Kind of a chat (Bot API, Chat.type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatKind {
    /// A person and the bot.
    Private,
    /// Basic group.
    Group,
    /// Supergroup; a forum when it has topics.
    Supergroup,
    /// Channel.
    Channel,
}

impl ChatKind {
    /// Name in the Bot API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Group => "group",
            Self::Supergroup => "supergroup",
            Self::Channel => "channel",
        }
    }
}

/// Status of a member (Bot API, ChatMember.status).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Owner.
    Creator,
    /// Administrator.
    Administrator,
    /// Ordinary member.
    Member,
    /// Member who may not write.
    Restricted,
    /// Left the chat.
    Left,
    /// Removed from the chat.
    Kicked,
}

impl Standing {
    /// Name in the Bot API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Creator => "creator",
            Self::Administrator => "administrator",
            Self::Member => "member",
            Self::Restricted => "restricted",
            Self::Left => "left",
            Self::Kicked => "kicked",
        }
    }

    /// True if the member is in the chat.
    pub fn is_in(self) -> bool {
        !matches!(self, Self::Left | Self::Kicked)
    }

    /// True if the member may manage the chat.
    pub fn is_admin(self) -> bool {
        matches!(self, Self::Creator | Self::Administrator)
    }
}

/// A person or a bot.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) id: i64,
    pub(crate) first_name: String,
    pub(crate) username: Option<String>,
    pub(crate) is_bot: bool,
}

impl Person {
    /// The `User` object.
    pub(crate) fn json(&self) -> Value {
        let mut user =
            json!({ "id": self.id, "is_bot": self.is_bot, "first_name": self.first_name });
        if let Some(name) = &self.username {
            user["username"] = json!(name);
        }
        if !self.is_bot {
            user["language_code"] = json!("en");
        }
        user
    }
}

/// A chat.
#[derive(Debug, Clone)]
pub(crate) struct Chat {
    pub(crate) id: i64,
    pub(crate) kind: ChatKind,
    pub(crate) title: String,
    pub(crate) username: Option<String>,
    pub(crate) forum: bool,
    pub(crate) members: BTreeMap<i64, Standing>,
    /// Open topics by thread id; forums include General (1).
    pub(crate) topics: BTreeMap<i64, String>,
    /// Topics in which only administrators may write.
    pub(crate) closed: BTreeSet<i64>,
    pub(crate) migrated_to: Option<i64>,
    /// True if the person blocked the bot (private chats).
    pub(crate) blocked: bool,
    /// True if only administrators may write.
    pub(crate) silent: bool,
    /// True if the person has written first; before that a bot may not write (Bot API, bots FAQ).
    pub(crate) opened: bool,
    pub(crate) messages: BTreeMap<i64, Message>,
    /// Message counter of a supergroup or channel; private chats and groups share the account's.
    pub(crate) last_message: i64,
    /// Times of all sends to the chat, for flood rules.
    pub(crate) sends: std::collections::VecDeque<galatea_core::Timestamp>,
}

impl Chat {
    pub(crate) fn new(id: i64, kind: ChatKind, title: &str) -> Self {
        Self {
            id,
            kind,
            title: title.to_owned(),
            username: None,
            forum: false,
            members: BTreeMap::new(),
            topics: BTreeMap::new(),
            closed: BTreeSet::new(),
            migrated_to: None,
            blocked: false,
            silent: false,
            opened: true,
            messages: BTreeMap::new(),
            last_message: 0,
            sends: std::collections::VecDeque::new(),
        }
    }

    /// The `Chat` object inside messages.
    pub(crate) fn json(&self) -> Value {
        let mut chat = json!({ "id": self.id, "type": self.kind.as_str() });
        if self.kind == ChatKind::Private {
            chat["first_name"] = json!(self.title);
        } else {
            chat["title"] = json!(self.title);
        }
        if let Some(name) = &self.username {
            chat["username"] = json!(name);
        }
        if self.forum {
            chat["is_forum"] = json!(true);
        }
        chat
    }

    /// Status of a user; `Left` for one who was never in the chat.
    pub(crate) fn standing(&self, user: i64) -> Standing {
        self.members.get(&user).copied().unwrap_or(Standing::Left)
    }
}

/// Everything that exists on the server.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) people: BTreeMap<i64, Person>,
    pub(crate) chats: BTreeMap<i64, Chat>,
    pub(crate) bot: i64,
    /// Message counter shared by private chats and groups.
    last_message: i64,
    next_person: i64,
    next_group: i64,
    next_supergroup: i64,
}

impl World {
    /// A world with only the bot in it.
    pub(crate) fn new(bot: Person) -> Self {
        let id = bot.id;
        Self {
            people: BTreeMap::from([(id, bot)]),
            bot: id,
            next_person: 5_000_000_001,
            next_group: -4_000_000_001,
            next_supergroup: -1_001_900_000_001,
            ..Self::default()
        }
    }

    /// Adds a person.
    pub(crate) fn add_person(
        &mut self,
        first_name: &str,
        username: Option<&str>,
        is_bot: bool,
    ) -> i64 {
        let id = self.next_person;
        self.next_person += 1;
        self.people.insert(
            id,
            Person {
                id,
                first_name: first_name.to_owned(),
                username: username.map(str::to_owned),
                is_bot,
            },
        );
        id
    }

    /// Adds a group, supergroup or channel with the bot as a member (in channels as an
    /// administrator, as bots must be).
    pub(crate) fn add_chat(&mut self, kind: ChatKind, title: &str, members: &[i64]) -> i64 {
        let next =
            if kind == ChatKind::Group { &mut self.next_group } else { &mut self.next_supergroup };
        let id = *next;
        *next -= 1;
        let mut chat = Chat::new(id, kind, title);
        for (i, member) in members.iter().enumerate() {
            chat.members.insert(*member, if i == 0 { Standing::Creator } else { Standing::Member });
        }
        chat.members.insert(
            self.bot,
            if kind == ChatKind::Channel { Standing::Administrator } else { Standing::Member },
        );
        self.chats.insert(id, chat);
        id
    }

    /// The private chat with a person; created when missing.
    pub(crate) fn private(&mut self, user: i64) -> &mut Chat {
        let person = self.people.get(&user);
        let (name, username) =
            person.map(|p| (p.first_name.clone(), p.username.clone())).unwrap_or_default();
        let bot = self.bot;
        self.chats.entry(user).or_insert_with(|| {
            let mut chat = Chat::new(user, ChatKind::Private, &name);
            chat.username = username;
            chat.opened = false;
            chat.members = BTreeMap::from([(user, Standing::Member), (bot, Standing::Member)]);
            chat
        })
    }

    /// Next message id of a chat: supergroups and channels count their own messages, all other
    /// chats share one counter.
    pub(crate) fn next_message(&mut self, chat: i64) -> i64 {
        match self.chats.get_mut(&chat) {
            Some(chat) if matches!(chat.kind, ChatKind::Supergroup | ChatKind::Channel) => {
                chat.last_message += 1;
                chat.last_message
            }
            _ => {
                self.last_message += 1;
                self.last_message
            }
        }
    }

    pub(crate) fn message(&self, chat: i64, id: i64) -> Option<&Message> {
        self.chats.get(&chat)?.messages.get(&id)
    }

    /// Stores a message under its id.
    pub(crate) fn store(&mut self, message: Message) {
        if let Some(chat) = self.chats.get_mut(&message.chat) {
            chat.messages.insert(message.id, message);
        }
    }

    /// The `Message` object, with the message it replies to one level deep.
    pub(crate) fn message_json(&self, message: &Message) -> Value {
        message.json(self, true)
    }

    /// A person's `User` object.
    pub(crate) fn person_json(&self, id: i64) -> Value {
        self.people.get(&id).map(Person::json).unwrap_or(Value::Null)
    }

    /// A member's `ChatMember` object.
    pub(crate) fn member_json(&self, chat: &Chat, user: i64) -> Value {
        let standing = chat.standing(user);
        let mut member = json!({ "user": self.person_json(user), "status": standing.as_str() });
        match standing {
            Standing::Creator => member["is_anonymous"] = json!(false),
            Standing::Administrator => {
                for right in [
                    "can_be_edited",
                    "is_anonymous",
                    "can_promote_members",
                    "can_post_stories",
                    "can_edit_stories",
                    "can_delete_stories",
                ] {
                    member[right] = json!(false);
                }
                for right in [
                    "can_manage_chat",
                    "can_delete_messages",
                    "can_manage_video_chats",
                    "can_restrict_members",
                    "can_change_info",
                    "can_invite_users",
                ] {
                    member[right] = json!(true);
                }
            }
            Standing::Restricted => {
                member["is_member"] = json!(true);
                member["until_date"] = json!(0);
                for right in [
                    "can_send_messages",
                    "can_send_audios",
                    "can_send_documents",
                    "can_send_photos",
                    "can_send_videos",
                    "can_send_video_notes",
                    "can_send_voice_notes",
                    "can_send_polls",
                    "can_send_other_messages",
                    "can_add_web_page_previews",
                    "can_change_info",
                    "can_invite_users",
                    "can_pin_messages",
                    "can_manage_topics",
                ] {
                    member[right] = json!(false);
                }
            }
            Standing::Kicked => member["until_date"] = json!(0),
            Standing::Member | Standing::Left => {}
        }
        member
    }
}
