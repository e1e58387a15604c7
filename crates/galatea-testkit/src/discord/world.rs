//! The state of the test server: guilds, channels, people and messages.

use bytes::Bytes;
use galatea_core::Timestamp;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

/// First second of 2015 in milliseconds (Discord, "Snowflakes").
pub(crate) const EPOCH: i64 = 1_420_070_400_000;

/// Permission bits (Discord, "Permissions").
pub(crate) mod may {
    pub(crate) const ADMINISTRATOR: u64 = 1 << 3;
    pub(crate) const ADD_REACTIONS: u64 = 1 << 6;
    pub(crate) const VIEW: u64 = 1 << 10;
    pub(crate) const SEND: u64 = 1 << 11;
    pub(crate) const ATTACH: u64 = 1 << 15;
    pub(crate) const HISTORY: u64 = 1 << 16;
    pub(crate) const SEND_IN_THREADS: u64 = 1 << 38;
    /// Permissions that the invite link asks for.
    pub(crate) const INVITED: u64 = 274_878_024_768;
}

#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) username: String,
    pub(crate) bot: bool,
    /// True if the person accepts direct messages from the bot.
    pub(crate) takes_direct: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) permissions: u64,
    /// The bot for which Discord created this role.
    pub(crate) bot: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Member {
    pub(crate) nick: Option<String>,
    pub(crate) roles: Vec<u64>,
    /// End of the member's time-out, as Discord writes it.
    pub(crate) timed_out: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Guild {
    pub(crate) name: String,
    pub(crate) owner: u64,
    pub(crate) roles: BTreeMap<u64, Role>,
    pub(crate) members: BTreeMap<u64, Member>,
    pub(crate) general: u64,
    pub(crate) joined_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(crate) struct Channel {
    pub(crate) guild: Option<u64>,
    /// Type of the channel (Discord, "Channel Types").
    pub(crate) kind: u8,
    pub(crate) name: String,
    /// The channel in which a thread was opened.
    pub(crate) parent: Option<u64>,
    /// The person of a direct message channel.
    pub(crate) recipient: Option<u64>,
    /// Permissions of the bot in this channel.
    pub(crate) may: u64,
    pub(crate) archived: bool,
    /// Roles and people that may not write in this channel.
    pub(crate) silenced: Vec<u64>,
    pub(crate) messages: BTreeMap<u64, Message>,
}

impl Channel {
    pub(crate) fn is_thread(&self) -> bool {
        matches!(self.kind, 10..=12)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) mime: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) bytes: Bytes,
    /// Seconds of a voice message.
    pub(crate) voice: Option<f64>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    pub(crate) id: u64,
    pub(crate) channel: u64,
    pub(crate) author: u64,
    pub(crate) content: String,
    pub(crate) files: Vec<File>,
    pub(crate) components: Vec<Value>,
    pub(crate) reference: Option<u64>,
    pub(crate) edited: Option<Timestamp>,
    pub(crate) nonce: Option<Value>,
    /// Emoji as paths write them, with the people who set them.
    pub(crate) reactions: Vec<(String, BTreeSet<u64>)>,
    pub(crate) flags: u64,
    pub(crate) kind: u8,
    pub(crate) application: Option<u64>,
    /// Further fields of the message object (Discord, "Message Object"): embeds, poll, stickers, ….
    pub(crate) fields: serde_json::Map<String, Value>,
}

/// Everything that exists on the server.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) bot: u64,
    pub(crate) people: BTreeMap<u64, Person>,
    pub(crate) guilds: BTreeMap<u64, Guild>,
    pub(crate) channels: BTreeMap<u64, Channel>,
    last: u64,
}

impl World {
    pub(crate) fn new(bot: u64, name: &str) -> Self {
        let mut people = BTreeMap::new();
        people.insert(
            bot,
            Person {
                name: name.to_owned(),
                username: name.to_lowercase(),
                bot: true,
                takes_direct: true,
            },
        );
        Self { bot, people, guilds: BTreeMap::new(), channels: BTreeMap::new(), last: 0 }
    }

    /// A fresh id, greater than every earlier one.
    pub(crate) fn id(&mut self, now: Timestamp) -> u64 {
        let id = u64::try_from(now.0 - EPOCH).unwrap_or(0) << 22;
        self.last = id.max(self.last + 1);
        self.last
    }

    pub(crate) fn message(&self, channel: u64, message: u64) -> Option<&Message> {
        self.channels.get(&channel)?.messages.get(&message)
    }

    /// The direct message channel with a person; created on first use.
    pub(crate) fn direct(&mut self, person: u64, now: Timestamp) -> u64 {
        let known =
            self.channels.iter().find(|(_, c)| c.recipient == Some(person)).map(|(id, _)| *id);
        known.unwrap_or_else(|| {
            let id = self.id(now);
            let channel = Channel {
                guild: None,
                kind: 1,
                name: String::new(),
                parent: None,
                recipient: Some(person),
                may: may::INVITED,
                archived: false,
                silenced: Vec::new(),
                messages: BTreeMap::new(),
            };
            self.channels.insert(id, channel);
            id
        })
    }

    /// Adds a guild with a general channel and the bot, which gets a role of its own.
    pub(crate) fn add_guild(&mut self, name: &str, members: &[u64], now: Timestamp) -> u64 {
        let (id, general, role) = (self.id(now), self.id(now), self.id(now));
        let owner = members.first().copied().unwrap_or(self.bot);
        let everyone = Role { name: "@everyone".into(), permissions: may::INVITED, bot: None };
        let own = Role { name: "Galatea".into(), permissions: may::INVITED, bot: Some(self.bot) };
        let mut all: BTreeMap<u64, Member> =
            members.iter().map(|m| (*m, Member::default())).collect();
        all.insert(self.bot, Member { roles: vec![role], ..Member::default() });
        let roles = [(id, everyone), (role, own)].into();
        self.guilds.insert(
            id,
            Guild { name: name.to_owned(), owner, roles, members: all, general, joined_at: now },
        );
        self.channels.insert(general, self.channel(id, 0, "general", None));
        id
    }

    /// A channel of a guild, not yet added to the world. A thread takes over the permissions of its
    /// parent.
    pub(crate) fn channel(&self, guild: u64, kind: u8, name: &str, parent: Option<u64>) -> Channel {
        let may = parent.and_then(|p| self.channels.get(&p)).map_or(may::INVITED, |p| p.may);
        Channel {
            guild: Some(guild),
            kind,
            name: name.to_owned(),
            parent,
            recipient: None,
            may,
            archived: false,
            silenced: Vec::new(),
            messages: BTreeMap::new(),
        }
    }

    /// People and roles mentioned in a text.
    pub(crate) fn mentions(&self, text: &str) -> (Vec<u64>, Vec<u64>) {
        let (mut people, mut roles) = (Vec::new(), Vec::new());
        for piece in text.split("<@").skip(1) {
            let Some((inner, _)) = piece.split_once('>') else { continue };
            match inner.strip_prefix('&') {
                Some(role) => roles.extend(role.parse::<u64>().ok()),
                None => people.extend(
                    inner
                        .trim_start_matches('!')
                        .parse::<u64>()
                        .ok()
                        .filter(|p| self.people.contains_key(p)),
                ),
            }
        }
        let unique = |ids: Vec<u64>| ids.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        (unique(people), unique(roles))
    }
}

/// An interaction that a person caused.
#[derive(Debug, Clone)]
pub(crate) struct Interaction {
    pub(crate) token: String,
    pub(crate) channel: u64,
    /// 2: command, 3: component.
    pub(crate) kind: u64,
    pub(crate) at: Instant,
    pub(crate) acknowledged: Option<u64>,
    pub(crate) original: Option<u64>,
    /// Whether the answer is ephemeral. `whisper` is then its place among the ephemeral answers,
    /// once it is given.
    pub(crate) hidden: bool,
    pub(crate) whisper: Option<usize>,
    /// Whether it counts as older than 15 minutes.
    pub(crate) expired: bool,
}
