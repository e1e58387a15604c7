//! Load over many private chats.

use serde_json::Value;
use std::time::{Duration, Instant};

use super::{
    loading::{FIRST_ROOM, LoadState},
    message::Message,
    state::{Shared, State},
};
use crate::load::{Load, LoadPlan};

/// Starts a load. Rooms are created now, updates when the client fetches them.
pub(crate) fn start(state: &mut State, plan: LoadPlan) {
    for room in 0..plan.rooms {
        let id = FIRST_ROOM + i64::try_from(room).unwrap_or_default();
        state.world.people.insert(
            id,
            super::world::Person {
                id,
                first_name: format!("Load {room}"),
                username: None,
                is_bot: false,
            },
        );
        state.world.private(id).opened = true;
    }
    state.load = Some(LoadState { load: Load::new(plan), first_update: state.updates.next_id() });
}

impl State {
    /// Updates for a poll. Creates the load's updates that are due, and records when they are
    /// handed out.
    pub(crate) fn hand_out(&mut self, limit: usize) -> Vec<Value> {
        if self.load.is_some() {
            self.make_due(limit);
        }
        let updates = self.updates.take(limit);
        if let Some(LoadState { load, first_update }) = &mut self.load {
            let now = Instant::now();
            for update in &updates {
                let number = update["update_id"].as_i64().unwrap_or_default() - *first_update;
                if let Ok(number) = usize::try_from(number) {
                    load.handed_out(number, now);
                }
            }
        }
        updates
    }

    fn make_due(&mut self, limit: usize) {
        let now = Instant::now();
        let date = self.date();
        while self.updates.pending() < limit {
            let Some(question) = self.load.as_mut().and_then(|l| l.load.ask(now)) else { return };
            let room = FIRST_ROOM + i64::try_from(question.room).unwrap_or_default();
            let id = self.world.next_message(room);
            let mut message = Message::new(id, room, Some(room), date);
            message.words.text = question.text;
            let body = message.json(&self.world, false);
            self.updates.push("message", body);
        }
    }
}

/// Wakes polls when updates of a load with a rate become due.
pub(crate) async fn pace(shared: std::sync::Arc<Shared>) {
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let next = match &shared.lock().load {
            Some(state) => state.load.next_due(),
            None => return,
        };
        match next {
            Some(due) if due <= Instant::now() => shared.bump(),
            Some(_) => {}
            None => return,
        }
    }
}
