//! Puts messages that are in the store and not in flight into their lanes: those of the last run,
//! those that other processes stored, those whose commit succeeded although the connector got an
//! error, and those that a lane could not hold.
//!
//! The rules that keep a Room's order are those of the outbox: nothing is awaited between claiming
//! a message and pushing it, and a lock keeps the order of two polls.

use galatea_core::{
    Decision, Hint, Result, RoomId, kill_point,
    store::{InFlightRows, InboxItem, InboxState},
};
use std::{sync::Arc, time::Duration};

use super::state::{IN_MEMORY, Inbox};
use crate::{
    lanes::Lane,
    outbox::Route,
    ownership::{Assignment, RoomPartition},
    turn::{Claimed, Waiting},
};

/// How often turns look for edits while other processes cannot send wake-ups.
const UNTOLD: Duration = Duration::from_secs(1);
/// Messages read at once after a start.
const PAGE: u32 = 10_000;
/// Messages read by one poll; the oldest come first.
const BATCH: u32 = 256;
/// Until a message that is in flight elsewhere in this process is released.
const IN_FLIGHT: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_secs(1);

impl Inbox {
    /// After an account came here: its messages that were stored before are answered before
    /// anything new.
    pub(crate) async fn clear_backlog(&self, route: &Route) {
        if self.ownership.shares_rooms(&route.info.source) {
            self.clear_shared_backlog(route).await;
        } else {
            self.clear_own_backlog(route).await;
        }
    }

    async fn clear_own_backlog(&self, route: &Route) {
        let mut logged = false;
        loop {
            route.backlog.turns.reading();
            let items = match self.unfinished(route, PAGE).await {
                Ok(items) => items,
                Err(error) => {
                    tracing::error!(source = %route.info.source, account = %route.info.account, error = %error.report(), "failed to load pending messages; retrying");
                    self.clock.sleep(PAUSE).await;
                    continue;
                }
            };
            if !items.is_empty() && !logged {
                logged = true;
                tracing::info!(source = %route.info.source, count = items.len(), "messages left over from the last run are answered now");
            }
            kill_point("reconcile.turns");
            let all = items.len() < PAGE as usize;
            self.push_all(items, false);
            if !all {
                // The rest is behind these: it comes into sight as they are finished.
                self.clock.sleep(PAUSE).await;
            } else if route.backlog.turns.clear() {
                return;
            }
        }
    }

    /// Another process may have stored them, and this one answers in some of their Rooms only.
    async fn clear_shared_backlog(&self, route: &Route) {
        loop {
            route.backlog.turns.reading();
            match self.poll_partitions().await {
                Ok(true) if route.backlog.turns.clear() => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(source = %route.info.source, account = %route.info.account, error = %error.report(), "failed to load pending messages; retrying");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Claims an account's messages that are stored and not in flight: their commit succeeded
    /// although the connector got an error.
    pub(crate) async fn poll(&self, route: &Route) {
        // The store reports its own failures; the next poll tries again.
        self.push_all(self.unfinished(route, BATCH).await.unwrap_or_default(), true);
    }

    /// After partitions of the Rooms came here from another process: first its deliveries go out,
    /// then its messages are answered, then new ones.
    pub(crate) async fn reconcile_partitions(&self, partitions: &[Arc<RoomPartition>]) {
        // Other processes may have changed these Rooms.
        self.directory.rooms.forget_all();
        for route in self.outbox.routes.all() {
            self.outbox.catch_up(&route).await;
        }
        let numbers: Vec<u16> = partitions.iter().map(|partition| partition.number).collect();
        let mut left: Vec<&Arc<RoomPartition>> = partitions.iter().collect();
        while !left.is_empty() && !self.stop.is_cancelled() {
            left.iter().for_each(|partition| partition.backlog.reading());
            let items = match self.unfinished_in(&numbers, PAGE).await {
                Ok(items) => items,
                Err(error) => {
                    tracing::error!(agent = %self.agent, error = %error.report(), "failed to load messages of another process; retrying");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let all = items.len() < PAGE as usize;
            self.push_all(items, false);
            if all {
                left.retain(|partition| partition.lease.is_open() && !partition.backlog.clear());
            } else {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Claims messages that other processes store for this one to answer, as long as the agent
    /// runs. The process says when there may be some (`orchestrator/idle.rs`).
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            let shared = self.ownership.is_shared();
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.due.notified() => {}
                () = self.ownership.shared_changed(shared) => {}
            }
            // The store reports its own failures; the next poll tries again.
            while !self.stop.is_cancelled() && matches!(self.poll_partitions().await, Ok(false)) {}
        }
    }

    /// Passes edits that other processes store on to the turns of this one, as long as the agent runs.
    pub(crate) async fn watch_edits(self: Arc<Self>) {
        let mut heard = self.ownership.hints().heard(Hint::Edits);
        loop {
            // A hint may get lost.
            let is_up = self.ownership.hints().is_up();
            let pause = if is_up { self.poll } else { self.poll.min(UNTOLD) };
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
                Ok(()) = heard.changed() => {}
            }
            if self.ownership.is_shared() {
                self.engine.state.edits.notify_all();
            }
        }
    }

    /// Claims messages that are stored in this process's partitions and not in flight. True when
    /// that was all.
    async fn poll_partitions(&self) -> Result<bool> {
        let _one_at_a_time = self.polling.lock().await;
        let numbers: Vec<u16> = self
            .ownership
            .partitions()
            .iter()
            .filter(|partition| partition.backlog.is_cleared())
            .map(|partition| partition.number)
            .collect();
        if numbers.is_empty() {
            return Ok(true);
        }
        let items = self.unfinished_in(&numbers, BATCH).await?;
        let all = items.len() < BATCH as usize;
        self.push_all(items, true);
        Ok(all)
    }

    /// For messages that another process has finished: where the platform shows that an answer is
    /// coming and none is, the sign is ended.
    pub(crate) async fn report_unanswered(&self, route: &Route) {
        let awaited: Vec<_> = self
            .awaited
            .iter()
            .filter(|entry| {
                entry.source == route.info.source && entry.account == route.info.account
            })
            .map(|entry| *entry.key())
            .collect();
        for id in awaited {
            let Ok(Some(item)) = self.store.inbox_item(id).await else { continue };
            if item.state == InboxState::New {
                continue;
            }
            self.awaited.remove(&id);
            let is_answered = |decision| matches!(decision, Decision::Answer | Decision::Command);
            if let Some(verdict) = item.verdict.filter(|verdict| !is_answered(verdict.decision)) {
                self.engine.report_unanswered(&item.entry, &verdict);
            }
        }
    }

    /// Without an await: a later message of a Room that is received meanwhile could overtake an
    /// earlier one. `recheck` is for messages that may have been finished since they were read.
    fn push_all(&self, items: Vec<InboxItem>, recheck: bool) {
        for item in items {
            if let Some(message) = self.to_waiting(item) {
                self.push(Waiting { recheck, ..message });
            }
        }
    }

    async fn unfinished(&self, route: &Route, limit: u32) -> Result<Vec<InboxItem>> {
        self.store.unfinished(self.agent, &route.info.source, &route.info.account, limit).await
    }

    async fn unfinished_in(&self, partitions: &[u16], limit: u32) -> Result<Vec<InboxItem>> {
        let shared = self.ownership.with_shared_rooms();
        self.store
            .unfinished_in_parts(self.agent, partitions, &shared, &self.besides(), limit)
            .await
    }

    /// Rows that a poll leaves out: those in flight, and Rooms with more than memory holds, which
    /// read the rest back by themselves. In this order: a message that such a Room has read back in
    /// between is either in flight or still to be read.
    fn besides(&self) -> InFlightRows {
        let rooms = self.lanes.spilled();
        let _both = self.claiming.lock();
        InFlightRows { messages: self.in_flight.snapshot(), rooms }
    }

    /// True if this process may begin with the stored messages of a Room.
    fn is_cleared(&self, item: &InboxItem) -> bool {
        match self.ownership.assignment(&item.entry.source, item.entry.memory.room_id) {
            Assignment::Partition(partition) => partition.backlog.is_cleared(),
            Assignment::Exclusive | Assignment::Elsewhere => true,
        }
    }
}

/// Reads back the messages that a lane could not hold.
pub(super) async fn read_lane(inbox: &Inbox, lane: &Lane<RoomId, Claimed>) {
    let limit = u32::try_from(IN_MEMORY).unwrap_or(u32::MAX);
    let items = match inbox.store.unfinished_in_room(*lane.key(), limit).await {
        Ok(items) => items,
        Err(error) => {
            tracing::error!(room = %lane.key(), error = %error.report(), "failed to load the messages of a room; retrying");
            return inbox.clock.sleep(PAUSE).await;
        }
    };
    let mut complete = items.len() < IN_MEMORY;
    let mut fresh = Vec::new();
    for item in items {
        // Messages that another process left for this Room go first.
        let cleared = inbox.is_cleared(&item);
        let Some(message) = inbox.to_waiting(item) else {
            complete = true;
            break;
        };
        // Rows behind one that is on its way here wait for it.
        let in_flight = if cleared { inbox.in_flight.begin(message.entry.memory.id) } else { None };
        let Some(in_flight) = in_flight else {
            complete = false;
            break;
        };
        fresh.push(Claimed { message, in_flight });
    }
    if !complete && fresh.is_empty() {
        tokio::time::sleep(IN_FLIGHT).await;
    }
    lane.put_back(fresh, complete);
}
