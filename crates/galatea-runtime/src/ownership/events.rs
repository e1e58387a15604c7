//! Events between processes: published while a subscriber exists; consumed by `api` processes.

use galatea_core::{
    Event, EventBus, Hint, Store,
    store::{EventPosition, ProcessRole},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::broadcast::error::RecvError, time::sleep};

use super::{ClusterOptions, Poller};

/// Events read or written at once.
const AT_ONCE: usize = 500;
/// Time for which events are gathered before they are written.
const GATHER: Duration = Duration::from_millis(100);
/// Time for which they are gathered while no other process listens. At a pace of 1,000 turns a
/// second the bus, which keeps 1,024 events, gets some 60 meanwhile.
const UNHEARD: Duration = Duration::from_millis(10);
/// Between two looks for events where others tell of them.
const SELDOM: Duration = Duration::from_secs(1);

/// Tells others, or listens to them.
pub(super) async fn run(
    store: Arc<dyn Store>,
    options: ClusterOptions,
    events: EventBus,
    heard: Arc<AtomicBool>,
) {
    if options.role == ProcessRole::Api {
        listen(&*store, &options, &events).await
    } else {
        publish(&*store, &options, &events, &heard).await
    }
}

async fn publish(
    store: &dyn Store,
    options: &ClusterOptions,
    events: &EventBus,
    heard: &AtomicBool,
) {
    let mut happening = events.subscribe();
    loop {
        let mut batch: Vec<Event> = Vec::new();
        match happening.recv().await {
            Ok(event) => batch.push(event),
            Err(RecvError::Lagged(missed)) => {
                tracing::debug!(process = %options.member, missed, "events came faster than they are published; skipping the oldest")
            }
            Err(RecvError::Closed) => return,
        }
        // Also where none listens: each event would wake this task between the steps of a turn.
        sleep(if heard.load(Ordering::Relaxed) { GATHER } else { UNHEARD }).await;
        while batch.len() < AT_ONCE
            && let Ok(event) = happening.try_recv()
        {
            batch.push(event);
        }
        if heard.load(Ordering::Relaxed) {
            match store.publish_events(options.member, &batch).await {
                Ok(()) => options.hints.notify(Hint::Events),
                Err(error) => {
                    tracing::debug!(process = %options.member, error = %error.report(), "failed to publish events to other processes; they are dropped")
                }
            }
        }
    }
}

async fn listen(store: &dyn Store, options: &ClusterOptions, events: &EventBus) {
    let mut after: Option<EventPosition> = None;
    let mut poller = Poller::new(&options.hints, Hint::Events);
    let limit = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
    loop {
        let full = match store.events_after(options.member, after, limit).await {
            Ok((position, others)) => {
                after = Some(position);
                let full = others.len() == AT_ONCE;
                others.into_iter().for_each(|event| events.publish(event));
                full
            }
            Err(error) => {
                tracing::debug!(process = %options.member, error = %error.report(), "failed to read events of other processes; retrying after the pause");
                false
            }
        };
        if !full {
            poller.next(SELDOM, true).await;
        }
    }
}
