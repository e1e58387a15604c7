//! The world as JSON, in the form of Discord's API objects.

use galatea_core::Timestamp;
use serde_json::{Value, json};

use super::world::{Channel, Message, World, may};

/// ISO 8601, as Discord writes times.
pub(crate) fn iso(at: Timestamp) -> String {
    let seconds = at.0.div_euclid(1000);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 1970 → civil date (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}000+00:00",
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
        at.0.rem_euclid(1000)
    )
}

fn text(id: u64) -> Value {
    json!(id.to_string())
}

/// An emoji object for `👍` or `name:id`.
pub(crate) fn emoji(path: &str) -> Value {
    match path.split_once(':') {
        Some((name, id)) => json!({ "id": id, "name": name }),
        None => json!({ "id": null, "name": path }),
    }
}

impl World {
    pub(crate) fn user_json(&self, id: u64) -> Value {
        match self.people.get(&id) {
            Some(p) => json!({
                "id": text(id), "username": p.username, "global_name": p.name, "discriminator": "0", "avatar": null, "bot": p.bot,
                "public_flags": 0, "avatar_decoration_data": null, "clan": null, "primary_guild": null, "display_name_styles": null
            }),
            None => {
                json!({ "id": text(id), "username": "gone", "discriminator": "0", "avatar": null })
            }
        }
    }

    /// A guild member, optionally without its user, where the event has the user elsewhere.
    pub(crate) fn member_json(&self, guild: u64, user: u64, with_user: bool) -> Value {
        let Some(guild) = self.guilds.get(&guild) else { return Value::Null };
        let member = guild.members.get(&user).cloned().unwrap_or_default();
        let roles: Vec<String> = member.roles.iter().map(u64::to_string).collect();
        let mut json = json!({
            "nick": member.nick, "roles": roles, "joined_at": iso(guild.joined_at), "deaf": false, "mute": false, "flags": 0, "avatar": null, "banner": null,
            "premium_since": null, "pending": false, "communication_disabled_until": member.timed_out
        });
        if with_user {
            json["user"] = self.user_json(user);
        }
        json
    }

    /// Permissions of a member in a guild.
    pub(crate) fn permissions(&self, guild: u64, user: u64) -> u64 {
        let Some(g) = self.guilds.get(&guild) else { return 0 };
        if g.owner == user {
            return u64::MAX >> 10;
        }
        let roles = g.members.get(&user).map(|m| m.roles.clone()).unwrap_or_default();
        let all = roles
            .iter()
            .chain([&guild])
            .filter_map(|r| g.roles.get(r))
            .fold(0, |all, r| all | r.permissions);
        if all & may::ADMINISTRATOR != 0 { u64::MAX >> 10 } else { all }
    }

    pub(crate) fn channel_json(&self, id: u64, c: &Channel) -> Value {
        let last = c.messages.keys().last().map(u64::to_string);
        let mut json =
            json!({ "id": text(id), "type": c.kind, "last_message_id": last, "flags": 0 });
        match (c.guild, c.recipient) {
            (Some(guild), _) => {
                json["guild_id"] = text(guild);
                json["name"] = json!(c.name);
                json["parent_id"] = c.parent.map_or(Value::Null, text);
                json["position"] = json!(0);
                let silenced = |who: &u64| json!({ "id": text(*who), "type": u8::from(self.people.contains_key(who)), "allow": "0", "deny": (may::SEND | may::SEND_IN_THREADS).to_string() });
                let mut overwrites: Vec<Value> = c.silenced.iter().map(silenced).collect();
                // Permissions that moderators gave the bot in this channel, as an overwrite of its
                // own.
                let (allow, deny) = (c.may & !may::INVITED, may::INVITED & !c.may);
                if !c.is_thread() && allow | deny != 0 {
                    overwrites.push(json!({ "id": text(self.bot), "type": 1, "allow": allow.to_string(), "deny": deny.to_string() }));
                }
                json["permission_overwrites"] = json!(overwrites);
                json["nsfw"] = json!(false);
                if c.is_thread() {
                    json["owner_id"] = text(self.bot);
                    json["thread_metadata"] = json!({
                        "archived": c.archived, "auto_archive_duration": 1440, "archive_timestamp": "2026-01-01T00:00:00.000000+00:00", "locked": false
                    });
                    json["message_count"] = json!(c.messages.len());
                    json["member_count"] = json!(2);
                } else {
                    json["topic"] = Value::Null;
                    json["rate_limit_per_user"] = json!(0);
                }
            }
            (None, Some(person)) => json["recipients"] = json!([self.user_json(person)]),
            (None, None) => {}
        }
        json
    }

    pub(crate) fn guild_json(&self, id: u64) -> Value {
        let Some(g) = self.guilds.get(&id) else { return Value::Null };
        let role = |(rid, r): (&u64, &super::world::Role)| {
            let mut json = json!({
                "id": text(*rid), "name": r.name, "color": 0, "colors": { "primary_color": 0 }, "hoist": false, "icon": null, "position": 0,
                "permissions": r.permissions.to_string(), "managed": r.bot.is_some(), "mentionable": true, "flags": 0
            });
            if let Some(bot) = r.bot {
                json["tags"] = json!({ "bot_id": text(bot) });
            }
            json
        };
        json!({
            "id": text(id), "name": g.name, "owner_id": text(g.owner), "icon": null, "splash": null, "system_channel_id": text(g.general),
            "roles": g.roles.iter().map(role).collect::<Vec<_>>(), "emojis": [], "features": [], "mfa_level": 0, "preferred_locale": "en-US"
        })
    }

    pub(crate) fn channels_json(&self, guild: u64, threads: bool) -> Vec<Value> {
        let some = self.channels.iter().filter(|(_, c)| {
            c.guild == Some(guild)
                && c.is_thread() == threads
                && !c.archived
                && c.may & may::VIEW != 0
        });
        some.map(|(id, c)| self.channel_json(*id, c)).collect()
    }

    /// Payload of GUILD_CREATE. Without the members intent the bot itself is the only member
    /// listed.
    pub(crate) fn guild_create(&self, id: u64, members: bool) -> Value {
        let mut json = self.guild_json(id);
        let Some(g) = self.guilds.get(&id) else { return json };
        let shown = g.members.keys().filter(|m| members || **m == self.bot);
        json["members"] = shown.map(|m| self.member_json(id, *m, true)).collect();
        json["channels"] = json!(self.channels_json(id, false));
        json["threads"] = json!(self.channels_json(id, true));
        json["joined_at"] = json!(iso(g.joined_at));
        json["member_count"] = json!(g.members.len());
        for (name, value) in [
            ("large", json!(false)),
            ("unavailable", json!(false)),
            ("presences", json!([])),
            ("voice_states", json!([])),
        ] {
            json[name] = value;
        }
        json
    }

    pub(crate) fn message_json(&self, m: &Message, base: &str) -> Value {
        let (mut mentions, roles) = self.mentions(&m.content);
        let referenced = m.reference.and_then(|r| self.message(m.channel, r));
        if let Some(referenced) =
            referenced.filter(|r| m.author != self.bot && !mentions.contains(&r.author))
        {
            // A person's reply mentions the person it answers.
            mentions.push(referenced.author);
        }
        let file = |f: &super::world::File| {
            let url = format!(
                "{base}/attachments/{}/{}/{}?ex=1&is=2&hm=3",
                m.channel,
                f.id,
                f.name.replace(' ', "_")
            );
            let mut json = json!({ "id": text(f.id), "filename": f.name, "size": f.bytes.len(), "url": url, "proxy_url": url });
            if let Some(mime) = &f.mime {
                json["content_type"] = json!(mime);
            }
            if let Some(description) = &f.description {
                json["description"] = json!(description);
            }
            if let Some(seconds) = f.voice {
                // "base64 encoded bytearray representing a sampled waveform".
                json["duration_secs"] = json!(seconds);
                json["waveform"] = json!("AAoUHigyPEZQWg==");
            }
            json
        };
        let mut json = json!({
            "id": text(m.id), "channel_id": text(m.channel), "author": self.user_json(m.author), "content": m.content,
            "timestamp": iso(Timestamp(i64::try_from(m.id >> 22).unwrap_or(0) + super::world::EPOCH)), "edited_timestamp": m.edited.map(iso),
            "tts": false, "mention_everyone": false, "mentions": mentions.iter().map(|p| self.user_json(*p)).collect::<Vec<_>>(),
            "mention_roles": roles.iter().map(u64::to_string).collect::<Vec<_>>(), "attachments": m.files.iter().map(file).collect::<Vec<_>>(),
            "embeds": [], "components": m.components, "pinned": false, "type": m.kind, "flags": m.flags
        });
        if let Some(application) = m.application {
            json["application_id"] = text(application);
        }
        let reactions: Vec<Value> = m
            .reactions
            .iter()
            .filter(|r| !r.1.is_empty())
            .map(|(path, who)| {
                json!({ "emoji": emoji(path), "count": who.len(), "me": who.contains(&self.bot), "me_burst": false, "burst_colors": [],
                    "count_details": { "burst": 0, "normal": who.len() } })
            })
            .collect();
        if !reactions.is_empty() {
            json["reactions"] = json!(reactions);
        }
        if let Some(reference) = m.reference {
            let guild = self.channels.get(&m.channel).and_then(|c| c.guild);
            json["message_reference"] =
                json!({ "type": 0, "channel_id": text(m.channel), "message_id": text(reference) });
            if let Some(guild) = guild {
                json["message_reference"]["guild_id"] = text(guild);
            }
            json["referenced_message"] = referenced.map_or(Value::Null, |r| {
                let mut inner = self.message_json(&Message { reference: None, ..r.clone() }, base);
                inner["type"] = json!(0);
                inner
            });
        }
        for (name, value) in &m.fields {
            json[name.as_str()] = value.clone();
        }
        json
    }

    /// Payload of MESSAGE_CREATE and MESSAGE_UPDATE: a message with the fields only events have.
    pub(crate) fn message_event(&self, m: &Message, base: &str) -> Value {
        let mut json = self.message_json(m, base);
        if let Some(guild) = self.channels.get(&m.channel).and_then(|c| c.guild) {
            json["guild_id"] = text(guild);
            json["member"] = self.member_json(guild, m.author, false);
        }
        if let Some(nonce) = &m.nonce {
            json["nonce"] = nonce.clone();
        }
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_discord_does() {
        assert_eq!(iso(Timestamp(0)), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(iso(Timestamp(1_709_210_096_789)), "2024-02-29T12:34:56.789000+00:00");
    }
}
