//! Polls mentions. The cursor moves only after the mentions are stored. Each poll also asks for the
//! last minute again, since X lists some posts late and with lower ids.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use galatea_core::{Backoff, Batch, Cursor, Error, Gap, Incoming, Result, Retry};
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use super::{PostIntake, is_final, pace::Pace};
use crate::{
    decode::{
        decode,
        raw::{Includes, Post},
        snowflake::{earlier, first_at, made_at, number},
    },
    error::codes,
    send::{calls, summons},
};
use galatea_http::error::codes::TOO_BIG;

/// Name of the stream. Its cursor is the newest post seen (X calls it `since_id`).
pub(crate) const STREAM: &str = "mentions";
/// The period that each poll asks for again; the delay allowed for posts that X lists late.
const OVERLAP: Duration = Duration::from_secs(60);
/// The first poll of a new account reads this far back; older mentions stay unanswered.
const FIRST_LOOK: Duration = Duration::from_secs(10 * 60);
/// Most mentions that X lists, whatever `since_id` is (X API, "User mention timeline": the most
/// recent 800).
const REACH: usize = 800;
/// Most pages read in one poll, so that a server that always names a next page cannot block
/// polling.
const PAGES: usize = 32;
/// Longest pause after a failed poll.
const LONGEST: Duration = Duration::from_secs(120);
/// Shortest and longest pause after X refuses to let the account read. The pause starts at one
/// window of X's limits and doubles. The cause, such as a suspension or a changed plan, can end
/// without a notification.
const REFUSED: Duration = Duration::from_secs(15 * 60);
const LONG_REFUSED: Duration = Duration::from_secs(3600);
/// Most ids that the record of a gap lists; it states only the number of further ones.
const NAMED: usize = 10;

/// Polls until stopped, or until an error that only the owner can fix.
///
/// # Errors
/// Errors that only the owner can fix: refused keys, an app that is not enrolled. All other errors
/// are retried here.
pub(crate) async fn run(intake: PostIntake) -> Result<()> {
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
    /// Posts already stored in this run, which the overlap returns again.
    seen: BTreeSet<u64>,
}

impl Look {
    /// Reads and stores all new mentions once; returns their number.
    async fn once(&mut self, intake: &PostIntake) -> Result<usize> {
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
        let FetchedMentions { posts, includes, unreadable, cut } =
            self.fetch(intake, since).await?;
        // Record the gap before the cursor moves past it.
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
                "malformed mentions on X; they are skipped and recorded as a gap"
            );
            let named =
                unreadable.iter().take(NAMED).map(u64::to_string).collect::<Vec<_>>().join(", ");
            let reason =
                format!("{} mentions cannot be read and are skipped: {named}", unreadable.len());
            intake
                .gateway
                .note_gap(Gap {
                    from: Some(made_at(*first)),
                    to: Some(made_at(*last)),
                    ..Gap::new(begun, reason)
                })
                .await?;
        }
        // Store a cursor from the first poll on. Otherwise mentions that arrive while the process
        // is down, before the first stored one, would be lost.
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
        let cursor = Some(Cursor { stream: STREAM.to_owned(), position: newest.to_string() });
        let state = if events.is_empty() { Vec::new() } else { vec![intake.journal.summons()] };
        intake.gateway.receive(Batch { events, cursor, state }).await?;
        intake.api.budget.add(intake.config.prices.mention, posts.len());
        self.newest = Some(newest);
        self.seen.extend(posts.iter().map(|post| post.tweet.id.as_u64()).chain(unreadable));
        let kept = earlier(newest, OVERLAP);
        self.seen.retain(|id| *id >= kept);
        Ok(posts.len())
    }

    /// Reads every page of new mentions and returns them oldest first. Newer mentions must not be
    /// stored before older ones, so no page is stored before the last one is read.
    async fn fetch(&self, intake: &PostIntake, since: u64) -> Result<FetchedMentions> {
        let mut found = FetchedMentions::default();
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
                // A page with fewer posts may fit into the size limit.
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
        // Posts that only the overlap returned are not a gap.
        if listed >= REACH && !found.posts.is_empty() {
            found.cut = Some(format!(
                "X lists the last {REACH} mentions only, and more arrived between two polls"
            ));
        }
        found.posts.sort_by_key(|post| post.tweet.id.as_u64());
        found.posts.dedup_by_key(|post| post.tweet.id.as_u64());
        found.unreadable.sort_unstable();
        found.unreadable.dedup();
        Ok(found)
    }
}

/// The result of a poll.
#[derive(Default)]
struct FetchedMentions {
    /// Posts, oldest first.
    posts: Vec<Post>,
    includes: Includes,
    /// Ids of posts that cannot be read, oldest first.
    unreadable: Vec<u64>,
    /// Why older mentions are missing, if they are.
    cut: Option<String>,
}

fn take(intake: &PostIntake, post: &Post, includes: &Includes) -> Option<Incoming> {
    let id = post.tweet.id.as_u64();
    // A post that makes the decoder panic must not block later ones: every poll would return it
    // again.
    let incoming = catch_unwind(AssertUnwindSafe(|| decode(post, includes, &intake.me)))
        .unwrap_or_else(|_| {
            tracing::error!(post = id, "the decoder panicked on a post on X; the post is skipped");
            None
        })?;
    if post.tweet.author_id.is_some_and(|author| author.as_u64() != intake.me.id) {
        // Known before `receive` returns, because the answer may be sent before that.
        intake.journal.add_summons(id, summons(post, includes));
    }
    Some(incoming)
}

/// Consecutive failures and the backoff between them.
#[derive(Default)]
struct Failures {
    backoff: Option<ExponentialBackoff>,
    refused: u32,
    reported: Option<&'static str>,
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
                let pause = Backoff::pause_after(REFUSED, LONG_REFUSED, self.refused);
                self.refused = self.refused.saturating_add(1);
                pause
            }
            Retry::After(wait) => wait,
            _ => backoff.next().unwrap_or(LONGEST).min(LONGEST),
        };
        let code = error.code().unwrap_or("GAL-UNEXPECTED");
        // An exhausted budget and missing credits are logged where they are detected.
        let alerted = matches!(code, codes::BUDGET | codes::CREDITS);
        if self.reported != Some(code) && !alerted {
            self.reported = Some(code);
            tracing::warn!(code, error = %error.report(), seconds = pause.as_secs_f32(), "failed to read mentions on X; retrying after the pause");
        }
        pause
    }
}
