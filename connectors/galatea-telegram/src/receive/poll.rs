//! Long polling: ask, store, and only then ask for what comes after.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use galatea_core::{Batch, Cursor, Error, Health, Result, Retry, Timestamp};
use std::time::Duration;
use teloxide::payloads::{GetUpdates, GetUpdatesSetters};

use super::{ALLOWED, Intake, album::Waiting, gap};
use crate::error::{CONFLICT_WAIT, codes};

/// Name of the stream whose cursor is the next offset.
pub(crate) const STREAM: &str = "updates";
/// Name of the stream that tells when Telegram was last asked, which tells how long we were away.
const POLLED: &str = "polled";
/// How often that is noted.
const NOTE: Duration = Duration::from_secs(3600);
/// Most updates of one answer (Bot API, getUpdates.limit).
const LIMIT: u8 = 100;

/// Polls until stopped, or until a person has to act.
///
/// # Errors
/// `Retry::Never` failures: a refused token, a webhook in the way. Everything else is retried in here.
pub(crate) async fn run(mut intake: Intake, hold: Duration, detail: &str) -> Result<()> {
    let mut offset: Option<i64> = intake.gateway.cursor(STREAM).await?.and_then(|c| c.position.parse().ok());
    let mut polled = Polled::read(&intake).await?;
    let mut waiting = Waiting::default();
    let mut troubles = Troubles::new(detail);
    let stop = intake.stop.clone();
    let mut behind = true;
    loop {
        intake.book.set_behind(behind);
        // At the beginning and after a failure an answer is wanted at once, to know whether anything waits.
        let hold = if behind { Duration::ZERO } else { hold };
        let mut request = GetUpdates::new().limit(LIMIT).timeout(u32::try_from(hold.as_secs()).unwrap_or(0)).allowed_updates(ALLOWED);
        if let Some(offset) = offset {
            request = request.offset(i32::try_from(offset).unwrap_or(i32::MAX));
        }
        let fetched = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            fetched = intake.api.updates(&request, hold) => fetched,
        };
        let all = fetched.as_ref().is_ok_and(|items| items.len() < usize::from(LIMIT));
        let outcome = match fetched {
            Ok(items) if items.is_empty() => polled.note(&intake).await.map(|()| None),
            Ok(items) => {
                let decoded = intake.decode(&items);
                let first = items.first().map(|item| (item.id, decoded.first().and_then(|d| d.events.first()).map(|event| event.at)));
                let keys: Vec<_> = decoded.iter().map(|d| (d.album.clone(), d.seen.map(|(chat, _)| chat))).collect();
                let (ready, wait) = waiting.ready(&keys, intake.gateway.clock().now());
                match items.get(..ready).and_then(|r| r.last()) {
                    // The number after the last one of this answer, not the largest ever seen: after a quiet week Telegram goes on at random.
                    Some(last) => {
                        let next = last.id.saturating_add(1);
                        let cursor = Cursor { stream: STREAM.to_owned(), position: next.to_string() };
                        let prepared = intake.prepare(&items[..ready], decoded.into_iter().take(ready).collect());
                        let stored = async {
                            if let (Some(offset), Some((first, at))) = (offset, first)
                                && let Some(gap) = gap::before(offset, first, polled.last, at, intake.gateway.clock().now())
                            {
                                // Before the offset moves past it.
                                intake.gateway.note_gap(gap).await?;
                            }
                            intake.store(prepared, Some(cursor)).await?;
                            offset = Some(next);
                            polled.note(&intake).await?;
                            Ok(wait)
                        };
                        stored.await
                    }
                    None => Ok(wait),
                }
            }
            Err(failure) => {
                if failure.refusal().is_some_and(|r| r.code == 409 && !r.webhook_active()) {
                    // Whoever holds the other poll must not find ours still open.
                    intake.api = intake.api.reconnected()?;
                }
                Err(intake.api.error(failure, "getUpdates"))
            }
        };
        behind = !(all && outcome.is_ok());
        let pause = match outcome {
            Ok(wait) => {
                troubles.over(&intake);
                wait
            }
            Err(error) if error.retry() == Retry::Never && is_final(&error) => return Err(error),
            Err(error) => Some(troubles.meet(&intake, &error)),
        };
        if let Some(pause) = pause {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                () = intake.gateway.clock().sleep(pause) => {}
            }
        }
    }
}

/// When Telegram was last asked, as it is stored.
struct Polled {
    last: Option<Timestamp>,
}

impl Polled {
    async fn read(intake: &Intake) -> Result<Self> {
        let stored = intake.gateway.cursor(POLLED).await?;
        Ok(Self { last: stored.and_then(|c| c.position.parse().ok()).map(Timestamp) })
    }

    /// Notes it, once an hour.
    async fn note(&mut self, intake: &Intake) -> Result<()> {
        let now = intake.gateway.clock().now();
        if self.last.is_some_and(|last| now.since(last) < NOTE) {
            return Ok(());
        }
        let cursor = Cursor { stream: POLLED.to_owned(), position: now.0.to_string() };
        intake.gateway.receive(Batch { events: Vec::new(), cursor: Some(cursor) }).await?;
        self.last = Some(now);
        Ok(())
    }
}

/// Only a person can repair it. A store that refuses a batch is not among these: the updates stay with Telegram until it works.
fn is_final(error: &Error) -> bool {
    matches!(error.code(), Some(codes::UNAUTHORIZED | codes::WEBHOOK | codes::FORBIDDEN | codes::INVALID))
}

/// Failures in a row: told once each kind, with growing waits.
struct Troubles<'a> {
    detail: &'a str,
    backoff: Option<ExponentialBackoff>,
    told: Option<&'static str>,
}

impl<'a> Troubles<'a> {
    fn new(detail: &'a str) -> Self {
        Self { detail, backoff: None, told: None }
    }

    /// 1 to 30 s, doubled each time, with jitter.
    fn next(&mut self) -> Duration {
        let backoff = self.backoff.get_or_insert_with(|| {
            ExponentialBuilder::default()
                .with_min_delay(Duration::from_secs(1))
                .with_max_delay(Duration::from_secs(15))
                .with_jitter()
                .without_max_times()
                .build()
        });
        backoff.next().unwrap_or(Duration::from_secs(30)).min(Duration::from_secs(30))
    }

    fn meet(&mut self, intake: &Intake, error: &Error) -> Duration {
        let pause = match (error.code(), error.retry()) {
            (Some(codes::CONFLICT), _) => CONFLICT_WAIT,
            (_, Retry::After(wait)) => wait,
            _ => self.next(),
        };
        let code = error.code().unwrap_or("GAL-UNEXPECTED");
        if self.told != Some(code) {
            self.told = Some(code);
            tracing::debug!(code, error = %error.report(), seconds = pause.as_secs_f32(), "receiving from Telegram is interrupted and tried again");
            intake
                .gateway
                .report(Health::Retrying { reason: format!("{error}; next try in {} s", pause.as_secs().max(1)), code: error.code().map(str::to_owned) });
        }
        pause
    }

    fn over(&mut self, intake: &Intake) {
        self.backoff = None;
        if self.told.take().is_some() {
            tracing::debug!("receiving from Telegram again");
            intake.gateway.report(Health::Up { detail: self.detail.to_owned() });
        }
    }
}
