//! Which guilds and channels there are: what an event needs to be put in its place, but does not
//! tell itself.

use dashmap::DashMap;
use galatea_core::Timestamp;
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
    /// What its roles may do; that of everybody has the guild's own id.
    pub(crate) permissions: HashMap<u64, u64>,
    /// All our roles are known, not only the one Discord made for us.
    pub(crate) member: bool,
    /// Until then we are timed out.
    pub(crate) timed_out: Option<Timestamp>,
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
    /// What roles and members may do here in other ways than elsewhere; none where Discord did not
    /// tell, as of threads.
    pub(crate) overwrites: Option<Box<[Overwrite]>>,
}

/// Permissions of a role or a member in one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overwrite {
    /// The role or the member.
    pub(crate) id: u64,
    allow: u64,
    deny: u64,
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

/// `ADMINISTRATOR` and `MANAGE_GUILD` (Discord, "Permissions"): both may change what the agent does
/// there.
pub(crate) const ADMINISTERS: u64 = 1 << 3 | 1 << 5;

/// A permission set in JSON.
pub(crate) fn administers(permissions: &Value) -> bool {
    set(permissions).is_some_and(|p| p & ADMINISTERS != 0)
}

/// Discord writes sets of permissions as numbers in text.
fn set(permissions: &Value) -> Option<u64> {
    permissions.as_str().and_then(|p| p.parse::<u64>().ok())
}

/// Bits of permissions (Discord, "Permissions").
const ADMINISTRATOR: u64 = 1 << 3;
const VIEW: u64 = 1 << 10;
const SEND: u64 = 1 << 11;
const SEND_IN_THREADS: u64 = 1 << 38;

/// What is missing to write in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is not even seen.
    View,
    /// Send Messages, or Send Messages in Threads.
    Send,
    /// Moderators timed the bot out.
    TimedOut,
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
        let overwrite = |o: &Value| {
            Some(Overwrite {
                id: id(&o["id"])?,
                allow: set(&o["allow"]).unwrap_or(0),
                deny: set(&o["deny"]).unwrap_or(0),
            })
        };
        let overwrites = value["permission_overwrites"]
            .as_array()
            .map(|all| all.iter().filter_map(overwrite).collect());
        Some((
            id(&value["id"])?,
            Self {
                guild: id(&value["guild_id"]).or(guild),
                name,
                kind,
                parent,
                newest: id(&value["last_message_id"]),
                overwrites,
            },
        ))
    }

    /// One of which nothing is known but its guild.
    pub(crate) fn unknown(guild: u64) -> Self {
        Self {
            guild: Some(guild),
            name: None,
            kind: 0,
            parent: None,
            newest: None,
            overwrites: None,
        }
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

    /// What is missing to write in a channel; none also where that is not known (Discord,
    /// "Permission Hierarchy").
    pub(crate) fn missing(&self, channel: u64, me: u64, now: Timestamp) -> Option<Missing> {
        let here = self.channel(channel)?;
        let (guild, thread) = (here.guild?, is_thread(here.kind));
        // Threads have none of their own.
        let place = if thread { self.channel(here.parent?)? } else { here };
        let overwrites = place.overwrites?;
        let known = self.guilds.get(&guild).filter(|g| g.member && g.owner != Some(me))?;
        let everybody = *known.permissions.get(&guild)?;
        let mut may = known
            .mine
            .iter()
            .filter_map(|role| known.permissions.get(role))
            .fold(everybody, |all, role| all | role);
        if may & ADMINISTRATOR != 0 {
            return None;
        }
        if known.timed_out.is_some_and(|until| now < until) {
            return Some(Missing::TimedOut);
        }
        let mut apply = |whose: &dyn Fn(u64) -> bool| {
            let (allow, deny) = overwrites
                .iter()
                .filter(|o| whose(o.id))
                .fold((0, 0), |(allow, deny), o| (allow | o.allow, deny | o.deny));
            may = may & !deny | allow;
        };
        apply(&|id| id == guild);
        apply(&|id| id != guild && known.mine.contains(&id));
        apply(&|id| id == me);
        if may & VIEW == 0 {
            Some(Missing::View)
        } else {
            (may & if thread { SEND_IN_THREADS } else { SEND } == 0).then_some(Missing::Send)
        }
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
        let mut all: Vec<_> = self
            .channels
            .iter()
            .filter(|c| c.guild == Some(guild))
            .map(|c| (*c.key(), c.clone()))
            .collect();
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

    /// Notes a channel object.
    pub(crate) fn put_channel(&self, value: &Value, guild: Option<u64>) {
        if let Some((id, channel)) = Channel::read(value, guild) {
            self.put(id, channel);
        }
    }

    /// Our own member in a guild changed.
    pub(crate) fn put_own_member(&self, guild: u64, member: &Value, me: u64) {
        if let Some(mut known) = self.guilds.get_mut(&guild) {
            known.put_own_member(member, me);
        }
    }

    /// A role is new or changed.
    pub(crate) fn put_role(&self, guild: u64, role: &Value, me: u64) {
        if let Some(mut known) = self.guilds.get_mut(&guild) {
            known.put_role(role, me);
        }
    }

    /// A role is gone.
    pub(crate) fn remove_role(&self, guild: u64, role: u64) {
        if let Some(mut known) = self.guilds.get_mut(&guild) {
            known.roles.remove(&role);
            known.permissions.remove(&role);
            known.administrators.retain(|r| *r != role);
            known.mine.retain(|r| *r != role);
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
        if let Some(may) = set(&role["permissions"]) {
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
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp(1_000_000_000_000);

    /// Guild 1 in which we (9) have the roles 10 and 11; channel 5 with these overwrites; thread 6
    /// in it.
    fn may(
        everyone: u64,
        own: u64,
        overwrites: Value,
        more: &Value,
    ) -> (Option<Missing>, Option<Missing>) {
        let directory = Directory::default();
        let mut guild = json!({ "id": "1", "owner_id": "2",
            "roles": [{ "id": "1", "name": "@everyone", "permissions": everyone.to_string() }, { "id": "10", "name": "a", "permissions": own.to_string() },
                { "id": "11", "name": "b", "permissions": "0" }],
            "members": [{ "user": { "id": "9" }, "roles": ["10", "11"] }],
            "channels": [{ "id": "5", "type": 0, "name": "x", "permission_overwrites": overwrites }],
            "threads": [{ "id": "6", "type": 11, "name": "t", "parent_id": "5" }] });
        guild.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        directory.put_guild(&guild, 9);
        (directory.missing(5, 9, NOW), directory.missing(6, 9, NOW))
    }

    fn over(id: &str, kind: u8, allow: u64, deny: u64) -> Value {
        json!({ "id": id, "type": kind, "allow": allow.to_string(), "deny": deny.to_string() })
    }

    #[test]
    fn permissions_are_applied_in_discords_order() {
        let (none, plain) = (json!({}), VIEW | SEND | SEND_IN_THREADS);
        let (view, send) = (Some(Missing::View), Some(Missing::Send));
        assert_eq!(may(0, plain, json!([]), &none), (None, None));
        assert_eq!(may(VIEW, 0, json!([]), &none), (send, send));
        assert_eq!(
            may(VIEW | SEND, 0, json!([]), &none),
            (None, send),
            "threads have a permission of their own"
        );
        assert_eq!(may(plain, 0, json!([over("1", 0, 0, VIEW)]), &none), (view, view));
        let denied = over("1", 0, 0, SEND);
        assert_eq!(may(plain, 0, json!([denied]), &none).0, send);
        assert_eq!(
            may(plain, 0, json!([denied, over("10", 0, SEND, 0)]), &none).0,
            None,
            "a role is stronger than everybody"
        );
        assert_eq!(
            may(plain, 0, json!([over("10", 0, 0, SEND), over("11", 0, SEND, 0)]), &none).0,
            None,
            "one role that allows is enough"
        );
        assert_eq!(
            may(plain, 0, json!([over("10", 0, SEND, 0), over("9", 1, 0, SEND)]), &none).0,
            send,
            "our own is the strongest"
        );
        assert_eq!(
            may(plain, 0, json!([over("77", 0, 0, SEND)]), &none).0,
            None,
            "somebody else's"
        );
        assert_eq!(may(ADMINISTRATOR, 0, json!([denied]), &none), (None, None));
        assert_eq!(may(0, 0, json!([]), &json!({ "owner_id": "9" })), (None, None));
        assert_eq!(
            may(0, 0, json!([]), &json!({ "members": [] })),
            (None, None),
            "not known is not missing"
        );
        let timed_out = |at: &str| json!({ "members": [{ "user": { "id": "9" }, "roles": ["10"], "communication_disabled_until": at }] });
        assert_eq!(
            may(plain, 0, json!([]), &timed_out("2099-01-01T00:00:00Z")).0,
            Some(Missing::TimedOut)
        );
        assert_eq!(may(plain, 0, json!([]), &timed_out("1999-01-01T00:00:00Z")).0, None);
    }
}
