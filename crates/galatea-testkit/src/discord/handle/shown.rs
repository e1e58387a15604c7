//! The server as a test reads it: sessions, calls, and what people see of the bot.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Handle;
use crate::discord::{interactions::LOADING, state::Call, world::Message};

/// A message of the bot as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Id of the message.
    pub id: u64,
    /// Text, with markup.
    pub text: String,
    /// Contents of its code blocks.
    pub code: Vec<String>,
    /// Message it replies to.
    pub reply_to: Option<u64>,
    /// Rows of buttons: text, and data or URL.
    pub buttons: Vec<Vec<(String, String)>>,
    /// True if it has buttons and all of them are disabled.
    pub used: bool,
    /// Files: name and bytes.
    pub files: Vec<(String, Bytes)>,
    /// True if it was edited.
    pub edited: bool,
}

impl Handle {
    /// Number of sessions begun so far.
    pub fn identified(&self) -> usize {
        self.shared.lock().identified.len()
    }

    /// Number of sessions resumed so far.
    pub fn resumed(&self) -> usize {
        self.shared.lock().resumed.len()
    }

    /// Number of the last event that the client had read when it last resumed.
    pub fn last_resumed_after(&self) -> Option<u64> {
        self.shared.lock().resumed.last().copied()
    }

    /// Number of the last event of the session; of the longest, if there are several.
    pub fn last_event(&self) -> u64 {
        self.shared.lock().sessions.all.values().map(|s| s.sequence).max().unwrap_or(0)
    }

    /// Number of sessions with a connection.
    pub fn connected(&self) -> usize {
        self.shared.lock().sessions.all.values().filter(|s| s.connection.is_some()).count()
    }

    /// Intents each session asked for.
    pub fn intents(&self) -> Vec<u64> {
        self.shared.lock().sessions.all.values().map(|s| s.intents).collect()
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.lock().calls.clone()
    }

    /// Calls of one route, in order.
    pub fn calls_of(&self, route: &str) -> Vec<Call> {
        self.shared.lock().calls.iter().filter(|c| c.route == route).cloned().collect()
    }

    /// Commands that are registered.
    pub fn commands(&self) -> Vec<Value> {
        self.shared.lock().commands.clone()
    }

    /// Number of times the commands were written.
    pub fn command_writes(&self) -> usize {
        self.shared.lock().command_writes
    }

    /// Number of calls that count against the client's IP address (401, 403, 429).
    pub fn invalid_calls(&self) -> usize {
        self.shared.lock().limits.invalid
    }

    /// The bot's messages in a channel, oldest first, without placeholders.
    pub fn shown(&self, channel: u64) -> Vec<Shown> {
        self.last_shown(channel, usize::MAX)
    }

    /// The newest `count` of the bot's messages in a channel, oldest first.
    pub fn last_shown(&self, channel: u64, count: usize) -> Vec<Shown> {
        let state = self.shared.lock();
        let Some(place) = state.world.channels.get(&channel) else { return Vec::new() };
        let newest = place
            .messages
            .values()
            .rev()
            .filter(|m| m.author == state.world.bot && m.flags & LOADING == 0)
            .take(count);
        let mut newest: Vec<Shown> = newest.map(shown).collect();
        newest.reverse();
        newest
    }

    /// Number of the bot's messages in all channels.
    pub fn bot_message_count(&self) -> usize {
        let state = self.shared.lock();
        state
            .world
            .channels
            .values()
            .flat_map(|c| c.messages.values())
            .filter(|m| m.author == state.world.bot)
            .count()
    }

    /// Ephemeral answers in a channel, oldest first.
    pub fn whispered(&self, channel: u64) -> Vec<String> {
        self.shared
            .lock()
            .whispers
            .iter()
            .filter(|(_, place, _)| *place == channel)
            .map(|(_, _, text)| text.clone())
            .collect()
    }

    /// Number of deferred answers in a channel that still show that the bot is thinking.
    pub fn thinking(&self, channel: u64) -> usize {
        let state = self.shared.lock();
        let messages = state
            .world
            .channels
            .get(&channel)
            .map(|c| c.messages.values().filter(|m| m.flags & LOADING != 0).count());
        messages.unwrap_or_default()
    }

    /// The bot's reactions on a message.
    pub fn bot_reactions(&self, channel: u64, id: u64) -> Vec<String> {
        let state = self.shared.lock();
        let bot = state.world.bot;
        let message = state.world.message(channel, id);
        message
            .into_iter()
            .flat_map(|m| &m.reactions)
            .filter(|r| r.1.contains(&bot))
            .map(|r| r.0.clone())
            .collect()
    }

    /// Channels in which the bot showed typing.
    pub fn typing(&self) -> Vec<u64> {
        self.shared.lock().typing.clone()
    }

    /// Type with which an interaction was acknowledged, if it was.
    pub fn acknowledged(&self, interaction: u64) -> Option<u64> {
        self.shared.lock().interactions.get(&interaction).and_then(|i| i.acknowledged)
    }

    /// Waits until the bot shows at least `count` messages in a channel, and returns them.
    pub async fn wait_shown(&self, channel: u64, count: usize) -> Vec<Shown> {
        self.wait_for(&format!("{count} messages of the bot in channel {channel}"), |h| {
            Some(h.shown(channel)).filter(|s| s.len() >= count)
        })
        .await
    }

    /// Waits until `count` sessions have a connection.
    pub async fn wait_connected(&self, count: usize) {
        self.wait_for(&format!("{count} connected sessions"), |h| {
            (h.connected() >= count).then_some(())
        })
        .await;
    }
}

fn shown(message: &Message) -> Shown {
    let rows = json!(message.components);
    let button = |b: &Value| {
        let press = b.get("custom_id").or(b.get("url")).and_then(Value::as_str).unwrap_or_default();
        (b["label"].as_str().unwrap_or_default().to_owned(), press.to_owned())
    };
    let row = |r: &Value| r["components"].as_array().into_iter().flatten().map(button).collect();
    let all: Vec<&Value> = rows
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|row| row["components"].as_array().into_iter().flatten())
        .collect();
    Shown {
        used: !all.is_empty() && all.iter().all(|b| b["disabled"] == true),
        id: message.id,
        text: message.content.clone(),
        code: code(&message.content),
        reply_to: message.reference,
        buttons: rows.as_array().into_iter().flatten().map(row).collect(),
        files: message.files.iter().map(|f| (f.name.clone(), f.bytes.clone())).collect(),
        edited: message.edited.is_some(),
    }
}

/// Contents of code blocks: text between pairs of three backticks, without the language on the
/// first line.
fn code(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks
        .map(|b| {
            b.split_once('\n')
                .map_or(
                    b,
                    |(first, rest)| if first.contains(char::is_whitespace) { b } else { rest },
                )
                .to_owned()
        })
        .collect()
}
