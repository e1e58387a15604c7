//! Puts rows that are in the store and not in flight into their lanes: those of the last run, of
//! other processes, of operators (`outbox retry`), and those that a lane released. The store is the
//! queue, and lanes are a short cut through memory.
//!
//! Three rules keep a Room's order. A row is claimed and pushed without an await in between, or a
//! row that is committed meanwhile could overtake it. New rows bypass the store only once the
//! account's [`Backlog`](crate::backlog::Backlog) is cleared. A lane that releases one row releases
//! all behind it and reads them back in the store's order.

use galatea_core::{ConnectorInfo, Result, RoomId, kill_point, store::OutboxItem};
use std::time::Duration;

use super::{job::Job, pauses::restore_pauses, route::Route, state::Outbox};
use crate::{lanes::Lane, ownership::LeaseGuard};

/// All rows, as there is no later moment to read the rest: the age at which answers expire bounds
/// them.
const ALL: u32 = u32::MAX;
/// Rows read by one poll; the oldest come first.
const BATCH: u32 = 256;
/// Until a row that is in flight elsewhere in this process is stored or released.
const IN_FLIGHT: Duration = Duration::from_millis(20);
pub(super) const PAUSE: Duration = Duration::from_secs(1);

impl Outbox {
    /// After an account came here: its unsettled deliveries go on where they were, in order of
    /// commit. Until then nothing new is sent through it, or the same row could be read back here
    /// and sent twice.
    pub(crate) async fn clear_backlog(&self, route: &Route, lease: &LeaseGuard) {
        restore_pauses(self, route).await;
        loop {
            route.backlog.sends.reading();
            let items = match self.unsettled(route, ALL).await {
                Ok(items) => items,
                Err(error) => {
                    tracing::error!(source = %route.info.source, account = %route.info.account, error = %error.report(), "failed to load pending deliveries; retrying");
                    self.clock.sleep(PAUSE).await;
                    continue;
                }
            };
            if !items.is_empty() {
                tracing::info!(source = %route.info.source, count = items.len(), "deliveries of the last run go on");
            }
            for item in items {
                if let Some(in_flight) = self.in_flight.begin(item.delivery.id) {
                    self.push(Job::stored(&*self.clock, item, in_flight, lease));
                }
            }
            kill_point("reconcile.sends");
            if route.backlog.sends.clear() {
                return;
            }
        }
    }

    /// Claims rows that were not committed by this process: another process answers, or an
    /// operator wants a part sent again.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn poll(&self, route: &Route) -> Result<()> {
        let Some(lease) = route.sends() else { return Ok(()) };
        let _one_at_a_time = route.backlog.polling.lock().await;
        loop {
            let items = self.unsettled(route, BATCH).await?;
            let all = items.len() < BATCH as usize;
            for item in items {
                if let Some(in_flight) = self.in_flight.begin(item.delivery.id) {
                    let job = Job::stored(&*self.clock, item, in_flight, &lease);
                    self.push(Job { recheck: true, ..job });
                }
            }
            if all {
                return Ok(());
            }
        }
    }

    /// Before Rooms come here from another process: its answers to them go out before those that
    /// are committed here.
    pub(crate) async fn catch_up(&self, route: &Route) {
        // A backlog that is not cleared yet is read once more, since it was asked.
        while route.sends().is_some() && route.backlog.sends.admits() {
            match self.poll(route).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::error!(source = %route.info.source, account = %route.info.account, error = %error.report(), "failed to load deliveries of another process; retrying");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Rows of an account that are not in flight, the oldest first.
    async fn unsettled(&self, route: &Route, limit: u32) -> Result<Vec<OutboxItem>> {
        let (agent, info) = (self.identity.id(), &route.info);
        let in_flight = self.in_flight.snapshot();
        self.store.unsettled(agent, &info.source, &info.account, &in_flight, limit).await
    }
}

/// Releases a row whose account went to another process, and all that wait behind it, the first one
/// first: a poll that finds one of them in the store finds those before it, too.
pub(super) fn release(lane: &Lane<RoomId, Job>, first: Job) {
    let waiting = lane.spill();
    drop(first);
    waiting.into_iter().for_each(drop);
}

/// Reads a lane's rows back after they were released, as far as their accounts are here.
pub(super) async fn read_lane(outbox: &Outbox, lane: &Lane<RoomId, Job>) {
    let routes = outbox.routes.all();
    let here: Vec<_> =
        routes.iter().filter_map(|route| Some((&route.info, route.sends()?))).collect();
    let (mut jobs, mut complete) = (Vec::new(), true);
    let stored = match outbox.store.unsettled_in_room(*lane.key(), &[], ALL).await {
        Ok(stored) => stored,
        Err(error) => {
            tracing::error!(room = %lane.key(), error = %error.report(), "failed to load the deliveries of a room; retrying");
            tokio::time::sleep(PAUSE).await;
            return lane.put_back(jobs, false);
        }
    };
    for item in stored {
        let address = &item.delivery.address;
        let of_account = |(info, _): &&(&ConnectorInfo, LeaseGuard)| {
            (&info.source, &info.account) == (&address.source, &address.account)
        };
        let Some((_, lease)) = here.iter().find(of_account) else { continue };
        // Just ended and not stored yet, or on its way here: those behind it wait for that.
        let Some(in_flight) = outbox.in_flight.begin(item.delivery.id) else {
            complete = false;
            break;
        };
        jobs.push(Job::stored(&*outbox.clock, item, in_flight, lease));
    }
    if !complete && jobs.is_empty() {
        tokio::time::sleep(IN_FLIGHT).await;
    }
    lane.put_back(jobs, complete);
}

/// Reads a part again. False when it has ended, or when its account moved to another process first.
pub(super) async fn is_still_open(outbox: &Outbox, job: &mut Job) -> bool {
    while job.lease.is_open() {
        match outbox.store.outbox_item(job.delivery.id).await {
            Ok(item) => {
                let open = item.filter(|item| item.state.is_open());
                return open.map(|item| job.reread(&*outbox.clock, item)).is_some();
            }
            Err(error) => {
                tracing::debug!(delivery = %job.delivery.id, error = %error.report(), "failed to read a delivery; retrying");
                outbox.clock.sleep(PAUSE).await;
            }
        }
    }
    false
}
