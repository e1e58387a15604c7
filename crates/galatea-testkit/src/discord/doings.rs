//! Changes of the world by any actor, and the events they cause.

use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Instant};

use super::{
    json::emoji,
    refusal::Refusal,
    sessions::intent,
    state::State,
    world::{Channel, Member},
};
use crate::discord::world::Interaction;

impl State {
    pub(crate) fn guild_of(&self, channel: u64) -> Option<u64> {
        self.world.channels.get(&channel).and_then(|c| c.guild)
    }

    pub(crate) fn event(&mut self, guild: Option<u64>, wanted: u64, name: &str, data: &Value) {
        let bot = self.world.bot;
        self.sessions.dispatch(guild, wanted, name, data, bot);
    }

    /// Removes messages by any author.
    pub(crate) fn remove(&mut self, channel: u64, ids: &[u64]) {
        let guild = self.guild_of(channel);
        if let Some(place) = self.world.channels.get_mut(&channel) {
            ids.iter().for_each(|id| drop(place.messages.remove(id)));
        }
        let mut data = json!({ "channel_id": channel.to_string() });
        if let Some(guild) = guild {
            data["guild_id"] = json!(guild.to_string());
        }
        let wanted = if guild.is_some() { intent::GUILD_MESSAGES } else { intent::DIRECT_MESSAGES };
        match ids {
            [one] => {
                data["id"] = json!(one.to_string());
                self.event(guild, wanted, "MESSAGE_DELETE", &data);
            }
            _ => {
                data["ids"] = ids.iter().map(u64::to_string).collect();
                self.event(guild, wanted, "MESSAGE_DELETE_BULK", &data);
            }
        }
    }

    /// Sets or removes a reaction.
    pub(crate) fn set_reaction(
        &mut self,
        channel: u64,
        message: u64,
        who: u64,
        path: &str,
        set: bool,
    ) -> Result<(), Refusal> {
        let guild = self.guild_of(channel);
        let found = self
            .world
            .channels
            .get_mut(&channel)
            .and_then(|c| c.messages.get_mut(&message))
            .ok_or_else(Refusal::unknown_message)?;
        let at = match found.reactions.iter().position(|(p, _)| p == path) {
            Some(at) => at,
            None => {
                found.reactions.push((path.to_owned(), BTreeSet::new()));
                found.reactions.len() - 1
            }
        };
        let changed = if set {
            found.reactions[at].1.insert(who)
        } else {
            found.reactions[at].1.remove(&who)
        };
        let author = found.author;
        if !changed {
            return Ok(());
        }
        let mut data = json!({
            "user_id": who.to_string(), "channel_id": channel.to_string(), "message_id": message.to_string(), "emoji": emoji(path), "burst": false, "type": 0
        });
        if let Some(guild) = guild {
            data["guild_id"] = json!(guild.to_string());
            if set {
                data["member"] = self.world.member_json(guild, who, true);
                data["message_author_id"] = json!(author.to_string());
            }
        }
        let wanted =
            if guild.is_some() { intent::GUILD_REACTIONS } else { intent::DIRECT_REACTIONS };
        self.event(
            guild,
            wanted,
            if set { "MESSAGE_REACTION_ADD" } else { "MESSAGE_REACTION_REMOVE" },
            &data,
        );
        Ok(())
    }

    /// Adds a channel or thread and sends the event.
    pub(crate) fn add_channel(&mut self, channel: Channel) -> u64 {
        let now = self.now();
        let (id, guild, thread) = (self.world.id(now), channel.guild, channel.is_thread());
        self.world.channels.insert(id, channel);
        let mut data = self.world.channel_json(id, &self.world.channels[&id]);
        if thread {
            data["newly_created"] = json!(true);
        }
        self.event(
            guild,
            intent::GUILDS,
            if thread { "THREAD_CREATE" } else { "CHANNEL_CREATE" },
            &data,
        );
        id
    }

    /// Removes a channel and sends the event.
    pub(crate) fn remove_channel(&mut self, id: u64) {
        let Some(channel) = self.world.channels.remove(&id) else { return };
        let data = self.world.channel_json(id, &channel);
        self.event(
            channel.guild,
            intent::GUILDS,
            if channel.is_thread() { "THREAD_DELETE" } else { "CHANNEL_DELETE" },
            &data,
        );
    }

    /// Sends GUILD_CREATE: a guild adds the bot, or becomes available again.
    pub(crate) fn tell_guild(&mut self, guild: u64) {
        let with_members = self.world.guild_create(guild, true);
        // A session decides for all: every session of a test asks for the same intents.
        let members = self.sessions.all.values().any(|s| s.intents & intent::MEMBERS != 0);
        let data = if members { with_members } else { self.world.guild_create(guild, false) };
        self.event(Some(guild), intent::GUILDS, "GUILD_CREATE", &data);
    }

    /// Adds or removes a member of a guild and sends the event.
    pub(crate) fn member(&mut self, guild: u64, who: u64, comes: bool) {
        let mut data = json!({ "guild_id": guild.to_string(), "user": self.world.user_json(who) });
        if let Some(place) = self.world.guilds.get_mut(&guild) {
            if comes {
                place.members.insert(who, Member::default());
            } else {
                place.members.remove(&who);
            }
        }
        if comes {
            let mut member = self.world.member_json(guild, who, true);
            member["guild_id"] = data["guild_id"].clone();
            data = member;
        }
        self.event(
            Some(guild),
            intent::MEMBERS,
            if comes { "GUILD_MEMBER_ADD" } else { "GUILD_MEMBER_REMOVE" },
            &data,
        );
    }

    /// Creates an interaction: a command (`kind` 2) or a pressed button (3), with `data` in
    /// Discord's form.
    pub(crate) fn interact(
        &mut self,
        who: u64,
        channel: u64,
        kind: u64,
        data: &Value,
        message: Option<u64>,
    ) -> u64 {
        let now = self.now();
        let id = self.world.id(now);
        // Discord may put any character into a token; these must be escaped in a path.
        let token = format!("dc-canary/interaction?{id}#+%");
        let place = &self.world.channels[&channel];
        let guild = place.guild;
        let mut event = json!({
            "id": id.to_string(), "application_id": self.options.application.to_string(), "type": kind, "data": data, "token": token, "version": 1,
            "channel_id": channel.to_string(), "channel": self.world.channel_json(channel, place), "locale": "en-US", "entitlements": [],
            "app_permissions": place.may.to_string(), "authorizing_integration_owners": {}, "attachment_size_limit": 10 << 20
        });
        match guild {
            Some(guild) => {
                let mut member = self.world.member_json(guild, who, true);
                member["permissions"] = json!(self.world.permissions(guild, who).to_string());
                event["guild_id"] = json!(guild.to_string());
                event["member"] = member;
            }
            None => event["user"] = self.world.user_json(who),
        }
        if let Some(message) = message.and_then(|m| self.world.message(channel, m)) {
            event["message"] = self.world.message_json(message, &self.base);
        }
        let interaction = Interaction {
            token,
            channel,
            kind,
            at: Instant::now(),
            acknowledged: None,
            // Of a press it is the message with the button (Discord, "Get Original Interaction
            // Response").
            original: message.filter(|_| kind == 3),
            hidden: false,
            whisper: None,
            expired: false,
        };
        self.interactions.insert(id, interaction);
        // Interactions need no intent.
        self.event(guild, 0, "INTERACTION_CREATE", &event);
        id
    }
}
