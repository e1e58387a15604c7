//! Which guilds and channels there are: what an event needs to be put in its place, but does not tell itself.

use dashmap::DashMap;
use serde_json::Value;
use std::collections::HashMap;

/// Channels remembered; beyond that they are asked for again.
const MAX_CHANNELS: usize = 200_000;

/// A guild.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Guild {
    /// Its name.
    pub(crate) name: Option<String>,
    /// Its owner.
    pub(crate) owner: Option<u64>,
    /// Names of its roles.
    pub(crate) roles: HashMap<u64, String>,
    /// Roles that administer it.
    pub(crate) administrators: Vec<u64>,
    /// Our own roles in it.
    pub(crate) mine: Vec<u64>,
    /// Where comings and goings are told.
    pub(crate) hall: Option<u64>,
}

/// A channel or thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Channel {
    /// Its guild; none for direct messages.
    pub(crate) guild: Option<u64>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// Discord's number of its kind.
    pub(crate) kind: u8,
    /// The channel a thread is in; the category of others is left out.
    pub(crate) parent: Option<u64>,
    /// The newest message, as far as Discord told.
    pub(crate) newest: Option<u64>,
}

/// What is known about guilds and channels. Shared by all shards.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    guilds: DashMap<u64, Guild>,
    channels: DashMap<u64, Channel>,
}

/// An id in JSON: Discord writes them as text.
pub(crate) fn id(value: &Value) -> Option<u64> {
    value.as_str().and_then(|s| s.parse().ok()).or_else(|| value.as_u64())
}

/// `ADMINISTRATOR` and `MANAGE_GUILD` (Discord, "Permissions"): both may change what the agent does there.
pub(crate) const ADMINISTERS: u64 = 1 << 3 | 1 << 5;

/// A permission set in JSON.
pub(crate) fn administers(permissions: &Value) -> bool {
    permissions.as_str().and_then(|p| p.parse::<u64>().ok()).is_some_and(|p| p & ADMINISTERS != 0)
}

/// Threads of news, public and private ones (Discord, "Channel Types").
pub(crate) fn is_thread(kind: u8) -> bool {
    matches!(kind, 10..=12)
}

impl Channel {
    /// Reads a channel object; `guild` where the object does not name it.
    pub(crate) fn read(value: &Value, guild: Option<u64>) -> Option<(u64, Self)> {
        let kind = u8::try_from(value["type"].as_u64()?).ok()?;
        let parent = id(&value["parent_id"]).filter(|_| is_thread(kind));
        let name = value["name"].as_str().map(str::to_owned);
        Some((id(&value["id"])?, Self { guild: id(&value["guild_id"]).or(guild), name, kind, parent, newest: id(&value["last_message_id"]) }))
    }

    /// People can write in it.
    pub(crate) fn holds_messages(&self) -> bool {
        matches!(self.kind, 0 | 1 | 2 | 5 | 13) || is_thread(self.kind)
    }
}

impl Directory {
    /// A channel.
    pub(crate) fn channel(&self, id: u64) -> Option<Channel> {
        self.channels.get(&id).map(|c| c.clone())
    }

    /// A guild.
    pub(crate) fn guild(&self, id: u64) -> Option<Guild> {
        self.guilds.get(&id).map(|g| g.clone())
    }

    /// Forgets everything: a new run is told anew.
    pub(crate) fn clear(&self) {
        self.guilds.clear();
        self.channels.clear();
    }

    /// How many guilds.
    pub(crate) fn guilds(&self) -> usize {
        self.guilds.len()
    }

    /// Channels of a guild, threads included, by id.
    pub(crate) fn channels_of(&self, guild: u64) -> Vec<(u64, Channel)> {
        let mut all: Vec<_> = self.channels.iter().filter(|c| c.guild == Some(guild)).map(|c| (*c.key(), c.clone())).collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }

    /// Notes a channel.
    pub(crate) fn put(&self, id: u64, channel: Channel) {
        if self.channels.len() >= MAX_CHANNELS {
            self.channels.clear();
        }
        self.channels.insert(id, channel);
    }

    /// Notes what a guild object tells: of GUILD_CREATE, GUILD_UPDATE or the REST route.
    pub(crate) fn put_guild(&self, value: &Value, me: u64) {
        let Some(guild) = id(&value["id"]) else { return };
        let mut known = self.guilds.entry(guild).or_default();
        if let Some(name) = value["name"].as_str() {
            known.name = Some(name.to_owned());
        }
        known.owner = id(&value["owner_id"]).or(known.owner);
        known.hall = id(&value["system_channel_id"]).or(known.hall);
        if let Some(roles) = value["roles"].as_array() {
            let own = |r: &&Value| id(&r["tags"]["bot_id"]) == Some(me);
            known.roles = roles.iter().filter_map(|r| Some((id(&r["id"])?, r["name"].as_str()?.to_owned()))).collect();
            known.administrators = roles.iter().filter(|r| administers(&r["permissions"])).filter_map(|r| id(&r["id"])).collect();
            known.mine = roles.iter().filter(own).filter_map(|r| id(&r["id"])).collect();
        }
        let members = value["members"].as_array().into_iter().flatten();
        for member in members.filter(|m| id(&m["user"]["id"]) == Some(me)) {
            add_roles(&mut known.mine, member);
        }
        drop(known);
        for list in ["channels", "threads"] {
            for channel in value[list].as_array().into_iter().flatten() {
                self.put_channel(channel, Some(guild));
            }
        }
        if let Some(mut known) = self.guilds.get_mut(&guild)
            && known.hall.is_none()
        {
            known.hall = value["channels"].as_array().into_iter().flatten().find(|c| c["type"] == 0).and_then(|c| id(&c["id"]));
        }
    }

    /// Notes a channel object.
    pub(crate) fn put_channel(&self, value: &Value, guild: Option<u64>) {
        if let Some((id, channel)) = Channel::read(value, guild) {
            self.put(id, channel);
        }
    }

    /// Our own member in a guild changed.
    pub(crate) fn put_own_member(&self, guild: u64, member: &Value) {
        if let Some(mut known) = self.guilds.get_mut(&guild) {
            known.mine.clear();
            add_roles(&mut known.mine, member);
        }
    }

    /// Forgets a channel and the threads in it.
    pub(crate) fn remove_channel(&self, id: u64) {
        self.channels.retain(|key, c| *key != id && c.parent != Some(id));
    }

    /// Forgets a guild and its channels.
    pub(crate) fn remove_guild(&self, id: u64) {
        self.guilds.remove(&id);
        self.channels.retain(|_, c| c.guild != Some(id));
    }
}

fn add_roles(mine: &mut Vec<u64>, member: &Value) {
    mine.extend(member["roles"].as_array().into_iter().flatten().filter_map(id));
}
