//! The handle of a test: sets up the world, schedules faults, starts a load.

mod shown;

use std::time::Duration;

use serde_json::json;

use super::{
    faults::{Order, Silent},
    http, load,
    sessions::RAW,
    state::State,
};
use crate::load::{LoadPlan, Trip};

pub use shown::Shown;

/// A test's handle to a running server.
pub type Handle = crate::loopback::Handle<State>;

impl Handle {
    /// The bot's token.
    pub fn token(&self) -> String {
        self.shared.lock().options.token()
    }

    /// The bot's id.
    pub fn bot_id(&self) -> u64 {
        self.shared.lock().world.bot
    }

    /// Text that mentions the bot.
    pub fn mention(&self) -> String {
        format!("<@{}>", self.bot_id())
    }

    /// Grants or withdraws the Message Content intent, as in the developer portal.
    pub fn set_content(&self, granted: bool) {
        self.change(|s| s.options.content = granted);
    }

    /// Sets how many more sessions may begin.
    pub fn set_identifies(&self, left: u64) {
        self.change(|s| s.options.identifies = left);
    }

    /// Answers every identify and resume with this close code; `None` accepts them again.
    pub fn refuse_sessions(&self, code: Option<u16>) {
        self.change(|s| s.options.refuse = code);
    }

    /// Makes the gateway perform an action on every open connection.
    pub fn order(&self, order: Order) {
        let _ = self.shared.lock().orders.send(order);
    }

    /// Makes the gateway stop sending at these steps, on one connection each, in this order.
    pub fn silence(&self, steps: &[Silent]) {
        self.change(|s| s.silences.extend(steps));
    }

    /// Sends this text as an event to every session, unchanged except that `{s}` becomes the
    /// event's number. A resume repeats it.
    pub fn sends_raw(&self, text: &str) {
        self.change(|s| {
            let bot = s.world.bot;
            s.sessions.dispatch(None, 0, RAW, &json!(text), bot);
        });
    }

    /// Makes every message older by this much, and its id with it.
    pub fn age_messages(&self, by: Duration) {
        let less = u64::try_from(by.as_millis()).unwrap_or(0) << 22;
        self.change(|s| {
            for channel in s.world.channels.values_mut() {
                let old = std::mem::take(&mut channel.messages);
                channel.messages = old
                    .into_values()
                    .map(|m| {
                        (
                            m.id.saturating_sub(less),
                            super::world::Message { id: m.id.saturating_sub(less), ..m },
                        )
                    })
                    .collect();
            }
        });
    }

    /// Silences that no connection has reached yet.
    pub fn silences_left(&self) -> usize {
        self.shared.lock().silences.len()
    }

    /// Number of requests for members over the gateway (op 8).
    pub fn member_requests(&self) -> usize {
        self.shared.lock().member_requests
    }

    /// Ends all sessions, as Discord does after some minutes without a connection.
    pub fn forget_sessions(&self) {
        self.change(|s| s.sessions.all.clear());
    }

    /// Treats every interaction as older than 15 minutes.
    pub fn expire_interactions(&self) {
        self.change(|s| s.interactions.values_mut().for_each(|i| i.expired = true));
    }

    /// Forgets enforced nonces, as Discord does after a few minutes.
    pub fn forget_nonces(&self) {
        self.change(|s| s.nonces.clear());
    }

    /// Applies the calls that [`super::Effect::ApplyLate`] held back.
    pub fn apply_late(&self) {
        for request in self.change(|s| std::mem::take(&mut s.late)) {
            let _ = http::perform(&self.shared, &request);
        }
    }

    /// Sends the last event again.
    pub fn redeliver(&self) {
        self.change(|s| {
            let bot = s.world.bot;
            s.sessions.redeliver(bot);
        });
    }

    /// Number of events that no heartbeat has acknowledged.
    pub fn unacknowledged(&self) -> usize {
        let state = self.shared.lock();
        state
            .sessions
            .all
            .values()
            .map(|s| usize::try_from(s.sequence - s.acknowledged).unwrap_or(0))
            .sum()
    }

    fn all_told(&self) -> bool {
        let state = self.shared.lock();
        !state.sessions.all.is_empty()
            && state.sessions.all.values().all(|s| s.acknowledged == s.sequence)
    }

    /// Requests heartbeats until all events are acknowledged.
    pub async fn wait_acknowledged(&self) {
        let asking = async {
            let mut pause = Duration::from_millis(10);
            loop {
                self.order(Order::AskHeartbeat);
                // The client does not announce what it has stored, so it must be asked; without a
                // pause this would break the limit of 120 payloads a minute.
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        };
        tokio::select! {
            () = self.wait_for("all events acknowledged", |h| h.all_told().then_some(())) => {}
            () = asking => {}
        }
    }

    /// Starts a load.
    pub fn load(&self, plan: LoadPlan) {
        self.change(|s| load::start(s, plan));
    }

    /// Waits, without a limit, until every message of the load is answered, and returns the trips.
    pub async fn wait_load(&self) -> Vec<Trip> {
        let mut changes = self.shared.changed.subscribe();
        loop {
            if let Some(trips) =
                self.shared.lock().load.as_ref().filter(|l| l.is_done()).map(|l| l.trips().to_vec())
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
                l.stop_asking();
            }
        });
    }

    /// Number of the load's answers that were out of order, repeated or unasked.
    pub fn misplaced(&self) -> usize {
        self.shared.lock().load.as_ref().map_or(0, |l| l.misplaced())
    }

    /// The load's trips so far.
    pub fn trips(&self) -> Vec<Trip> {
        self.shared.lock().load.as_ref().map(|l| l.trips().to_vec()).unwrap_or_default()
    }
}
