//! Writes traces in groups, after the commits of their turns. What does not fit is left out and
//! counted: a trace is never worth the time of a turn.

use galatea_core::{
    AgentId, EntityId, RoomId, Store, Timestamp, TurnId,
    store::{StepKind, Trace, TraceStep},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout_at,
};

use super::{
    bucket::Bucket,
    recorder::{Recorded, Recorder},
    texts::readable,
};

/// Traces that may wait for the writer.
const WAITING: usize = 1024;
/// Traces of one write.
const AT_ONCE: usize = 128;
/// Time for which traces are gathered before they are written together.
const GATHER: Duration = Duration::from_millis(250);
/// Traces a second that keep their texts, and how many of a burst do. With texts of 10 KiB that is
/// 200 KiB a second at most.
const TEXTS: (f64, f64) = (20.0, 200.0);
/// Traces a second that are kept at all.
const TRACES: (f64, f64) = (200.0, 2_000.0);

/// Traces since the process began.
#[derive(Debug, Default)]
pub struct TraceCounts {
    kept: AtomicU64,
    shortened: AtomicU64,
    dropped: AtomicU64,
}

impl TraceCounts {
    /// Traces that were written.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Those of them whose texts were left out under flood.
    pub fn shortened(&self) -> u64 {
        self.shortened.load(Ordering::Relaxed)
    }

    /// Traces that were not written.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Whose trace it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceHead {
    pub(crate) turn: TurnId,
    pub(crate) room: RoomId,
    pub(crate) person: EntityId,
    /// Beginning of the turn.
    pub(crate) at: Timestamp,
    /// Time of the oldest message in its prompt.
    pub(crate) since: Timestamp,
}

struct Pending {
    head: TraceHead,
    late: bool,
    has_texts: bool,
    recorded: Recorded,
}

enum Order {
    Keep(Box<Pending>),
    Flush(oneshot::Sender<()>),
}

/// Takes the traces of one agent. Clones share it.
#[derive(Clone)]
pub(crate) struct Tracer {
    orders: mpsc::Sender<Order>,
    counts: Arc<TraceCounts>,
}

impl Tracer {
    /// A tracer, and the work that writes what it is given; the work ends when the last tracer is
    /// dropped.
    pub(crate) fn new(
        agent: AgentId,
        store: Arc<dyn Store>,
        counts: Arc<TraceCounts>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (orders, receiver) = mpsc::channel(WAITING);
        let writing = write(agent, store, Arc::clone(&counts), receiver);
        (Self { orders, counts }, writing)
    }

    /// Hands over what a recorder has of a turn that was committed. Waits for nothing.
    pub(crate) fn finish(&self, head: TraceHead, recorder: &Recorder) {
        self.hand_over(head, recorder, false);
    }

    /// Hands over the steps since.
    pub(crate) fn add_late(&self, head: TraceHead, recorder: &Recorder) {
        self.hand_over(head, recorder, true);
    }

    fn hand_over(&self, head: TraceHead, recorder: &Recorder, late: bool) {
        if !recorder.is_on() {
            return;
        }
        let recorded = recorder.take();
        if late && recorded.steps.is_empty() {
            return;
        }
        self.keep(Pending { head, late, has_texts: recorder.has_texts(), recorded });
    }

    /// Hands over an attempt to send.
    pub(crate) fn add_send(&self, head: TraceHead, step: TraceStep) {
        let recorded = Recorded { steps: vec![step], ..Recorded::default() };
        self.keep(Pending { head, late: true, has_texts: false, recorded });
    }

    fn keep(&self, pending: Pending) {
        if self.orders.try_send(Order::Keep(Box::new(pending))).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all that was handed over is written.
    pub(crate) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if self.orders.send(Order::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }
}

async fn write(
    agent: AgentId,
    store: Arc<dyn Store>,
    counts: Arc<TraceCounts>,
    mut orders: mpsc::Receiver<Order>,
) {
    let now = Instant::now();
    let mut texts = Bucket::new(TEXTS.0, TEXTS.1, now);
    let mut traces = Bucket::new(TRACES.0, TRACES.1, now);
    while let Some(first) = orders.recv().await {
        let (mut batch, mut flushes) = (Vec::new(), Vec::new());
        let until = tokio::time::Instant::now() + GATHER;
        let mut next = Some(first);
        while let Some(order) = next {
            match order {
                Order::Keep(pending) => {
                    let now = Instant::now();
                    if traces.take(now) {
                        let keeps = pending.has_texts && texts.take(now);
                        if pending.has_texts && !keeps {
                            counts.shortened.fetch_add(1, Ordering::Relaxed);
                        }
                        batch.push(trace(agent, *pending, keeps));
                    } else {
                        counts.dropped.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Order::Flush(done) => flushes.push(done),
            }
            next = if !flushes.is_empty() || batch.len() >= AT_ONCE {
                None
            } else {
                timeout_at(until, orders.recv()).await.ok().flatten()
            };
        }
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        match store.add_traces(&batch).await {
            Ok(()) => counts.kept.fetch_add(count, Ordering::Relaxed),
            Err(error) => {
                tracing::debug!(agent = %agent, count, error = %error.report(), "failed to keep traces; they are dropped");
                counts.dropped.fetch_add(count, Ordering::Relaxed)
            }
        };
        for done in flushes {
            let _ = done.send(());
        }
    }
}

fn trace(agent: AgentId, pending: Pending, keeps_texts: bool) -> Trace {
    let Pending { head, late, has_texts, recorded } = pending;
    let Recorded { mut steps, texts, left_out } = recorded;
    if left_out > 0
        && let Some(last) = steps.last().cloned()
    {
        let note = Some(format!("{left_out} further steps were left out"));
        steps.push(TraceStep {
            kind: StepKind::Wait,
            name: "bound".to_owned(),
            note,
            bytes: None,
            used: None,
            ..last
        });
    }
    let texts = (has_texts && keeps_texts).then(|| readable(texts));
    Trace {
        turn: head.turn,
        agent,
        room: head.room,
        person: head.person,
        at: head.at,
        since: head.since,
        late,
        steps,
        texts,
    }
}
