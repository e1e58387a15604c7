//! The handle of a test: sets up the world, waits, reads the result, schedules faults.

use bytes::Bytes;
use serde_json::Value;

use super::{
    load,
    state::{Call, State},
    world::ChatKind,
};
use crate::load::{LoadPlan, Trip};

/// A test's handle to a running server.
pub type Handle = crate::loopback::Handle<State>;

/// A message of the bot as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// `message_id`.
    pub id: i64,
    /// Text or caption.
    pub text: String,
    /// Entities of the text or caption.
    pub entities: Vec<Value>,
    /// Message it replies to.
    pub reply_to: Option<i64>,
    /// Thread or topic.
    pub thread: Option<i64>,
    /// Rows of buttons: text, and data or URL.
    pub buttons: Vec<Vec<(String, String)>>,
    /// Kind, name and bytes of its file.
    pub file: Option<(String, String, Bytes)>,
    /// True if it was edited.
    pub edited: bool,
    /// The whole `Message` object.
    pub json: Value,
}

impl Handle {
    /// The bot's token.
    pub fn token(&self) -> String {
        self.shared.lock().options.token.clone()
    }

    /// The bot's id.
    pub fn bot_id(&self) -> i64 {
        self.shared.lock().world.bot
    }

    /// The bot's username, without `@`.
    pub fn bot_username(&self) -> String {
        self.shared.lock().options.bot_username.clone()
    }

    /// Turns privacy mode on or off.
    pub fn set_privacy(&self, on: bool) {
        self.change(|s| s.options.privacy = on);
    }

    /// Applies the calls that [`super::Effect::ApplyLate`] held back: their messages appear
    /// although the requests failed earlier.
    pub fn apply_late(&self) {
        self.change(|s| {
            for (method, params) in std::mem::take(&mut s.late) {
                let _ = s.run(method, &params);
            }
        });
    }

    /// Delivers the last `count` confirmed updates again, with the same ids.
    pub fn redeliver(&self, count: usize) {
        self.change(|s| s.updates.redeliver(count));
    }

    /// Delivers every unconfirmed update twice.
    pub fn duplicate_pending(&self) {
        self.change(|s| s.updates.duplicate_pending());
    }

    /// Drops unconfirmed updates, as after 24 hours (Bot API, "Getting updates"). Their numbers are
    /// not reused.
    pub fn expire_updates(&self) {
        self.change(|s| s.updates.drop_pending());
    }

    /// Continues with this `update_id`, as after a week without updates (Bot API,
    /// Update.update_id). Drops unconfirmed updates, because the queue is empty after that time.
    pub fn jump_update_id(&self, to: i64) {
        self.change(|s| s.updates.jump(to));
    }

    /// Queues an update whose bytes are exactly those `make` returns for its id.
    pub fn sends_raw(&self, make: impl FnOnce(i64) -> String) -> i64 {
        self.change(|s| s.updates.push_raw(make))
    }

    /// Number of updates that are not confirmed yet.
    pub fn pending_updates(&self) -> usize {
        self.shared.lock().updates.pending()
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.lock().calls.clone()
    }

    /// Calls of one method, in order.
    pub fn calls_of(&self, method: &str) -> Vec<Call> {
        self.shared
            .lock()
            .calls
            .iter()
            .filter(|c| c.method.eq_ignore_ascii_case(method))
            .cloned()
            .collect()
    }

    /// The bot's messages in a chat, oldest first.
    pub fn shown(&self, chat: i64) -> Vec<Shown> {
        self.last_shown(chat, usize::MAX)
    }

    /// The newest `count` of the bot's messages in a chat, oldest first.
    pub fn last_shown(&self, chat: i64, count: usize) -> Vec<Shown> {
        let state = self.shared.lock();
        let Some(place) = state.world.chats.get(&chat) else { return Vec::new() };
        let channel = place.kind == ChatKind::Channel;
        let own = |m: &&super::message::Message| {
            m.from == Some(state.world.bot) || (channel && m.from.is_none())
        };
        let newest =
            place.messages.values().rev().filter(own).filter(|m| !m.is_service()).take(count);
        let mut newest: Vec<Shown> = newest.map(|m| shown(&state, m)).collect();
        newest.reverse();
        newest
    }

    /// Number of the bot's messages in all chats.
    pub fn bot_message_count(&self) -> usize {
        let state = self.shared.lock();
        state
            .world
            .chats
            .values()
            .flat_map(|c| c.messages.values())
            .filter(|m| m.from == Some(state.world.bot))
            .count()
    }

    /// A message as JSON; null when it does not exist.
    pub fn message_json(&self, chat: i64, id: i64) -> Value {
        let state = self.shared.lock();
        state.world.message(chat, id).map(|m| state.world.message_json(m)).unwrap_or(Value::Null)
    }

    /// The bot's reactions on a message.
    pub fn bot_reactions(&self, chat: i64, id: i64) -> Vec<String> {
        let state = self.shared.lock();
        let set = state
            .world
            .message(chat, id)
            .and_then(|m| m.reactions.get(&state.world.bot))
            .cloned()
            .unwrap_or_default();
        set.iter().filter_map(|r| r["emoji"].as_str().map(str::to_owned)).collect()
    }

    /// Chat actions so far: chat, thread, action.
    pub fn actions(&self) -> Vec<(i64, Option<i64>, String)> {
        self.shared.lock().actions.clone()
    }

    /// True if the bot deleted a message.
    pub fn is_deleted(&self, chat: i64, id: i64) -> bool {
        self.shared.lock().deleted.contains(&(chat, id))
    }

    /// True if a callback query was answered.
    pub fn is_answered(&self, callback: &str) -> bool {
        self.shared.lock().callbacks.get(callback).copied().unwrap_or(false)
    }

    /// Commands of the default scope.
    pub fn default_commands(&self) -> Vec<Value> {
        self.shared.lock().commands.get("default/").cloned().unwrap_or_default()
    }

    /// Waits until the bot shows at least `count` messages in a chat, and returns them.
    pub async fn wait_shown(&self, chat: i64, count: usize) -> Vec<Shown> {
        self.wait_for(&format!("{count} messages of the bot in chat {chat}"), |h| {
            Some(h.shown(chat)).filter(|s| s.len() >= count)
        })
        .await
    }

    /// Waits until a method was called at least `count` times and each call is answered; returns
    /// the calls.
    pub async fn wait_calls(&self, method: &str, count: usize) -> Vec<Call> {
        self.wait_for(&format!("{count} calls of {method}"), |h| {
            Some(h.calls_of(method))
                .filter(|c| c.iter().filter(|c| c.answer.is_some()).count() >= count)
        })
        .await
    }

    /// Waits until every delivered update is confirmed.
    pub async fn wait_confirmed(&self) {
        self.wait_for("all updates to be confirmed", |h| (h.pending_updates() == 0).then_some(()))
            .await;
    }

    /// Starts a load.
    pub fn load(&self, plan: LoadPlan) {
        let paced = plan.per_second.is_some();
        self.change(|s| load::start(s, plan));
        if paced {
            tokio::spawn(load::pace(self.shared.clone()));
        }
    }

    /// Waits, without a limit, until every update of the load is answered, and returns the trips.
    pub async fn wait_load(&self) -> Vec<Trip> {
        let mut changes = self.shared.changed.subscribe();
        loop {
            if let Some(trips) = self
                .shared
                .lock()
                .load
                .as_ref()
                .filter(|l| l.load.is_done())
                .map(|l| l.load.trips().to_vec())
            {
                return trips;
            }
            if changes.changed().await.is_err() {
                return self.trips();
            }
        }
    }

    /// Ends the load: nothing further is asked, and what was asked may still be answered.
    pub fn stop_asking(&self) {
        self.change(|s| {
            if let Some(l) = &mut s.load {
                l.load.stop_asking();
            }
        });
    }

    /// Number of the load's answers that were out of order, repeated or unasked.
    pub fn misplaced(&self) -> usize {
        self.shared.lock().load.as_ref().map_or(0, |l| l.load.misplaced())
    }

    /// The load's trips so far.
    pub fn trips(&self) -> Vec<Trip> {
        self.shared.lock().load.as_ref().map(|l| l.load.trips().to_vec()).unwrap_or_default()
    }
}

fn shown(state: &State, message: &super::message::Message) -> Shown {
    let json = state.world.message_json(message);
    let rows = message
        .markup
        .as_ref()
        .and_then(|m| m["inline_keyboard"].as_array().cloned())
        .unwrap_or_default();
    let button = |b: &Value| {
        let press =
            b.get("callback_data").or(b.get("url")).and_then(Value::as_str).unwrap_or_default();
        (b["text"].as_str().unwrap_or_default().to_owned(), press.to_owned())
    };
    let file = message.extra.iter().find_map(|(kind, value)| {
        let object = value.as_array().and_then(|a| a.last()).unwrap_or(value);
        let stored = state.files.get(object["file_id"].as_str()?)?;
        Some((kind.clone(), stored.name.clone(), stored.bytes.clone()))
    });
    Shown {
        id: message.id,
        text: message.words.text.clone(),
        entities: message.words.entities.clone(),
        reply_to: message.reply_to,
        thread: message.thread,
        buttons: rows
            .iter()
            .filter_map(Value::as_array)
            .map(|row| row.iter().map(button).collect())
            .collect(),
        file,
        edited: message.edited.is_some(),
        json,
    }
}
