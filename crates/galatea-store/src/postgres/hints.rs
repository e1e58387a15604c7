//! Wake-ups between processes that share a database: `NOTIFY galatea` announces new work, and each
//! process listens on a connection of its own.

use backon::{BackoffBuilder, ExponentialBuilder};
use galatea_core::{Hint, Hints};
use sqlx::postgres::PgListener;
use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, interval, sleep, timeout},
};
use uuid::Uuid;

use super::{open::Place, read::Readers};
use crate::dialect::{Statement, Value};

/// The channel of every process of ours; a schema is a database's own, so is a channel.
const CHANNEL: &str = "galatea";
/// Several at once; the server passes them on when the statement commits.
pub(crate) const NOTIFY: &str =
    "SELECT 1 FROM (SELECT pg_notify('galatea', payload) FROM unnest($1::text[]) payload) done";
/// How often a process notifies itself to check the connection. A server that sends nothing for two
/// of these counts as lost: TCP would wait for ever.
const PING: Duration = Duration::from_secs(15);
/// Between two attempts to listen again, at first and at most.
const PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(8)];

/// How many notifications were sent, by the places of [`Hint::ALL`].
type Counts = [u64; Hint::ALL.len()];

/// Wake-ups of one process. They end with the last handle.
pub(crate) struct Notices {
    sent: watch::Sender<Counts>,
    heard: Arc<[watch::Sender<u64>]>,
    up: watch::Receiver<bool>,
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").field("up", &*self.up.borrow()).finish_non_exhaustive()
    }
}

impl Notices {
    /// Listens in the background until it is dropped.
    pub(crate) fn open(place: Place, readers: Readers) -> Self {
        let (sent, waiting) = watch::channel(Counts::default());
        let heard: Arc<[_]> = Hint::ALL.map(|_| watch::Sender::new(0)).into();
        let (is_up, up) = watch::channel(false);
        // A process ignores its own wake-ups.
        let own = Uuid::new_v4().simple().to_string();
        let ear = Ear { place, own: own.clone(), heard: Arc::clone(&heard), is_up };
        let ended = waiting.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = ear.listen() => {}
                () = gone(ended) => {}
            }
        });
        tokio::spawn(send_notifications(readers, own, waiting));
        Self { sent, heard, up }
    }
}

/// Completes when the last handle is dropped.
async fn gone(mut handles: watch::Receiver<Counts>) {
    while handles.changed().await.is_ok() {}
}

impl Hints for Notices {
    fn is_up(&self) -> bool {
        *self.up.borrow()
    }

    fn notify(&self, hint: Hint) {
        self.sent.send_modify(|counts| counts[place(hint)] += 1);
    }

    fn heard(&self, hint: Hint) -> watch::Receiver<u64> {
        self.heard[place(hint)].subscribe()
    }
}

fn place(hint: Hint) -> usize {
    hint as usize
}

/// What listens.
struct Ear {
    place: Place,
    own: String,
    heard: Arc<[watch::Sender<u64>]>,
    is_up: watch::Sender<bool>,
}

impl Ear {
    /// Listens for ever, on another connection after each that broke.
    async fn listen(self) {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(PAUSE[0])
            .with_max_delay(PAUSE[1])
            .without_max_times();
        let mut next = pauses.build();
        loop {
            let since = Instant::now();
            if let Err(failure) = self.hear().await {
                tracing::debug!(error = %failure, "failed to listen for wake-ups; retrying after the pause");
            }
            if self.is_up.send_replace(false) {
                tracing::warn!(
                    "wake-ups from other processes cannot be heard; this one looks for work ten times a second until it can listen again"
                );
            }
            if since.elapsed() > PAUSE[1] {
                next = pauses.build();
            }
            sleep(next.next().unwrap_or(PAUSE[1])).await;
        }
    }

    /// Listens on one connection until it breaks or says nothing any more.
    async fn hear(&self) -> Result<(), sqlx::Error> {
        let pool = self.place.listening();
        let listen = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        let mut listener =
            timeout(2 * PING, listen).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        self.is_up.send_replace(true);
        // Any notification since.
        self.heard.iter().for_each(|heard| heard.send_modify(|count| *count += 1));
        // A process's own notifications come back, so silence means that the connection is dead.
        while let Ok(notice) = timeout(2 * PING + PING, listener.try_recv()).await {
            let Some(notice) = notice? else { break };
            let mut words = notice.payload().split(' ');
            if words.next() != Some(&self.own)
                && let Some(hint) = words.next().and_then(Hint::from_name)
            {
                self.heard[place(hint)].send_modify(|count| *count += 1);
            }
        }
        Ok(())
    }
}

/// Sends this process's notifications, several at once as one statement.
async fn send_notifications(readers: Readers, own: String, mut waiting: watch::Receiver<Counts>) {
    let (mut sent, mut ping) = (Counts::default(), interval(PING));
    let uncounted = AtomicU64::new(0);
    loop {
        let ping = tokio::select! {
            changed = waiting.changed() => match changed {
                Ok(()) => false,
                Err(_) => return,
            },
            _ = ping.tick() => true,
        };
        let counts = *waiting.borrow_and_update();
        let news = Hint::ALL.into_iter().filter(|hint| counts[place(*hint)] != sent[place(*hint)]);
        let mut payloads: Vec<String> =
            news.map(|hint| format!("{own} {}", hint.as_str())).collect();
        if ping && payloads.is_empty() {
            payloads.push(format!("{own} ping"));
        }
        if payloads.is_empty() {
            continue;
        }
        let notify = Statement::for_postgres(NOTIFY, vec![Value::Texts(payloads)]);
        // Work whose notification failed is found by polling; a process that listens again polls at
        // once.
        if let Err(failure) = readers.all::<(i32,)>(&uncounted, notify).await {
            tracing::debug!(
                error = %failure.report(),
                "failed to send a wake-up; other processes find the work by polling"
            );
        }
        sent = counts;
    }
}
