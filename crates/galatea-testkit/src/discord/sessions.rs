//! Gateway sessions: the events each was sent, how far it can be resumed, and which session gets
//! which event.

use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Intent bits (Discord, "Gateway Intents").
pub(crate) mod intent {
    pub(crate) const GUILDS: u64 = 1;
    pub(crate) const MEMBERS: u64 = 1 << 1;
    pub(crate) const PRESENCES: u64 = 1 << 8;
    pub(crate) const GUILD_MESSAGES: u64 = 1 << 9;
    pub(crate) const GUILD_REACTIONS: u64 = 1 << 10;
    pub(crate) const DIRECT_MESSAGES: u64 = 1 << 12;
    pub(crate) const DIRECT_REACTIONS: u64 = 1 << 13;
    pub(crate) const CONTENT: u64 = 1 << 15;
    /// All intents that exist: 0–16, 20, 21, 24, 25.
    pub(crate) const KNOWN: u64 = 0x1_ffff | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25;
}

/// Name of an event whose text is sent unchanged, except that `{s}` becomes its number.
pub(crate) const RAW: &str = "__RAW__";

/// Number of events kept for a resume. Discord keeps those of some minutes.
const KEPT: usize = 10_000;

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) intents: u64,
    pub(crate) shard: (u64, u64),
    /// Number of the last event.
    pub(crate) sequence: u64,
    pub(crate) history: VecDeque<(u64, String, Value)>,
    /// Last number a heartbeat acknowledged; events up to it are dropped.
    pub(crate) acknowledged: u64,
    /// Connection that serves the session.
    pub(crate) connection: Option<u64>,
}

impl Session {
    /// Adds an event.
    pub(crate) fn push(&mut self, name: &str, data: Value) {
        self.sequence += 1;
        self.history.push_back((self.sequence, name.to_owned(), data));
        if self.history.len() > KEPT {
            self.history.pop_front();
        }
    }

    /// Handles a heartbeat with this number and drops the events up to it. A client that
    /// acknowledges events before it has stored them loses them.
    pub(crate) fn acknowledge(&mut self, sequence: u64) {
        self.acknowledged = self.acknowledged.max(sequence);
        while self.history.front().is_some_and(|(s, ..)| *s <= self.acknowledged) {
            self.history.pop_front();
        }
    }

    /// Events after this number, oldest first.
    pub(crate) fn after(&self, sequence: u64) -> impl Iterator<Item = &(u64, String, Value)> {
        self.history.range(self.history.partition_point(|(s, ..)| *s <= sequence)..)
    }

    /// True if all events after this number are still kept.
    pub(crate) fn resumable(&self, sequence: u64) -> bool {
        sequence >= self.acknowledged
            && self
                .history
                .front()
                .map_or(sequence == self.sequence, |(first, ..)| sequence + 1 >= *first)
    }

    fn wants(&self, guild: Option<u64>, intent: u64) -> bool {
        let (number, count) = self.shard;
        let mine = guild.map_or(0, |g| (g >> 22) % count.max(1)) == number;
        mine && (intent == 0 || self.intents & intent != 0)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub(crate) all: BTreeMap<String, Session>,
    made: u64,
    /// Last event sent, for [`Sessions::redeliver`].
    last: Option<(Option<u64>, u64, String, Value)>,
}

impl Sessions {
    pub(crate) fn begin(&mut self, intents: u64, shard: (u64, u64), connection: u64) -> String {
        self.made += 1;
        let id = format!("session{:028x}", self.made);
        let session = Session {
            id: id.clone(),
            intents,
            shard,
            sequence: 0,
            history: VecDeque::new(),
            acknowledged: 0,
            connection: Some(connection),
        };
        self.all.insert(id.clone(), session);
        id
    }

    pub(crate) fn of(&mut self, connection: u64) -> Option<&mut Session> {
        self.all.values_mut().find(|s| s.connection == Some(connection))
    }

    /// Sends an event of a guild, or of a direct message, to the sessions with its intent.
    pub(crate) fn dispatch(
        &mut self,
        guild: Option<u64>,
        intent: u64,
        name: &str,
        data: &Value,
        bot: u64,
    ) {
        for session in self.all.values_mut().filter(|s| s.wants(guild, intent)) {
            if name == RAW {
                session.push(name, data.clone());
                continue;
            }
            let data = if name.starts_with("MESSAGE_") && session.intents & intent::CONTENT == 0 {
                without_content(data, guild, bot)
            } else {
                data.clone()
            };
            session.push(name, data);
        }
        self.last = Some((guild, intent, name.to_owned(), data.clone()));
    }

    /// Sends the last event again.
    pub(crate) fn redeliver(&mut self, bot: u64) {
        if let Some((guild, intent, name, data)) = self.last.clone() {
            self.dispatch(guild, intent, &name, &data, bot);
        }
    }
}

/// Removes the content that needs the Message Content intent (Discord, "Message Content Intent").
/// Content stays in direct messages, in the bot's own messages, and where the bot is mentioned.
fn without_content(data: &Value, guild: Option<u64>, bot: u64) -> Value {
    let bot = json!(bot.to_string());
    let mentioned = data["mentions"].as_array().is_some_and(|m| m.iter().any(|u| u["id"] == bot));
    let mut data = data.clone();
    if guild.is_none() || mentioned || data["author"]["id"] == bot || data.get("content").is_none()
    {
        return data;
    }
    data["content"] = json!("");
    for list in ["embeds", "attachments", "components"] {
        data[list] = json!([]);
    }
    if let Some(fields) = data.as_object_mut() {
        fields.remove("poll");
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_cannot_be_resumed() {
        let mut sessions = Sessions::default();
        let id = sessions.begin(intent::GUILDS, (0, 1), 1);
        let session = sessions.all.get_mut(&id).unwrap();
        for _ in 0..5 {
            session.push("X", Value::Null);
        }
        assert!(session.resumable(0) && session.resumable(5));
        session.acknowledge(3);
        assert!(!session.resumable(2) && session.resumable(3) && session.resumable(5));
    }

    #[test]
    fn words_are_left_out_without_the_intent() {
        let said = json!({ "content": "x", "author": { "id": "2" }, "mentions": [] });
        assert_eq!(without_content(&said, Some(1), 9)["content"], "");
        assert_eq!(without_content(&said, None, 9)["content"], "x");
        let meant = json!({ "content": "x", "author": { "id": "2" }, "mentions": [{ "id": "9" }] });
        assert_eq!(without_content(&meant, Some(1), 9)["content"], "x");
    }
}
