//! The update queue: ids, confirmation by offset, `allowed_updates`.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use super::{answer::Refusal, params::Params, schema::UPDATE_KINDS};

/// Updates the server keeps per bot before it drops the oldest (tdlib, TQueue.cpp).
const MAX_QUEUE: usize = 100_000;

/// Member of an update that is sent as this text says and as nothing else.
const RAW: &str = "\u{0}raw";

/// The bytes of updates as they are sent.
pub(crate) fn wire(value: &Value) -> String {
    match value {
        Value::Array(list) if list.iter().any(|update| update.get(RAW).is_some()) => {
            format!("[{}]", list.iter().map(wire).collect::<Vec<_>>().join(","))
        }
        update => update
            .get(RAW)
            .and_then(Value::as_str)
            .map_or_else(|| update.to_string(), str::to_owned),
    }
}

/// The queue of one bot.
#[derive(Debug)]
pub(crate) struct Updates {
    queue: VecDeque<(i64, Value)>,
    /// Delivered again with the next answer, whatever its offset.
    replay: Vec<Value>,
    /// Confirmed ones, newest last, for replays.
    confirmed: VecDeque<Value>,
    next: i64,
    allowed: Option<BTreeSet<String>>,
    /// Number of the poll that owns the queue; a newer one ends it.
    pub(crate) poll: u64,
}

impl Updates {
    /// Starts at this `update_id`.
    pub(crate) fn new(first: i64) -> Self {
        Self {
            queue: VecDeque::new(),
            replay: Vec::new(),
            confirmed: VecDeque::new(),
            next: first,
            allowed: None,
            poll: 0,
        }
    }

    /// Whether updates of a kind are wanted now. Applies when an update is made, as documented: not
    /// to earlier ones.
    pub(crate) fn wants(&self, kind: &str) -> bool {
        match &self.allowed {
            Some(allowed) => allowed.contains(kind),
            None => UPDATE_KINDS.iter().any(|(name, default)| *name == kind && *default),
        }
    }

    /// Adds an update and returns its id; none when it is not wanted.
    pub(crate) fn push(&mut self, kind: &str, body: Value) -> Option<i64> {
        if !self.wants(kind) {
            return None;
        }
        let id = self.next;
        self.next += 1;
        self.queue.push_back((id, serde_json::json!({ "update_id": id, kind: body })));
        if self.queue.len() > MAX_QUEUE {
            self.queue.pop_front();
        }
        Some(id)
    }

    /// Adds an update that is sent in exactly these bytes.
    pub(crate) fn push_raw(&mut self, make: impl FnOnce(i64) -> String) -> i64 {
        let id = self.next;
        self.next += 1;
        self.queue.push_back((id, serde_json::json!({ "update_id": id, RAW: make(id) })));
        id
    }

    /// The id the next update gets.
    pub(crate) fn next_id(&self) -> i64 {
        self.next
    }

    /// Goes on at another id, as after a week without updates. Only an empty queue can be that old.
    pub(crate) fn jump(&mut self, to: i64) {
        self.queue.clear();
        self.next = to;
    }

    /// Forgets everything that waits.
    pub(crate) fn drop_pending(&mut self) {
        self.queue.clear();
    }

    /// How many wait.
    pub(crate) fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Delivers the last `count` confirmed updates once more.
    pub(crate) fn redeliver(&mut self, count: usize) {
        let from = self.confirmed.len().saturating_sub(count);
        self.replay.extend(self.confirmed.range(from..).cloned());
    }

    /// Delivers the waiting updates twice: now, and once more after they were confirmed.
    pub(crate) fn duplicate_pending(&mut self) {
        self.replay.extend(self.queue.iter().map(|(_, u)| u.clone()));
    }

    /// Remembers `allowed_updates`; a list that is missing leaves the setting, an empty one
    /// restores the default.
    pub(crate) fn allow(&mut self, params: &Params) -> Result<(), Refusal> {
        let Some(list) = params.json("allowed_updates")? else { return Ok(()) };
        let list = list
            .as_array()
            .cloned()
            .ok_or_else(|| Refusal::broken("allowed_updates must be an Array of String"))?;
        let mut allowed = BTreeSet::new();
        for kind in &list {
            let name = kind.as_str().unwrap_or_default();
            if UPDATE_KINDS.iter().any(|(known, _)| *known == name) {
                allowed.insert(name.to_owned());
            } else {
                params.note(format!("allowed_updates names {kind}, which is no update type"));
            }
        }
        self.allowed = (!list.is_empty()).then_some(allowed);
        Ok(())
    }

    /// The remembered list, for getWebhookInfo.
    pub(crate) fn allowed(&self) -> Option<&BTreeSet<String>> {
        self.allowed.as_ref()
    }

    /// Confirms by offset (telegram-bot-api, do_get_updates): ids below a positive one are
    /// forgotten; a negative one keeps the last |offset|; one beyond the queue's end counts as
    /// none, which is how clients survive ids that jump.
    pub(crate) fn confirm(&mut self, offset: i64) {
        if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let gone = self.queue.len().saturating_sub(keep);
            self.queue.drain(..gone);
        } else if offset > 0 && offset <= self.next {
            while self.queue.front().is_some_and(|(id, _)| *id < offset) {
                if let Some((_, update)) = self.queue.pop_front() {
                    self.confirmed.push_back(update);
                }
            }
            while self.confirmed.len() > 1_000 {
                self.confirmed.pop_front();
            }
        }
    }

    /// Up to `limit` updates, oldest first, replays before them.
    pub(crate) fn take(&mut self, limit: usize) -> Vec<Value> {
        let mut answer = std::mem::take(&mut self.replay);
        answer.extend(
            self.queue.iter().take(limit.saturating_sub(answer.len())).map(|(_, u)| u.clone()),
        );
        answer
    }

    /// The oldest waiting update, for webhooks.
    pub(crate) fn first(&mut self) -> Option<Value> {
        if self.replay.is_empty() {
            self.queue.front().map(|(_, u)| u.clone())
        } else {
            Some(self.replay.remove(0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled() -> Updates {
        let mut updates = Updates::new(100);
        for i in 0..5 {
            updates.push("message", json!({ "n": i }));
        }
        updates
    }

    fn ids(updates: &mut Updates) -> Vec<i64> {
        updates.take(100).iter().map(|u| u["update_id"].as_i64().unwrap()).collect()
    }

    #[test]
    fn an_offset_confirms_what_is_below_it() {
        let mut updates = filled();
        updates.confirm(103);
        assert_eq!(ids(&mut updates), [103, 104]);
        updates.confirm(0);
        assert_eq!(ids(&mut updates), [103, 104], "no offset confirms nothing");
        updates.confirm(105);
        assert_eq!(ids(&mut updates), [0; 0]);
    }

    #[test]
    fn a_negative_offset_counts_from_the_end() {
        let mut updates = filled();
        updates.confirm(-2);
        assert_eq!(ids(&mut updates), [103, 104]);
    }

    #[test]
    fn an_offset_beyond_the_end_counts_as_none() {
        let mut updates = filled();
        updates.confirm(200);
        assert_eq!(ids(&mut updates).len(), 5);
    }

    #[test]
    fn reactions_and_members_are_off_by_default() {
        let mut updates = Updates::new(1);
        assert_eq!(updates.push("message_reaction", json!({})), None);
        assert_eq!(updates.push("chat_member", json!({})), None);
        assert_eq!(updates.push("my_chat_member", json!({})), Some(1));
    }

    #[test]
    fn confirmed_updates_can_come_again() {
        let mut updates = filled();
        updates.confirm(105);
        updates.redeliver(2);
        assert_eq!(ids(&mut updates), [103, 104]);
        assert_eq!(ids(&mut updates), [0; 0], "once");
    }
}
