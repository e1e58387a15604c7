//! The update queue: ids, confirmation by offset, and `allowed_updates`.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use super::{answer::Refusal, params::Params, schema::UPDATE_KINDS};

/// Updates that the server keeps per bot before it drops the oldest (tdlib, TQueue.cpp).
const MAX_QUEUE: usize = 100_000;

/// Key that marks an update whose text is sent unchanged.
const RAW: &str = "\u{0}raw";

/// The bytes of an update.
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

#[derive(Debug)]
pub(crate) struct Updates {
    queue: VecDeque<(i64, Value)>,
    /// Updates to deliver again with the next answer, whatever its offset.
    replay: Vec<Value>,
    /// Confirmed updates, newest last, for [`Updates::redeliver`].
    confirmed: VecDeque<Value>,
    next: i64,
    allowed: Option<BTreeSet<String>>,
    /// Number of the poll that owns the queue; a newer poll ends it.
    pub(crate) poll: u64,
}

impl Updates {
    /// A queue that starts at this `update_id`.
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

    /// True if updates of a kind are delivered. As documented, the setting applies when an update
    /// is created and not to earlier ones.
    pub(crate) fn wants(&self, kind: &str) -> bool {
        match &self.allowed {
            Some(allowed) => allowed.contains(kind),
            None => UPDATE_KINDS.iter().any(|(name, default)| *name == kind && *default),
        }
    }

    /// Adds an update and returns its id; `None` when its kind is not delivered.
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

    /// Adds an update that is sent in exactly the bytes `make` returns for its id.
    pub(crate) fn push_raw(&mut self, make: impl FnOnce(i64) -> String) -> i64 {
        let id = self.next;
        self.next += 1;
        self.queue.push_back((id, serde_json::json!({ "update_id": id, RAW: make(id) })));
        id
    }

    /// Id of the next update.
    pub(crate) fn next_id(&self) -> i64 {
        self.next
    }

    /// Continues at another id, as after a week without updates. The queue is emptied, because it
    /// would be empty after that time.
    pub(crate) fn jump(&mut self, to: i64) {
        self.queue.clear();
        self.next = to;
    }

    /// Drops all unconfirmed updates.
    pub(crate) fn drop_pending(&mut self) {
        self.queue.clear();
    }

    /// Number of unconfirmed updates.
    pub(crate) fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Delivers the last `count` confirmed updates again.
    pub(crate) fn redeliver(&mut self, count: usize) {
        let from = self.confirmed.len().saturating_sub(count);
        self.replay.extend(self.confirmed.range(from..).cloned());
    }

    /// Delivers the unconfirmed updates twice: now, and again after they are confirmed.
    pub(crate) fn duplicate_pending(&mut self) {
        self.replay.extend(self.queue.iter().map(|(_, u)| u.clone()));
    }

    /// Stores `allowed_updates`. A missing list keeps the setting, an empty one restores the
    /// default.
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
                params.note(format!("allowed_updates names {kind}, which is not an update type"));
            }
        }
        self.allowed = (!list.is_empty()).then_some(allowed);
        Ok(())
    }

    /// The stored list, for getWebhookInfo.
    pub(crate) fn allowed(&self) -> Option<&BTreeSet<String>> {
        self.allowed.as_ref()
    }

    /// Confirms by offset (telegram-bot-api, do_get_updates). A positive offset drops the ids below
    /// it, a negative one keeps the last |offset|, and one beyond the queue's end counts as none,
    /// which lets clients survive ids that jump.
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

    /// Up to `limit` updates, oldest first, after those to deliver again.
    pub(crate) fn take(&mut self, limit: usize) -> Vec<Value> {
        let mut answer = std::mem::take(&mut self.replay);
        answer.extend(
            self.queue.iter().take(limit.saturating_sub(answer.len())).map(|(_, u)| u.clone()),
        );
        answer
    }

    /// The oldest unconfirmed update, for webhooks.
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

    fn update_ids(updates: &mut Updates) -> Vec<i64> {
        updates.take(100).iter().map(|u| u["update_id"].as_i64().unwrap()).collect()
    }

    #[test]
    fn an_offset_confirms_what_is_below_it() {
        let mut updates = filled();
        updates.confirm(103);
        assert_eq!(update_ids(&mut updates), [103, 104]);
        updates.confirm(0);
        assert_eq!(update_ids(&mut updates), [103, 104], "no offset confirms nothing");
        updates.confirm(105);
        assert_eq!(update_ids(&mut updates), [0; 0]);
    }

    #[test]
    fn a_negative_offset_counts_from_the_end() {
        let mut updates = filled();
        updates.confirm(-2);
        assert_eq!(update_ids(&mut updates), [103, 104]);
    }

    #[test]
    fn an_offset_beyond_the_end_counts_as_none() {
        let mut updates = filled();
        updates.confirm(200);
        assert_eq!(update_ids(&mut updates).len(), 5);
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
        assert_eq!(update_ids(&mut updates), [103, 104]);
        assert_eq!(update_ids(&mut updates), [0; 0], "once");
    }
}
