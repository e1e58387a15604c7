//! Adds people and guilds to the server's world.

use super::{
    Handle,
    people::{Guild, User},
    world::Person,
};

impl Handle {
    pub(super) fn person(&self, name: &str, username: &str, bot: bool) -> User {
        let id = self.change(|s| {
            let now = s.now();
            let id = s.world.id(now);
            s.world.people.insert(
                id,
                Person {
                    name: name.to_owned(),
                    username: username.to_owned(),
                    bot,
                    takes_direct: true,
                },
            );
            id
        });
        User { api: self.clone(), id }
    }

    /// Adds a person.
    pub fn user(&self, name: &str, username: &str) -> User {
        self.person(name, username, false)
    }

    /// Adds another bot.
    pub fn other_bot(&self, name: &str, username: &str) -> User {
        self.person(name, username, true)
    }

    /// Adds a guild with the bot and these members; the first one is its owner.
    pub fn guild(&self, name: &str, members: &[&User]) -> Guild {
        let members: Vec<u64> = members.iter().map(|m| m.id).collect();
        let id = self.change(|s| {
            let now = s.now();
            let id = s.world.add_guild(name, &members, now);
            s.tell_guild(id);
            id
        });
        Guild { api: self.clone(), id }
    }

    /// Guild of a channel.
    ///
    /// # Panics
    /// When the channel is not in a guild.
    pub fn guild_of(&self, channel: u64) -> Guild {
        let id = self
            .change(|s| s.guild_of(channel))
            .unwrap_or_else(|| panic!("channel {channel} is in no guild"));
        Guild { api: self.clone(), id }
    }
}
