//! People, guilds and channels, and the actions a test makes them perform: `ann.says(&channel,
//! "hi").reply_to(7).send()`.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Handle,
    sessions::intent,
    world::{File, Member, Message, Role, may},
};

/// The flag of voice messages (Discord, "Message Flags").
const IS_VOICE_MESSAGE: u64 = 1 << 13;

/// A person of the server's world.
#[derive(Clone)]
pub struct User {
    pub(super) api: Handle,
    /// Id of the person.
    pub id: u64,
}

/// A guild of the server's world.
#[derive(Clone)]
pub struct Guild {
    pub(super) api: Handle,
    /// Id of the guild.
    pub id: u64,
}

/// A channel, thread or direct message of the server's world.
#[derive(Clone)]
pub struct Channel {
    pub(super) api: Handle,
    /// Id of the channel.
    pub id: u64,
}

/// A message being prepared; [`Saying::send`] sends it.
#[must_use = "nothing is said before `send`"]
pub struct Saying {
    api: Handle,
    message: Message,
}

impl Saying {
    /// Makes it a reply to this message of the same channel.
    pub fn reply_to(mut self, message: u64) -> Self {
        self.message.reference = Some(message);
        self.message.kind = 19;
        self
    }

    /// Sets fields of the message object as Discord documents them ("Message Object"), such as
    /// `embeds`, `poll`, `sticker_items`, `message_snapshots`, `type` or `components`.
    ///
    /// # Panics
    /// When `fields` is no object, or names a field that a message does not have.
    pub fn with(mut self, fields: &Value) -> Self {
        const KNOWN: [&str; 18] = [
            "activity",
            "application",
            "application_id",
            "attachments",
            "author",
            "call",
            "components",
            "embeds",
            "flags",
            "interaction_metadata",
            "mentions",
            "message_reference",
            "message_snapshots",
            "poll",
            "referenced_message",
            "sticker_items",
            "type",
            "webhook_id",
        ];
        let fields = fields.as_object().unwrap_or_else(|| panic!("fields are an object"));
        for (name, value) in fields {
            assert!(KNOWN.contains(&name.as_str()), "a message has no field {name}");
            self.message.fields.insert(name.clone(), value.clone());
        }
        self
    }

    /// Posts it through a webhook of an application, under this name, as PluralKit does.
    pub fn through_webhook(self, webhook: u64, application: u64, name: &str) -> Self {
        self.with(&json!({
            "webhook_id": webhook.to_string(), "application_id": application.to_string(),
            "author": { "id": webhook.to_string(), "username": name, "discriminator": "0000", "avatar": null, "bot": true }
        }))
    }

    /// Attaches a file.
    pub fn with_file(mut self, name: &str, mime: &str, bytes: &[u8]) -> Self {
        let id = self.message.id + 1 + self.message.files.len() as u64;
        self.message.files.push(File {
            id,
            name: name.into(),
            mime: Some(mime.into()),
            description: None,
            bytes: Bytes::copy_from_slice(bytes),
            voice: None,
        });
        self
    }

    /// Sends the message and returns its id.
    pub fn send(mut self) -> u64 {
        self.api.change(|s| {
            let now = s.now();
            self.message.id = s.world.id(now);
            for file in &mut self.message.files {
                file.id = s.world.id(now);
            }
            let id = self.message.id;
            if let Some(channel) = s.world.channels.get_mut(&self.message.channel) {
                channel.messages.insert(id, self.message.clone());
            }
            s.dispatch_message("MESSAGE_CREATE", &self.message);
            id
        })
    }
}

impl User {
    /// The person's direct message channel with the bot.
    pub fn direct(&self) -> Channel {
        let id = self.api.change(|s| {
            let now = s.now();
            s.world.direct(self.id, now)
        });
        Channel { api: self.api.clone(), id }
    }

    /// Prepares a message; `<@id>` in the text is a mention.
    pub fn says(&self, channel: &Channel, text: &str) -> Saying {
        let message = Message {
            channel: channel.id,
            author: self.id,
            content: text.to_owned(),
            ..Message::default()
        };
        Saying { api: self.api.clone(), message }
    }

    /// Prepares a voice message of so many seconds, as Discord's apps record it: a message without
    /// text and with the flag `IS_VOICE_MESSAGE`.
    pub fn sends_voice(&self, channel: &Channel, bytes: &[u8], seconds: f64) -> Saying {
        let mut saying = self.says(channel, "").with_file("voice-message.ogg", "audio/ogg", bytes);
        saying.message.flags |= IS_VOICE_MESSAGE;
        for file in &mut saying.message.files {
            file.voice = Some(seconds);
        }
        saying
    }

    /// Edits the person's message.
    pub fn edits(&self, channel: &Channel, id: u64, text: &str) {
        self.api.change(|s| {
            let now = s.now();
            let found = s.world.channels.get_mut(&channel.id).and_then(|c| c.messages.get_mut(&id));
            let Some(message) = found else { panic!("no message {id} to edit") };
            (message.content, message.edited) = (text.to_owned(), Some(now));
            let changed = message.clone();
            s.dispatch_message("MESSAGE_UPDATE", &changed);
        });
    }

    /// Deletes messages; several ids make one bulk deletion, as moderators can do.
    pub fn deletes(&self, channel: &Channel, ids: &[u64]) {
        self.api.change(|s| s.remove(channel.id, ids));
    }

    /// Adds a reaction; custom emoji are written `name:id`.
    pub fn reacts(&self, channel: &Channel, id: u64, emoji: &str) {
        self.api
            .change(|s| s.set_reaction(channel.id, id, self.id, emoji, true))
            .unwrap_or_else(|_| panic!("no message {id} to react to"));
    }

    /// Removes a reaction.
    pub fn unreacts(&self, channel: &Channel, id: u64, emoji: &str) {
        self.api
            .change(|s| s.set_reaction(channel.id, id, self.id, emoji, false))
            .unwrap_or_else(|_| panic!("no message {id}"));
    }

    /// Presses the button with this `custom_id` and returns the interaction's id.
    ///
    /// # Panics
    /// When the message has no such button.
    pub fn presses(&self, channel: &Channel, message: u64, custom_id: &str) -> u64 {
        self.api.change(|s| {
            let rows = s
                .world
                .message(channel.id, message)
                .map(|m| json!(m.components).to_string())
                .unwrap_or_default();
            assert!(
                rows.contains(&json!(custom_id).to_string()),
                "no button {custom_id} under {message}"
            );
            s.interact(
                self.id,
                channel.id,
                3,
                &json!({ "custom_id": custom_id, "component_type": 2 }),
                Some(message),
            )
        })
    }

    /// Uses a slash command with the text of its one option, and returns the interaction's id.
    ///
    /// # Panics
    /// When the command is not registered.
    pub fn uses(&self, channel: &Channel, command: &str, option: Option<&str>) -> u64 {
        self.api.change(|s| {
            let known = s
                .commands
                .iter()
                .find(|c| c["name"] == command)
                .unwrap_or_else(|| panic!("no command {command}"))
                .clone();
            let options: Vec<Value> = option
                .into_iter()
                .map(
                    |text| json!({ "type": 3, "name": known["options"][0]["name"], "value": text }),
                )
                .collect();
            s.interact(
                self.id,
                channel.id,
                2,
                &json!({ "id": known["id"], "name": command, "type": 1, "options": options }),
                None,
            )
        })
    }

    /// Opens a thread in a channel.
    pub fn opens_thread(&self, parent: &Channel, name: &str) -> Channel {
        let id = self.api.change(|s| {
            let guild = s.guild_of(parent.id).unwrap_or_else(|| panic!("threads are in guilds"));
            let thread = s.world.channel(guild, 11, name, Some(parent.id));
            s.add_channel(thread)
        });
        Channel { api: self.api.clone(), id }
    }

    /// Joins a guild.
    pub fn joins(&self, guild: &Guild) {
        self.api.change(|s| s.member(guild.id, self.id, true));
    }

    /// Leaves a guild.
    pub fn leaves(&self, guild: &Guild) {
        self.api.change(|s| s.member(guild.id, self.id, false));
    }

    /// Sets whether the person accepts direct messages from the bot.
    pub fn takes_direct(&self, takes: bool) {
        self.api.change(|s| {
            if let Some(person) = s.world.people.get_mut(&self.id) {
                person.takes_direct = takes;
            }
        });
    }
}

impl Guild {
    /// The guild's first channel.
    pub fn general(&self) -> Channel {
        let id = self.api.change(|s| s.world.guilds[&self.id].general);
        Channel { api: self.api.clone(), id }
    }

    /// Adds a channel of this kind (Discord, "Channel Types"): 0 text, 5 news, 15 forum, ….
    pub fn channel(&self, name: &str, kind: u8) -> Channel {
        let id = self.api.change(|s| {
            let channel = s.world.channel(self.id, kind, name, None);
            s.add_channel(channel)
        });
        Channel { api: self.api.clone(), id }
    }

    /// Adds a role for some members.
    pub fn role(&self, name: &str, permissions: u64, members: &[u64]) -> u64 {
        self.api.change(|s| {
            let now = s.now();
            let id = s.world.id(now);
            if let Some(guild) = s.world.guilds.get_mut(&self.id) {
                guild.roles.insert(id, Role { name: name.to_owned(), permissions, bot: None });
                for member in members {
                    guild.members.entry(*member).or_insert_with(Member::default).roles.push(id);
                }
            }
            id
        })
    }

    /// Times a member out until this moment (ISO 8601); `None` ends the time-out.
    pub fn times_out(&self, user: &User, until: Option<&str>) {
        self.api.change(|s| {
            if let Some(member) =
                s.world.guilds.get_mut(&self.id).and_then(|guild| guild.members.get_mut(&user.id))
            {
                member.timed_out = until.map(str::to_owned);
            }
        });
    }

    /// The role that Discord created for the bot.
    pub fn own_role(&self) -> u64 {
        self.api.change(|s| {
            s.world.guilds[&self.id]
                .roles
                .iter()
                .find(|(_, r)| r.bot.is_some())
                .map_or(0, |(id, _)| *id)
        })
    }

    /// Renames the guild.
    pub fn renames(&self, name: &str) {
        self.api.change(|s| {
            if let Some(guild) = s.world.guilds.get_mut(&self.id) {
                guild.name = name.to_owned();
            }
            let data = s.world.guild_json(self.id);
            s.event(Some(self.id), intent::GUILDS, "GUILD_UPDATE", &data);
        });
    }

    /// Removes the bot from the guild.
    pub fn removes_bot(&self) {
        self.api.change(|s| {
            let bot = s.world.bot;
            if let Some(guild) = s.world.guilds.get_mut(&self.id) {
                guild.members.remove(&bot);
            }
            s.event(
                Some(self.id),
                intent::GUILDS,
                "GUILD_DELETE",
                &json!({ "id": self.id.to_string() }),
            );
        });
    }
}

impl Channel {
    /// Sets the bot's permissions in this channel to exactly these bits.
    pub fn allows(&self, permissions: u64) {
        self.api.change(|s| {
            if let Some(channel) = s.world.channels.get_mut(&self.id) {
                channel.may = permissions;
            }
            if let Some(channel) =
                s.world.channels.get(&self.id).filter(|c| c.guild.is_some() && !c.is_thread())
            {
                let (guild, data) = (channel.guild, s.world.channel_json(self.id, channel));
                s.event(guild, intent::GUILDS, "CHANNEL_UPDATE", &data);
            }
        });
    }

    /// Forbids a role, everyone (the guild's id) or a person to write in this channel.
    pub fn silences(&self, who: u64) {
        self.api.change(|s| {
            if let Some(channel) = s.world.channels.get_mut(&self.id) {
                channel.silenced.push(who);
            }
        });
    }

    /// Forbids the bot to write in this channel.
    pub fn silences_bot(&self) {
        self.allows(may::INVITED & !may::SEND & !may::SEND_IN_THREADS);
    }

    /// Deletes the channel.
    pub fn is_removed(&self) {
        self.api.change(|s| s.remove_channel(self.id));
    }
}
