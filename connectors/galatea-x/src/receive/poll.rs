//! Polling mentions: ask, store, and only then move on. The last minute is always asked for again,
//! since X lists some posts late and with lower ids.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use galatea_core::{Batch, Cursor, Error, Gap, Incoming, Result, Retry};
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use super::{Intake, is_final, pace::Pace};
use crate::{
    decode::{
        decode, number,
        raw::{Includes, Post},
        snowflake::{earlier, first_at, made_at},
    },
    error::codes,
    send::{calls, heard},
};
use galatea_http::error::codes::TOO_BIG;

/// Name of the stream whose cursor is the newest post seen (X calls it `since_id`).
pub(crate) const STREAM: &str = "mentions";
/// What is asked for again: posts are listed up to this late.
const OVERLAP: Duration = Duration::from_secs(60);
/// At the very first start, what was said before that is not answered.
const FIRST_LOOK: Duration = Duration::from_secs(10 * 60);
/// Mentions that X lists, whatever `since_id` says (X API, "User mention timeline": the most recent
/// 800).
const REACH: usize = 800;
/// Most pages of one look. A server that goes on for ever must not keep us.
const PAGES: usize = 32;
/// Longest pause after failures.
const LONGEST: Duration = Duration::from_secs(120);
/// First and longest pause after X did not let us read: one window of its limits, doubled. What
/// stands behind it, such as a suspension or a changed plan, ends without anybody here being told.
const REFUSED: Duration = Duration::from_secs(15 * 60);
const LONG_REFUSED: Duration = Duration::from_secs(3600);
/// Ids that a gap names; of more the number is told.
const NAMED: usize = 10;

/// Polls until stopped, or until a person has to act.
///
/// # Errors
/// Failures only a person can repair: refused keys, an app that is not enrolled. Everything else is
/// tried again in here.
pub(crate) async fn run(intake: Intake) -> Result<()> {
    if !intake.config.replies {
        intake.going();
        intake.stop.cancelled().await;
        return Ok(());
    }
    let mut look = Look {
        newest: intake.gateway.cursor(STREAM).await?.and_then(|c| number(&c.position)),
        seen: BTreeSet::new(),
    };
    let mut pace = Pace::new(intake.config.poll);
    let mut failures = Failures::default();
    loop {
        let Some(found) = intake.stop.run_until_cancelled(look.once(&intake)).await else {
            return Ok(());
        };
        let pause = match found {
            Ok(found) => {
                failures = Failures::default();
                intake.going();
                pace.after(found)
            }
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => {
                let pause = failures.pause(&error, intake.config.poll.fastest);
                intake.trouble(&error, pause);
                pause
            }
        };
        if intake.stopped_within(pause).await {
            return Ok(());
        }
    }
}

struct Look {
    newest: Option<u64>,
    /// Posts stored in this run that the overlap brings again.
    seen: BTreeSet<u64>,
}

impl Look {
    /// One look at all that is new; how much that was.
    async fn once(&mut self, intake: &Intake) -> Result<usize> {
        if let Some(error) = intake.api.budget.exhausted() {
            return Err(error);
        }
        let begun = intake.gateway.clock().now();
        let since = match self.newest {
            Some(newest) => earlier(newest, OVERLAP),
            None => first_at(galatea_core::Timestamp(
                begun.0.saturating_sub(i64::try_from(FIRST_LOOK.as_millis()).unwrap_or_default()),
            )),
        };
        let Found { posts, includes, unreadable, cut } = self.fetch(intake, since).await?;
        // Before the cursor moves past them.
        if let (Some(reason), Some(newest)) = (&cut, self.newest) {
            let to = posts.first().map_or(begun, |oldest| made_at(oldest.tweet.id.as_u64()));
            intake
                .gateway
                .note_gap(Gap {
                    from: Some(made_at(newest)),
                    to: Some(to),
                    ..Gap::new(begun, reason.clone())
                })
                .await?;
        }
        if let (Some(first), Some(last)) = (unreadable.first(), unreadable.last()) {
            tracing::warn!(
                count = unreadable.len(),
                first,
                last,
                "mentions on X cannot be read and are passed over"
            );
            let named =
                unreadable.iter().take(NAMED).map(u64::to_string).collect::<Vec<_>>().join(", ");
            let reason = format!(
                "{} mentions cannot be read and are passed over: {named}",
                unreadable.len()
            );
            intake
                .gateway
                .note_gap(Gap {
                    from: Some(made_at(*first)),
                    to: Some(made_at(*last)),
                    ..Gap::new(begun, reason)
                })
                .await?;
        }
        // A cursor from the first look on, or what is said while we are away before the first
        // mention would be lost.
        let listed =
            posts.last().map(|post| post.tweet.id.as_u64()).max(unreadable.last().copied());
        let unlisted = cut.is_some().then(|| first_at(begun));
        let newest = listed
            .max(self.newest)
            .max(unlisted.filter(|_| listed.is_none()))
            .unwrap_or_else(|| first_at(begun));
        if listed.is_none() && cut.is_none() && self.newest.is_some() {
            return Ok(0);
        }
        let events =
            posts.iter().filter_map(|post| take(intake, post, &includes)).collect::<Vec<_>>();
        let cursor = Cursor { stream: STREAM.to_owned(), position: newest.to_string() };
        intake.gateway.receive(Batch { events, cursor: Some(cursor), ..Batch::default() }).await?;
        intake.api.budget.add(intake.config.prices.mention, posts.len());
        self.newest = Some(newest);
        self.seen.extend(posts.iter().map(|post| post.tweet.id.as_u64()).chain(unreadable));
        let kept = earlier(newest, OVERLAP);
        self.seen.retain(|id| *id >= kept);
        Ok(posts.len())
    }

    /// Everything new, oldest first, to the last page: newer ones may not be stored before older
    /// ones.
    async fn fetch(&self, intake: &Intake, since: u64) -> Result<Found> {
        let mut found = Found::default();
        let (mut token, mut listed, mut most) = (None::<String>, 0, 0);
        for turned in 0.. {
            let page = match calls::mentions(
                &intake.api,
                intake.me.id,
                since,
                token.as_deref(),
                calls::PAGE[most],
            )
            .await
            {
                // Fewer at once may fit.
                Err(error) if error.code() == Some(TOO_BIG) && most + 1 < calls::PAGE.len() => {
                    most += 1;
                    continue;
                }
                Err(error) if error.code() == Some(TOO_BIG) => {
                    found.cut = Some(
                        "X answered more than can be read at once, also for a few mentions"
                            .to_owned(),
                    );
                    break;
                }
                page => page?,
            };
            listed += page.posts.len() + page.unreadable.len();
            found.posts.extend(
                page.posts.into_iter().filter(|post| !self.seen.contains(&post.tweet.id.as_u64())),
            );
            found
                .unreadable
                .extend(page.unreadable.into_iter().flatten().filter(|id| !self.seen.contains(id)));
            found.includes.extend(page.includes);
            token = page.next;
            if token.is_none() {
                break;
            }
            if turned + 1 >= PAGES {
                listed = REACH;
                break;
            }
        }
        // What the overlap brings again is no news.
        if listed >= REACH && !found.posts.is_empty() {
            found.cut = Some(format!(
                "X lists the last {REACH} mentions only, and there were more while nobody looked"
            ));
        }
        found.posts.sort_by_key(|post| post.tweet.id.as_u64());
        found.posts.dedup_by_key(|post| post.tweet.id.as_u64());
        found.unreadable.sort_unstable();
        found.unreadable.dedup();
        Ok(found)
    }
}

/// What a look found.
#[derive(Default)]
struct Found {
    /// Oldest first.
    posts: Vec<Post>,
    includes: Includes,
    /// Ids of posts that cannot be read, oldest first.
    unreadable: Vec<u64>,
    /// Why what is older than these was not read.
    cut: Option<String>,
}

fn take(intake: &Intake, post: &Post, includes: &Includes) -> Option<Incoming> {
    let id = post.tweet.id.as_u64();
    // A post that makes the decoder panic must not stop all that follow: it would come again and
    // again.
    let incoming = catch_unwind(AssertUnwindSafe(|| decode(post, includes, &intake.me)))
        .unwrap_or_else(|_| {
            tracing::error!(post = id, "a post on X could not be decoded and is passed over");
            None
        })?;
    if post.tweet.author_id.is_some_and(|author| author.as_u64() != intake.me.id) {
        // Noted first: the answer may be on its way before `receive` returns.
        intake.journal.hear(id, &heard(post, includes));
    }
    Some(incoming)
}

/// Failures in a row, with growing waits.
#[derive(Default)]
struct Failures {
    backoff: Option<ExponentialBackoff>,
    refused: u32,
    told: Option<&'static str>,
}

impl Failures {
    fn pause(&mut self, error: &Error, first: Duration) -> Duration {
        let backoff = self.backoff.get_or_insert_with(|| {
            ExponentialBuilder::default()
                .with_min_delay(first.min(LONGEST))
                .with_max_delay(LONGEST)
                .with_jitter()
                .without_max_times()
                .build()
        });
        let pause = match error.retry() {
            _ if error.code() == Some(codes::FORBIDDEN) && error.retry() == Retry::Never => {
                self.refused += 1;
                (REFUSED * (1 << (self.refused - 1).min(2))).min(LONG_REFUSED)
            }
            Retry::After(wait) => wait,
            _ => backoff.next().unwrap_or(LONGEST).min(LONGEST),
        };
        let code = error.code().unwrap_or("GAL-UNEXPECTED");
        // Money that is spent was told where it ran out.
        let alerted = matches!(code, codes::BUDGET | codes::CREDITS);
        if self.told != Some(code) && !alerted {
            self.told = Some(code);
            tracing::warn!(code, error = %error.report(), seconds = pause.as_secs_f32(), "reading mentions on X is interrupted and tried again");
        }
        pause
    }
}
