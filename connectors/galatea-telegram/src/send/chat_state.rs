//! Keeps state of chats in memory while the connector runs: forums, and message numbers for
//! read-back.

use dashmap::DashMap;
use galatea_core::DeliveryId;
use std::{
    collections::VecDeque,
    sync::{
        OnceLock,
        atomic::{AtomicI32, Ordering},
    },
};
use tokio::sync::watch;

use super::closed::Closed;

/// Most own messages remembered per chat, enough for the read-back's window.
const OWN: usize = 32;
/// Most chats remembered. Beyond that, chats without forum or attempt are dropped
/// first, then all.
const MAX_CHATS: usize = 100_000;

/// State of all chats. Cheap to read and write from any task.
#[derive(Debug, Default)]
pub(crate) struct ChatState {
    chats: DashMap<i64, ChatNotes>,
    /// The newest message number in private chats and basic groups, which share one count per
    /// account (TDLib's common message box).
    shared: AtomicI32,
    /// True if Telegram may hold messages that were not fetched yet.
    behind: watch::Sender<bool>,
    /// The bot's user name.
    handle: OnceLock<String>,
    /// Places where Telegram refused messages of the bot.
    pub(crate) closed: Closed,
}

#[derive(Debug, Default)]
struct ChatNotes {
    newest: i32,
    own: VecDeque<i32>,
    attempt: Option<(DeliveryId, i32)>,
    forum: bool,
}

/// True if a chat numbers its messages separately, as supergroups and channels do (Bot API ids
/// below -10^12).
pub(super) fn counts_alone(chat: i64) -> bool {
    chat < -1_000_000_000_000
}

impl ChatState {
    /// Records the bot's user name once Telegram has returned it.
    pub(crate) fn introduce(&self, handle: &str) {
        if !handle.is_empty() {
            // The first name stays for the life of the process.
            let _ = self.handle.set(handle.to_owned());
        }
    }

    /// The bot's user name, once it is known.
    pub(crate) fn handle(&self) -> Option<String> {
        self.handle.get().cloned()
    }

    fn notes(&self, chat: i64) -> dashmap::mapref::one::RefMut<'_, i64, ChatNotes> {
        if self.chats.len() > MAX_CHATS {
            self.chats.retain(|_, notes| notes.forum || notes.attempt.is_some());
            if self.chats.len() > MAX_CHATS {
                self.chats.clear();
            }
        }
        self.chats.entry(chat).or_default()
    }

    /// Records that a message with this number exists in the chat.
    pub(crate) fn seen(&self, chat: i64, message: i32) {
        let mut notes = self.notes(chat);
        notes.newest = notes.newest.max(message);
        drop(notes);
        if !counts_alone(chat) {
            self.shared.fetch_max(message, Ordering::Relaxed);
        }
    }

    /// Records that the bot posted this message.
    pub(crate) fn posted(&self, chat: i64, message: i32) {
        {
            let mut notes = self.notes(chat);
            if notes.own.len() >= OWN {
                notes.own.pop_front();
            }
            notes.own.push_back(message);
            notes.attempt = None;
        }
        self.seen(chat, message);
    }

    /// Records that the chat has topics.
    pub(crate) fn is_a_forum(&self, chat: i64) {
        if !self.forum(chat) {
            self.notes(chat).forum = true;
        }
    }

    /// True if the chat is known to have topics.
    pub(crate) fn forum(&self, chat: i64) -> bool {
        self.chats.get(&chat).is_some_and(|n| n.forum)
    }

    /// Records the newest known number before a delivery is posted, counting the message it
    /// answers. A retry keeps the number of the first attempt.
    pub(crate) fn begin(&self, delivery: DeliveryId, chat: i64, answers: Option<i32>) {
        let newest = self.newest(chat).max(answers.unwrap_or(0));
        let mut notes = self.notes(chat);
        if notes.attempt.is_none_or(|(earlier, _)| earlier != delivery) {
            notes.attempt = (newest > 0).then_some((delivery, newest));
        }
    }

    /// The newest number before the delivery's first attempt, if that was in this run.
    pub(crate) fn floor(&self, delivery: DeliveryId, chat: i64) -> Option<i32> {
        self.chats.get(&chat)?.attempt.filter(|(id, _)| *id == delivery).map(|(_, floor)| floor)
    }

    /// The newest known number in a chat; 0 if none is known.
    pub(crate) fn newest(&self, chat: i64) -> i32 {
        let own = self.chats.get(&chat).map_or(0, |n| n.newest);
        if counts_alone(chat) { own } else { own.max(self.shared.load(Ordering::Relaxed)) }
    }

    /// True if this number is known to be a message of ours.
    pub(crate) fn is_own(&self, chat: i64, message: i32) -> bool {
        self.chats.get(&chat).is_some_and(|n| n.own.contains(&message))
    }

    /// Records whether messages may be pending at Telegram, whose numbers are unknown here.
    pub(crate) fn set_behind(&self, behind: bool) {
        self.behind.send_if_modified(|was| std::mem::replace(was, behind) != behind);
    }

    /// True if messages may be pending at Telegram.
    pub(super) fn is_behind(&self) -> bool {
        *self.behind.borrow()
    }

    /// Completes when no messages are pending at Telegram.
    pub(super) async fn caught_up(&self) {
        // Fails only if the sender is dropped, and `self` owns it.
        let _ = self.behind.subscribe().wait_for(|behind| !behind).await;
    }

    /// Drops the state of a chat that continues under another id.
    pub(crate) fn moved(&self, from: i64) {
        self.chats.remove(&from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_chats_share_one_count_and_supergroups_do_not() {
        let chat_state = ChatState::default();
        chat_state.seen(7, 100);
        chat_state.seen(-1_000_000_000_005, 3);
        assert_eq!(chat_state.newest(8), 100);
        assert_eq!(chat_state.newest(-1_000_000_000_005), 3);
        assert_eq!(chat_state.newest(-1_000_000_000_006), 0);
    }

    #[test]
    fn a_retry_keeps_the_first_floor() {
        let (chat_state, id) = (ChatState::default(), DeliveryId::fresh());
        chat_state.seen(7, 10);
        chat_state.begin(id, 7, None);
        chat_state.seen(7, 12);
        chat_state.begin(id, 7, None);
        assert_eq!(chat_state.floor(id, 7), Some(10));
        chat_state.posted(7, 13);
        assert_eq!(chat_state.floor(id, 7), None);
        assert!(chat_state.is_own(7, 13));
    }
}
