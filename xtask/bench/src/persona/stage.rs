//! The places of the talks: a Telegram and a Discord server on the loopback, and who speaks there.

use anyhow::{Result, bail};
use galatea_testkit::{
    discord::{self, DiscordApi},
    telegram::{self, BotApi},
};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::talk::{Line, Place, Talk};

/// Longest wait for an answer: a turn's time and some more.
const LATE: Duration = Duration::from_secs(150);
/// An answer is complete when nothing follows for this long.
const QUIET: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(100);
/// A message that asks for nothing is followed by this pause.
const PAUSE: Duration = Duration::from_millis(300);
/// Kind of a forum (Discord, "Channel Types").
const FORUM: u8 = 15;

/// The servers of one talk.
pub(super) struct Stage {
    telegram: BotApi,
    discord: DiscordApi,
}

/// The room of a talk and its people.
pub(super) enum Room {
    Telegram(BTreeMap<String, telegram::User>, telegram::Chat),
    Discord(BTreeMap<String, discord::User>, discord::Channel),
}

impl Stage {
    pub(super) async fn set() -> Self {
        let telegram = BotApi::start().await;
        let discord = DiscordApi::start().await;
        // The servers panic when dropped after a violation. Here `violations` returns them.
        telegram.allow_violation("");
        discord.allow_violation("");
        telegram.set_privacy(false);
        Self { telegram, discord }
    }

    pub(super) fn violations(&self) -> Vec<String> {
        let mut all = self.telegram.violations();
        all.extend(self.discord.violations());
        all
    }

    /// Settings that lead the program to the platform of this talk.
    pub(super) fn settings(&self, place: Place) -> [(&'static str, String); 2] {
        match place {
            Place::Private | Place::Group => [
                ("TELEGRAM_API_ROOT", self.telegram.url().to_owned()),
                ("TELEGRAM_BOT_TOKEN", self.telegram.token()),
            ],
            Place::Post | Place::Thread => [
                ("DISCORD_API_ROOT", self.discord.url().to_owned()),
                ("DISCORD_API_TOKEN", self.discord.token()),
            ],
        }
    }

    pub(super) fn mention(&self, place: Place) -> String {
        match place {
            Place::Private | Place::Group => format!("@{}", self.telegram.bot_username()),
            Place::Post | Place::Thread => self.discord.mention(),
        }
    }

    /// Makes the room. A talk needs at least one person.
    pub(super) fn room(&self, talk: &Talk) -> Result<Room> {
        let names = talk.people();
        let Some(first) = names.first() else { bail!("nobody speaks in the talk {}", talk.name) };
        Ok(match talk.place {
            Place::Private | Place::Group => {
                let people: BTreeMap<_, _> = names
                    .iter()
                    .map(|name| ((*name).to_owned(), self.telegram.user(name, &handle(name))))
                    .collect();
                let chat = if talk.place == Place::Private {
                    people[*first].direct()
                } else {
                    let members: Vec<_> = people.values().collect();
                    self.telegram.supergroup(&talk.title, &members)
                };
                Room::Telegram(people, chat)
            }
            Place::Post | Place::Thread => {
                let people: BTreeMap<_, _> = names
                    .iter()
                    .map(|name| ((*name).to_owned(), self.discord.user(name, &handle(name))))
                    .collect();
                let members: Vec<_> = people.values().collect();
                let guild = self.discord.guild("The Workshop", &members);
                let parent = if talk.place == Place::Post {
                    guild.channel("questions", FORUM)
                } else {
                    guild.general()
                };
                let channel = people[*first].opens_thread(&parent, &talk.title);
                Room::Discord(people, channel)
            }
        })
    }

    /// Waits until the program has its session. A platform keeps no messages for a bot before its
    /// first one.
    pub(super) async fn connected(&self, place: Place) {
        if matches!(place, Place::Post | Place::Thread) {
            let session = |d: &discord::Handle| {
                (d.connected() == 1 && d.identified() + d.resumed() > 0).then_some(())
            };
            self.discord.wait_for("the session", session).await;
        }
    }

    fn texts(&self, room: &Room) -> Vec<String> {
        match room {
            Room::Telegram(_, chat) => {
                self.telegram.shown(chat.id).into_iter().map(|shown| shown.text).collect()
            }
            Room::Discord(_, channel) => {
                self.discord.shown(channel.id).into_iter().map(|shown| shown.text).collect()
            }
        }
    }

    /// Says a line and waits for its answer, if it asks for one; none if the answer is late.
    pub(super) async fn say(
        &self,
        room: &Room,
        line: &Line,
        text: &str,
    ) -> (Option<String>, Duration) {
        let before = self.texts(room).len();
        match room {
            Room::Telegram(people, chat) => {
                people[&line.by].says(chat, text).send();
            }
            Room::Discord(people, channel) => {
                people[&line.by].says(channel, text).send();
            }
        }
        let started = Instant::now();
        if !line.asks {
            tokio::time::sleep(PAUSE).await;
            return (None, Duration::ZERO);
        }
        let (mut count, mut changed) = (before, started);
        loop {
            let texts = self.texts(room);
            if texts.len() > count {
                (count, changed) = (texts.len(), Instant::now());
            }
            if count > before && changed.elapsed() >= QUIET {
                return (Some(texts[before..].join("\n")), changed.duration_since(started));
            }
            if count == before && started.elapsed() >= LATE {
                return (None, started.elapsed());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// A user name as both platforms accept it.
fn handle(name: &str) -> String {
    format!("{}_writes", name.to_lowercase())
}
