//! Caches guilds, channels and permissions. Events refer to them by id only, and decoding needs the
//! rest.

use dashmap::DashMap;
use galatea_core::Timestamp;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    permissions::{self, ADMINISTRATOR, Member, MissingPermission, Overwrite, VIEW, administers},
    proxied::Proxied,
    raw::id,
};

/// Most channels in the cache. At this number the cache is emptied, and channels are fetched again
/// when needed.
const MAX_CHANNELS: usize = 200_000;

/// Facts about a guild.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Guild {
    pub(crate) name: Option<String>,
    /// User id of the owner.
    pub(crate) owner: Option<u64>,
    /// Names of its roles by id.
    pub(crate) roles: HashMap<u64, String>,
    /// Ids of the roles that administer it.
    pub(crate) administrators: Vec<u64>,
    /// Permissions of its roles by id. The role `@everyone` has the guild's own id.
    pub(crate) permissions: HashMap<u64, u64>,
    /// True if our own member is known, so that `mine` holds all our roles and not only the one
    /// Discord made for the bot.
    pub(crate) member: bool,
    /// The end of our time-out, if a moderator set one.
    pub(crate) timed_out: Option<Timestamp>,
    /// Ids of our own roles.
    pub(crate) mine: Vec<u64>,
    /// Our nickname there; empty after it was taken away.
    pub(crate) nick: Option<String>,
    /// The channel to which joins and leaves are attributed: the system channel, else the first
    /// text channel.
    pub(crate) hall: Option<u64>,
}

/// Facts about a channel or thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Channel {
    /// `None` for direct messages.
    pub(crate) guild: Option<u64>,
    pub(crate) name: Option<String>,
    /// The topic over the channel; of a forum its guidelines.
    pub(crate) topic: Option<String>,
    /// Discord's channel type.
    pub(crate) kind: u8,
    /// The channel a thread belongs to. The category of other channels is left out.
    pub(crate) parent: Option<u64>,
    /// Id of the newest message, if Discord named it.
    pub(crate) newest: Option<u64>,
    /// Permission overwrites of roles and members. `None` if Discord did not send them, as for
    /// threads.
    pub(crate) overwrites: Option<Box<[Overwrite]>>,
}

/// The cache of guilds and channels. Shared by all shards.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    guilds: DashMap<u64, Guild>,
    channels: DashMap<u64, Channel>,
    /// The Message Content intent is granted.
    reads_content: AtomicBool,
    /// Messages that applications repeat in the name of the person who wrote them.
    proxied: Proxied,
}

/// True if a channel type is a thread: announcement, public or private (Discord, "Channel Types").
pub(crate) fn is_thread(kind: u8) -> bool {
    matches!(kind, 10..=12)
}

impl Channel {
    /// Reads a channel object. `guild` is used if the object names no guild.
    pub(crate) fn read(value: &Value, guild: Option<u64>) -> Option<(u64, Self)> {
        let kind = u8::try_from(value["type"].as_u64()?).ok()?;
        let parent = id(&value["parent_id"]).filter(|_| is_thread(kind));
        let name = value["name"].as_str().map(str::to_owned);
        Some((
            id(&value["id"])?,
            Self {
                guild: id(&value["guild_id"]).or(guild),
                name,
                topic: value["topic"].as_str().filter(|topic| !topic.is_empty()).map(str::to_owned),
                kind,
                parent,
                newest: id(&value["last_message_id"]),
                overwrites: Overwrite::read_all(value),
            },
        ))
    }

    /// A channel of which only the guild is known. It counts as a text channel.
    pub(crate) fn unknown(guild: u64) -> Self {
        Self {
            guild: Some(guild),
            name: None,
            topic: None,
            kind: 0,
            parent: None,
            newest: None,
            overwrites: None,
        }
    }

    /// True if people can write messages in it.
    pub(crate) fn holds_messages(&self) -> bool {
        matches!(self.kind, 0 | 1 | 2 | 5 | 13) || is_thread(self.kind)
    }
}

impl Directory {
    /// Records whether the Message Content intent is granted.
    pub(crate) fn set_reads_content(&self, reads: bool) {
        self.reads_content.store(reads, Ordering::Relaxed);
    }

    /// True if messages that do not address the bot have content, too.
    pub(crate) fn reads_content(&self) -> bool {
        self.reads_content.load(Ordering::Relaxed)
    }

    /// Sets the applications that repeat messages in the name of the person who wrote them.
    pub(crate) fn set_proxies(&self, applications: Vec<u64>) {
        self.proxied.set_applications(applications);
    }

    /// True if a message is one that such an application posted for a person.
    pub(crate) fn proxies(&self, message: &Value) -> bool {
        id(&message["webhook_id"]).is_some()
            && id(&message["application_id"]).is_some_and(|app| self.proxied.is_application(app))
    }

    /// Remembers what a person wrote, for a while.
    pub(crate) fn remember(&self, channel: u64, message: u64, text: &str) {
        self.proxied.remember(channel, message, text);
    }

    /// The message of a person that this one repeats; each is repeated once.
    pub(crate) fn original(&self, channel: u64, message: u64, text: &str) -> Option<u64> {
        self.proxied.original(channel, message, text)
    }

    /// Returns a channel from the cache.
    pub(crate) fn channel(&self, id: u64) -> Option<Channel> {
        self.channels.get(&id).map(|c| c.clone())
    }

    /// Returns a guild from the cache.
    pub(crate) fn guild(&self, id: u64) -> Option<Guild> {
        self.guilds.get(&id).map(|g| g.clone())
    }

    /// Why the bot cannot write in a channel (Discord, "Permission Hierarchy"). `None` if it can,
    /// or if the permissions are not known.
    pub(crate) fn missing(
        &self,
        channel: u64,
        me: u64,
        now: Timestamp,
    ) -> Option<MissingPermission> {
        let here = self.channel(channel)?;
        let (guild, thread) = (here.guild?, is_thread(here.kind));
        // Threads have no overwrites of their own.
        let place = if thread { self.channel(here.parent?)? } else { here };
        let overwrites = place.overwrites?;
        let known = self.guilds.get(&guild).filter(|g| g.member && g.owner != Some(me))?;
        let everyone = *known.permissions.get(&guild)?;
        let of_roles = known
            .mine
            .iter()
            .filter_map(|role| known.permissions.get(role))
            .fold(everyone, |all, role| all | role);
        if of_roles & ADMINISTRATOR == 0 && known.timed_out.is_some_and(|until| now < until) {
            return Some(MissingPermission::TimedOut);
        }
        let member = Member { guild, id: me, roles: &known.mine };
        permissions::missing(member.permissions_in(of_roles, &overwrites), thread)
    }

    /// True if every member of the guild can read a channel: View Channel is a permission of
    /// `@everyone`, and no overwrite takes it from a role or a member. Private threads are closed,
    /// and so is a channel whose permissions are not known.
    pub(crate) fn is_open(&self, channel: &Channel) -> bool {
        const PRIVATE_THREAD: u8 = 12;
        let parent = match channel.parent {
            _ if channel.kind == PRIVATE_THREAD => return false,
            Some(parent) => self.channel(parent),
            None => None,
        };
        // Threads have no overwrites of their own.
        let place = if is_thread(channel.kind) { parent.as_ref() } else { Some(channel) };
        let Some(overwrites) = place.and_then(|place| place.overwrites.as_deref()) else {
            return false;
        };
        let Some(guild) = channel.guild else { return false };
        let everyone =
            self.guilds.get(&guild).and_then(|known| known.permissions.get(&guild).copied());
        everyone.is_some_and(|everyone| everyone & VIEW != 0)
            && overwrites.iter().all(|overwrite| !overwrite.denies(VIEW))
    }

    /// Empties the cache. Called when a run starts, because Discord sends everything again.
    pub(crate) fn clear(&self) {
        self.guilds.clear();
        self.channels.clear();
    }

    /// Channels and threads of a guild, ordered by id.
    pub(crate) fn channels_of(&self, guild: u64) -> Vec<(u64, Channel)> {
        let mut all: Vec<_> = self
            .channels
            .iter()
            .filter(|c| c.guild == Some(guild))
            .map(|c| (*c.key(), c.clone()))
            .collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }

    /// Adds or replaces a channel.
    pub(crate) fn put(&self, id: u64, channel: Channel) {
        if self.channels.len() >= MAX_CHANNELS {
            self.channels.clear();
        }
        self.channels.insert(id, channel);
    }

    /// Updates a guild from a guild object of GUILD_CREATE, GUILD_UPDATE or the REST route. Fields
    /// that the object lacks keep their values.
    pub(crate) fn put_guild(&self, value: &Value, me: u64) {
        let Some(guild) = id(&value["id"]) else { return };
        let mut known = self.guilds.entry(guild).or_default();
        if let Some(name) = value["name"].as_str() {
            known.name = Some(name.to_owned());
        }
        known.owner = id(&value["owner_id"]).or(known.owner);
        known.hall = id(&value["system_channel_id"]).or(known.hall);
        if let Some(roles) = value["roles"].as_array() {
            (known.roles, known.administrators, known.permissions) = Default::default();
            roles.iter().for_each(|role| known.put_role(role, me));
            let left: Vec<u64> = known.permissions.keys().copied().collect();
            known.mine.retain(|role| left.contains(role));
        }
        let members = value["members"].as_array().into_iter().flatten();
        for member in members.filter(|m| id(&m["user"]["id"]) == Some(me)) {
            known.put_own_member(member, me);
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
            known.hall = value["channels"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|c| c["type"] == 0)
                .and_then(|c| id(&c["id"]));
        }
    }

    /// Adds or replaces a channel, given as a channel object.
    pub(crate) fn put_channel(&self, value: &Value, guild: Option<u64>) {
        if let Some((id, channel)) = Channel::read(value, guild) {
            self.put(id, channel);
        }
    }

    /// Updates our own roles and time-out from a member object.
    pub(crate) fn put_own_member(&self, guild: u64, member: &Value, me: u64) {
        if let Some(mut known) = self.guilds.get_mut(&guild) {
            known.put_own_member(member, me);
        }
    }

    /// Adds or replaces a role.
    pub(crate) fn put_role(&self, guild: u64, role: &Value, me: u64) {
        if let Some(mut known) = self.guilds.get_mut(&guild) {
            known.put_role(role, me);
        }
    }

    /// Removes a role.
    pub(crate) fn remove_role(&self, guild: u64, role: u64) {
        if let Some(mut known) = self.guilds.get_mut(&guild) {
            known.roles.remove(&role);
            known.permissions.remove(&role);
            known.administrators.retain(|r| *r != role);
            known.mine.retain(|r| *r != role);
        }
    }

    /// Removes a channel and its threads.
    pub(crate) fn remove_channel(&self, id: u64) {
        self.channels.retain(|key, c| *key != id && c.parent != Some(id));
    }

    /// Removes a guild and its channels.
    pub(crate) fn remove_guild(&self, id: u64) {
        self.guilds.remove(&id);
        self.channels.retain(|_, c| c.guild != Some(id));
    }
}

impl Guild {
    fn put_role(&mut self, role: &Value, me: u64) {
        let Some(number) = id(&role["id"]) else { return };
        if let Some(name) = role["name"].as_str() {
            self.roles.insert(number, name.to_owned());
        }
        self.administrators.retain(|r| *r != number);
        if administers(&role["permissions"]) {
            self.administrators.push(number);
        }
        if let Some(may) = permissions::read(&role["permissions"]) {
            self.permissions.insert(number, may);
        }
        if id(&role["tags"]["bot_id"]) == Some(me) && !self.mine.contains(&number) {
            self.mine.push(number);
        }
    }

    fn put_own_member(&mut self, member: &Value, me: u64) {
        let Some(roles) = member["roles"].as_array() else { return };
        if id(&member["user"]["id"]).is_some_and(|who| who != me) {
            return;
        }
        self.member = true;
        match member["nick"].as_str().map(str::trim).filter(|nick| !nick.is_empty()) {
            Some(nick) => self.nick = Some(nick.to_owned()),
            None if self.nick.is_some() => self.nick = Some(String::new()),
            None => {}
        }
        for role in roles.iter().filter_map(id) {
            if !self.mine.contains(&role) {
                self.mine.push(role);
            }
        }
        let all: Vec<u64> = roles.iter().filter_map(id).collect();
        self.mine.retain(|role| all.contains(role));
        let until = member["communication_disabled_until"]
            .as_str()
            .and_then(|at| serenity::all::Timestamp::parse(at).ok());
        self.timed_out = until.map(|at| Timestamp(at.unix_timestamp().saturating_mul(1000)));
    }
}

#[cfg(test)]
mod tests;
