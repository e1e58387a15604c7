//! Long polling: fetches updates, stores them, and only then requests the next ones, which confirms
//! the stored ones to Telegram.

use galatea_core::{Batch, Cursor, Error, Gap, Result, Retry, StateKeeper, Timestamp};
use std::time::Duration;

use super::{UpdateIntake, album::WaitingAlbum, gap, trouble::Troubles};
use crate::{
    decode::raw::{self, ApiAnswer, RawUpdate},
    error::{self, Failure, codes},
    send::api::Fetched,
};

/// Stream whose cursor is the next offset.
pub(crate) const STREAM: &str = "updates";
/// Key of the connector state that holds the time of the last poll, from which the length of an
/// outage follows.
const POLLED: &str = "polled";
/// Pause between writes of that time.
const NOTE: Duration = Duration::from_secs(3600);
/// Most updates of one answer (Bot API, getUpdates.limit).
const LIMIT: u8 = 100;

/// Polls until stopped, or until a person has to act.
///
/// # Errors
/// `Retry::Never` failures that need a person, such as a rejected token or another program's
/// webhook, and failures to read the stored position. Everything else is retried here.
pub(crate) async fn run(intake: UpdateIntake, hold: Duration, detail: &str) -> Result<()> {
    let offset: Option<i64> =
        intake.gateway.cursor(STREAM).await?.and_then(|c| c.position.parse().ok());
    let polled = Polled::read(&intake).await?;
    let mut troubles = Troubles::new(detail);
    let stop = intake.stop.clone();
    let mut poll = Poll {
        intake,
        offset,
        polled,
        waiting: WaitingAlbum::default(),
        limit: LIMIT,
        repeats: 0,
        behind: true,
    };
    loop {
        poll.intake.chat_state.set_behind(poll.behind);
        // At the start and after a failure, poll without waiting, to learn at once whether updates
        // are pending.
        let hold = if poll.behind { Duration::ZERO } else { hold };
        let fetched = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            fetched = poll.intake.api.updates(poll.offset, poll.limit, hold) => fetched,
        };
        let reached = !matches!(fetched, Err(Failure::Transport(_)));
        let outcome = match fetched {
            Ok(Fetched::Answer(answer)) => poll.take(answer).await,
            Ok(Fetched::TooLong(beginning)) => poll.shorten(&beginning).await,
            Err(failure) => {
                poll.behind = true;
                if failure.refusal().is_some_and(|r| r.code == 409 && !r.webhook_active()) {
                    // Drop our connections, so that our poll does not stay open and conflict with
                    // the other program's.
                    poll.intake.api = poll.intake.api.reconnected()?;
                }
                Err(poll.intake.api.error(failure, "getUpdates"))
            }
        };
        poll.behind |= outcome.is_err();
        let pause = match outcome {
            Ok(wait) => {
                troubles.over(&poll.intake);
                wait
            }
            Err(error) if error.retry() == Retry::Never && is_final(&error) => return Err(error),
            Err(error) => Some(troubles.meet(&poll.intake, &error, reached)),
        };
        if let Some(pause) = pause {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                () = poll.intake.gateway.clock().sleep(pause) => {}
            }
        }
    }
}

/// State of the polling loop.
struct Poll {
    intake: UpdateIntake,
    /// The update number to request: the one after the last stored.
    offset: Option<i64>,
    polled: Polled,
    waiting: WaitingAlbum,
    /// Number of updates to request; fewer while answers are too long.
    limit: u8,
    /// Answers in a row with nothing but repeated updates; see [`gap::following`].
    repeats: u8,
    /// True if more updates may be pending at Telegram.
    behind: bool,
}

impl Poll {
    /// Stores the updates that can be stored now. Returns how long to wait before the next poll if
    /// an album may still grow.
    async fn take(&mut self, answer: ApiAnswer) -> Result<Option<Duration>> {
        let ApiAnswer { items, without_number } = answer;
        self.behind = items.len() + without_number >= usize::from(self.limit);
        self.limit = self.limit.saturating_mul(2).min(LIMIT);
        if items.is_empty() && without_number > 0 {
            return self.skip_nameless().await;
        }
        if items.is_empty() {
            self.polled.note(&self.intake).await?;
            return Ok(None);
        }
        let decoded = self.intake.decode(&items);
        let first = items.first().map(|item| {
            (item.id, decoded.first().and_then(|d| d.events.first()).map(|event| event.at))
        });
        let keys: Vec<_> =
            decoded.iter().map(|d| (d.album.clone(), d.seen.map(|(chat, _)| chat))).collect();
        let (ready, wait) = self.waiting.ready(&keys, self.intake.gateway.clock().now());
        let Some(last) = items.get(..ready).and_then(|r| r.last()) else { return Ok(wait) };
        // Not the largest number ever seen, because after a quiet week Telegram continues at a
        // random number.
        let next = gap::following(self.offset, last.id, &mut self.repeats);
        let prepared =
            self.intake.prepare(&items[..ready], decoded.into_iter().take(ready).collect());
        if let (Some(offset), Some((first, at))) = (self.offset, first)
            && let Some(gap) =
                gap::before(offset, first, self.polled.last, at, self.intake.gateway.clock().now())
        {
            // Record the gap before the offset moves past it.
            self.intake.gateway.note_gap(gap).await?;
        }
        self.intake.store(prepared, Some(position(next))).await?;
        self.offset = Some(next);
        self.polled.note(&self.intake).await?;
        Ok(wait)
    }

    /// Handles an answer that was too long: requests fewer updates next time, and skips a single
    /// update that is too long.
    async fn shorten(&mut self, beginning: &[u8]) -> Result<Option<Duration>> {
        self.behind = true;
        if self.limit > 1 {
            self.limit = (self.limit / 2).max(1);
            tracing::info!(
                limit = self.limit,
                "an answer from Telegram was too long; requesting fewer updates at once"
            );
            return Ok(None);
        }
        match raw::first_of(beginning) {
            Some(item) => self.skip(&item).await,
            None => self.skip_nameless().await,
        }
    }

    /// Skips an update that cannot be read, and records it as a gap.
    async fn skip(&mut self, item: &RawUpdate) -> Result<Option<Duration>> {
        let next = item.id.saturating_add(1);
        let prepared = self
            .intake
            .prepare(std::slice::from_ref(item), vec![crate::decode::Decoded::default()]);
        self.intake.store(prepared, Some(position(next))).await?;
        self.offset = Some(next);
        Ok(None)
    }

    /// Skips one update without a number by moving the offset up by one. The update's own number is
    /// the offset or higher.
    async fn skip_nameless(&mut self) -> Result<Option<Duration>> {
        self.behind = true;
        let Some(offset) = self.offset else {
            return Err(self.intake.api.placed(error::without_number()));
        };
        let now = self.intake.gateway.clock().now();
        let reason = format!("an update from number {offset} on could not be read and was skipped");
        self.intake.gateway.note_gap(Gap { count: Some(1), ..Gap::new(now, reason) }).await?;
        self.intake
            .gateway
            .receive(Batch { cursor: Some(position(offset.saturating_add(1))), ..Batch::default() })
            .await?;
        self.offset = Some(offset.saturating_add(1));
        // Return an error for a growing pause: the update's number is unknown, so this may repeat.
        Err(self.intake.api.placed(error::without_number()))
    }
}

fn position(next: i64) -> Cursor {
    Cursor { stream: STREAM.to_owned(), position: next.to_string() }
}

/// The stored time of the last poll.
struct Polled {
    last: Option<Timestamp>,
}

impl Polled {
    async fn read(intake: &UpdateIntake) -> Result<Self> {
        Ok(Self { last: StateKeeper::new(POLLED).restore(&intake.gateway).await?.map(Timestamp) })
    }

    /// Stores the current time, at most once an hour.
    async fn note(&mut self, intake: &UpdateIntake) -> Result<()> {
        let now = intake.gateway.clock().now();
        if self.last.is_some_and(|last| now.since(last) < NOTE) {
            return Ok(());
        }
        intake.gateway.save_state(POLLED, now.0.into()).await?;
        self.last = Some(now);
        Ok(())
    }
}

/// True if only a person can repair the error. A failure of the store is not final: Telegram keeps
/// the updates until the store works again.
fn is_final(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(codes::UNAUTHORIZED | codes::WEBHOOK | codes::FORBIDDEN | codes::INVALID)
    )
}
