//! Events for dashboards: kept with numbers as they happen, and followed from any number.

use galatea_core::{
    AgentId, Clock, Event, EventBus, Result, Store,
    store::{LiveEvent, OperatorRole},
};
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::{
    sync::{
        Notify,
        broadcast::{self, error::RecvError},
    },
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::Operator;

/// Time for which events are gathered before they are written together.
const GATHER: Duration = Duration::from_millis(25);
/// Most events of one write.
const AT_ONCE: usize = 500;
/// Between two looks for events of other processes.
const SELDOM: Duration = Duration::from_secs(1);
/// Events that a reader may be behind before it reads from the store again.
const BEHIND: usize = 1024;

/// The stream of events.
pub struct Live {
    store: Arc<dyn Store>,
    sender: broadcast::Sender<Arc<LiveEvent>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Live {
    /// Begins to keep the events of this process, and to follow those of all. `keeps` is false in a
    /// process whose bus repeats the events of others, which keep theirs themselves.
    pub fn start(
        store: &Arc<dyn Store>,
        clock: &Arc<dyn Clock>,
        events: &EventBus,
        keeps: bool,
    ) -> Arc<Self> {
        let sender = broadcast::channel(BEHIND).0;
        let kept = Arc::new(Notify::new());
        let mut tasks = Vec::new();
        if keeps {
            let (store, clock, kept) = (Arc::clone(store), Arc::clone(clock), Arc::clone(&kept));
            let events = events.subscribe();
            tasks.push(tokio::spawn(keep(store, clock, events, kept)));
        } else {
            tasks.push(tokio::spawn(wake(events.subscribe(), Arc::clone(&kept))));
        }
        tasks.push(tokio::spawn(tail(Arc::clone(store), sender.clone(), kept)));
        Arc::new(Self { store: Arc::clone(store), sender, tasks })
    }

    /// Follows events after a number; without one from now on.
    ///
    /// # Errors
    /// `Forbidden` for anybody who may not read, and failures of the store.
    pub async fn follow(&self, by: &Operator, after: Option<i64>) -> Result<Follower> {
        by.need(OperatorRole::Viewer)?;
        let receiver = self.sender.subscribe();
        let bounds = self.store.live_bounds().await?;
        let newest = bounds.map_or(0, |(_, last)| last);
        // A number from before a new database, or from another one, is beyond all that there is.
        let after = after.filter(|after| *after <= newest);
        let missed = match (after, bounds) {
            (Some(after), Some((first, _))) if after.saturating_add(1) < first => Some(first - 1),
            _ => None,
        };
        Ok(Follower {
            store: Arc::clone(&self.store),
            receiver,
            last: missed.or(after).unwrap_or(newest),
            behind: true,
            missed: missed.is_some(),
            ready: VecDeque::new(),
        })
    }
}

/// A reader of the stream.
pub struct Follower {
    store: Arc<dyn Store>,
    receiver: broadcast::Receiver<Arc<LiveEvent>>,
    last: i64,
    /// Events may be in the store that are not in the channel.
    behind: bool,
    missed: bool,
    ready: VecDeque<Arc<LiveEvent>>,
}

/// What a follower is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// The next event.
    Event(Arc<LiveEvent>),
    /// Events up to this number are not kept any more: lists have to be read again.
    Missed(i64),
}

impl Follower {
    /// The next event; none when the process ends.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn next(&mut self) -> Result<Option<Followed>> {
        if std::mem::take(&mut self.missed) {
            return Ok(Some(Followed::Missed(self.last)));
        }
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.last = event.seq;
                return Ok(Some(Followed::Event(event)));
            }
            if self.behind {
                let limit = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
                let events = self.store.live_after(self.last, limit).await?;
                self.behind = events.len() == AT_ONCE;
                self.ready.extend(events.into_iter().map(Arc::new));
                continue;
            }
            match self.receiver.recv().await {
                Ok(event) if event.seq > self.last => self.ready.push_back(event),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }
}

/// An event as dashboards see it: its kind, its agent, and what else it has.
fn shown(event: &Event, clock: &dyn Clock) -> Option<LiveEvent> {
    let Ok(Value::Object(mut data)) = serde_json::to_value(event) else { return None };
    let Some(Value::String(kind)) = data.remove("event") else { return None };
    let agent =
        data.remove("agent").and_then(|agent| serde_json::from_value::<AgentId>(agent).ok());
    Some(LiveEvent { seq: 0, at: clock.now(), agent, kind, data: Value::Object(data) })
}

async fn keep(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    mut events: galatea_core::event::EventReceiver,
    kept: Arc<Notify>,
) {
    loop {
        let mut batch = Vec::new();
        match events.recv().await {
            Ok(event) => batch.extend(shown(&event, &*clock)),
            Err(RecvError::Lagged(missed)) => {
                tracing::debug!(
                    missed,
                    "events came faster than they are kept; skipping the oldest"
                );
            }
            Err(RecvError::Closed) => return,
        }
        sleep(GATHER).await;
        while batch.len() < AT_ONCE
            && let Ok(event) = events.try_recv()
        {
            batch.extend(shown(&event, &*clock));
        }
        match store.add_live(&batch).await {
            Ok(()) => kept.notify_one(),
            Err(error) => {
                tracing::debug!(error = %error.report(), "failed to keep events for dashboards; they are dropped");
            }
        }
    }
}

/// Where others keep their events, their repetition on this bus says when to look for them.
async fn wake(mut events: galatea_core::event::EventReceiver, kept: Arc<Notify>) {
    while !matches!(events.recv().await, Err(RecvError::Closed)) {
        kept.notify_one();
    }
}

async fn tail(store: Arc<dyn Store>, sender: broadcast::Sender<Arc<LiveEvent>>, kept: Arc<Notify>) {
    let mut last = None;
    let limit = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
    loop {
        let from = match last {
            Some(last) => last,
            None => match store.live_bounds().await {
                Ok(bounds) => *last.insert(bounds.map_or(0, |(_, newest)| newest)),
                Err(_) => {
                    sleep(SELDOM).await;
                    continue;
                }
            },
        };
        match store.live_after(from, limit).await {
            Ok(events) => {
                let full = events.len() == AT_ONCE;
                last = events.last().map(|event| event.seq).or(last);
                for event in events {
                    let _ = sender.send(Arc::new(event));
                }
                if full {
                    continue;
                }
            }
            Err(error) => {
                tracing::debug!(error = %error.report(), "failed to read events for dashboards; retrying after the pause");
            }
        }
        let _ = timeout(SELDOM, kept.notified()).await;
    }
}
