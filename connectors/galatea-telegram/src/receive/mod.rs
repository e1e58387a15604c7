//! Receives updates: decodes them, stores them, acknowledges button presses and fetches
//! administrators. This module holds what polling and webhook share.

mod album;
mod gap;
pub(crate) mod poll;
mod trouble;
pub(crate) mod webhook;

use dashmap::DashSet;
use galatea_core::{Batch, Cursor, Gateway, Health, Incoming, Result, message::WorldSync};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use teloxide::{
    payloads::AnswerCallbackQuery,
    types::{CallbackQueryId, Chat},
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    decode::{Decoded, Me, chat_sync, decode, raw::RawUpdate},
    send::{api::BotApi, chat_state::ChatState},
};

/// Most chats whose administrators are fetched at the same time.
const SYNCS: usize = 2;
/// Most groups remembered as synced. At this number all are forgotten and fetched again when
/// needed.
const MAX_KNOWN: usize = 100_000;

/// Parts that polling and webhook of one bot need to receive updates.
#[derive(Clone)]
pub(crate) struct UpdateIntake {
    pub(crate) api: BotApi,
    pub(crate) chat_state: Arc<ChatState>,
    pub(crate) me: Arc<Me>,
    pub(crate) gateway: Gateway,
    pub(crate) stop: CancellationToken,
    known: Arc<DashSet<i64>>,
    tasks: TaskTracker,
    syncs: Arc<Semaphore>,
}

/// Updates that are decoded but not stored yet.
pub(crate) struct Ready {
    decoded: Vec<(Option<album::Key>, Vec<Incoming>)>,
    renamed: Vec<WorldSync>,
    changed: Vec<WorldSync>,
    places: Vec<Chat>,
    lost: Vec<i64>,
}

impl UpdateIntake {
    pub(crate) fn new(
        api: BotApi,
        chat_state: Arc<ChatState>,
        me: Arc<Me>,
        gateway: Gateway,
        stop: CancellationToken,
    ) -> Self {
        Self {
            api,
            chat_state,
            me,
            gateway,
            stop,
            known: Arc::default(),
            tasks: TaskTracker::new(),
            syncs: Arc::new(Semaphore::new(SYNCS)),
        }
    }

    /// Decodes updates. It has no side effect, so updates that wait for the rest of an album may be
    /// decoded twice.
    fn decode(&self, items: &[RawUpdate]) -> Vec<Decoded> {
        let now = self.gateway.clock().now();
        let read = |item: &RawUpdate| match &item.update {
            // A panic must not stop the later updates, because Telegram would send this update
            // again and again.
            Some(update) => catch_unwind(AssertUnwindSafe(|| decode(update, &self.me, now)))
                .unwrap_or_else(|_| {
                    tracing::error!(
                        update = item.id,
                        "panic while decoding an update from Telegram; skipping it"
                    );
                    Decoded::default()
                }),
            None => Decoded::default(),
        };
        items.iter().map(read).collect()
    }

    /// Does what need not wait for the store: records message numbers and forums, and acknowledges
    /// button presses.
    fn prepare(&self, items: &[RawUpdate], decoded: Vec<Decoded>) -> Ready {
        let mut ready = Ready {
            decoded: Vec::with_capacity(decoded.len()),
            renamed: Vec::new(),
            changed: Vec::new(),
            places: Vec::new(),
            lost: Vec::new(),
        };
        for (item, one) in items.iter().zip(decoded) {
            if item.update.is_none() {
                if item.lost {
                    tracing::warn!(update = item.id, kind = %item.kind, "malformed update from Telegram; skipping it");
                    ready.lost.push(item.id);
                } else {
                    tracing::debug!(update = item.id, kind = %item.kind, "update from Telegram of an unknown kind; skipping it");
                }
            }
            if let Some((chat, message)) = one.seen {
                self.chat_state.seen(chat, message);
            }
            if let Some(chat) = one.forum {
                self.chat_state.is_a_forum(chat);
            }
            if let Some(topic) = one.reopened {
                self.chat_state.closed.opened(topic);
            }
            if let Some(chat) = one.own_rights {
                self.chat_state.closed.recheck(chat);
            }
            if let Some(press) = one.press {
                self.answer(press);
            }
            if let Some(place) = one.place {
                if one.refresh {
                    self.known.remove(&place.id.0);
                }
                if !self.known.contains(&place.id.0)
                    && !ready.places.iter().any(|p| p.id == place.id)
                {
                    ready.places.push(place);
                }
            }
            if one.events.is_empty() {
                ready.changed.extend(one.syncs)
            } else {
                ready.renamed.extend(one.syncs)
            }
            ready.decoded.push((one.album, one.events));
        }
        ready
    }

    /// Stores gaps, names, events and the cursor, in this order. `Ok` means that they are durable.
    /// Then starts to fetch the administrators of new groups.
    async fn store(&self, ready: Ready, cursor: Option<Cursor>) -> Result<()> {
        if let Some(gap) = gap::unread(&ready.lost, self.gateway.clock().now()) {
            self.gateway.note_gap(gap).await?;
        }
        for sync in ready.changed.into_iter().chain(ready.renamed) {
            self.gateway.ensure_connections(sync).await?;
        }
        let events = album::merge(ready.decoded);
        if !events.is_empty() || cursor.is_some() {
            self.gateway.receive(Batch { events, cursor, ..Batch::default() }).await?;
        }
        for place in ready.places {
            self.sync(place);
        }
        Ok(())
    }

    /// Acknowledges a button press in the background, so that the button stops showing progress.
    /// There is no retry, because a press expires soon.
    fn answer(&self, press: String) {
        let (api, stop) = (self.api.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            let request = AnswerCallbackQuery::new(CallbackQueryId(press));
            let call = api.request::<_, serde::de::IgnoredAny>(&request);
            if let Some(Err(failure)) = stop.run_until_cancelled(call).await {
                tracing::debug!(error = %failure.into_error("answerCallbackQuery"), "failed to acknowledge a button press; not retrying, because it expires soon");
            }
        });
    }

    /// Fetches and stores a chat's administrators in the background, once per chat.
    fn sync(&self, place: Chat) {
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        if !self.known.insert(place.id.0) {
            return;
        }
        let this = self.clone();
        self.tasks.spawn(async move {
            let work = async {
                let _turn = this.syncs.acquire().await;
                match this.api.administrators(&place).await {
                    Ok(people) => this.gateway.ensure_connections(chat_sync(&place, &people)).await,
                    Err(failure) => Err(failure.into_error("getChatAdministrators")),
                }
            };
            if let Some(Err(error)) = this.stop.run_until_cancelled(work).await {
                // Forget the chat, so that its next message retries.
                this.known.remove(&place.id.0);
                tracing::debug!(chat = place.id.0, error = %error, "failed to sync a chat's administrators; retrying with its next message");
            }
        });
    }

    /// The health while updates arrive. `detail` says as which bot, and how.
    pub(crate) fn health(&self, detail: &str) -> Health {
        match self.chat_state.closed.summary() {
            Some(closed) => Health::Degraded { reason: format!("{detail}; {closed}") },
            None => Health::Up { detail: detail.to_owned() },
        }
    }

    /// Reports in the background where the bot cannot write.
    pub(crate) fn report_closed(&self, detail: &str) {
        let (this, detail) = (self.clone(), detail.to_owned());
        let mut changes = self.chat_state.closed.changes();
        self.tasks.spawn(async move {
            let watch = async {
                while changes.changed().await.is_ok() {
                    this.gateway.report(this.health(&detail));
                }
            };
            this.stop.run_until_cancelled(watch).await;
        });
    }

    /// Waits for the background tasks to end.
    pub(crate) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
