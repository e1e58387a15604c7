//! Schedules original posts. When one is due, the agent receives a request in the room of its own
//! feed, and answers it like any message: one turn, one verdict, the outbox. The request and the
//! time of the next post are stored in the same commit, so that a restart neither skips nor repeats
//! a post.

use galatea_core::{
    Addressed, Batch, ChannelType, Command, Connection, Content, Cursor, EntityRef, Incoming,
    IncomingEvent, IncomingMessage, RemoteId, Result, RoomRef, Timestamp, WorldRef,
};
use rand::RngExt;
use std::time::Duration;

use super::PostIntake;
use crate::{
    SCHEDULE,
    config::{Posting, Quiet},
    decode::{Me, request::REQUEST},
};

/// Name of the stream. Its cursor holds when the last post was requested and when the next one is
/// due.
pub(crate) const STREAM: &str = "posts";
/// Longest single sleep. The due time is checked again after it, since the clock may be set and the
/// machine may be suspended.
const NAP: Duration = Duration::from_secs(300);
const HOUR: i64 = 3600 * 1000;

const PROMPT: &str = "Write your next original post for your feed on X. One thought of your own that stands by itself, at most 280 characters, \
about something else and in other words than your recent posts here. Answer with the post alone.";

/// Times of the last requested post and of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PostPlan {
    last: Option<Timestamp>,
    due: Timestamp,
}

impl PostPlan {
    fn read(position: &str) -> Option<Self> {
        let (last, due) = position.split_once(':')?;
        Some(Self { last: last.parse().ok().map(Timestamp), due: Timestamp(due.parse().ok()?) })
    }

    fn write(self) -> String {
        format!("{}:{}", self.last.map_or_else(String::new, |at| at.0.to_string()), self.due.0)
    }

    /// The plan at the start of a run. `share` in 0..1 picks the time between `least` and `most`.
    fn at_start(stored: Option<Self>, posting: &Posting, now: Timestamp, share: f64) -> Self {
        let last = stored.and_then(|plan| plan.last);
        // A process that restarts repeatedly must not post at every start.
        let rested = last.is_none_or(|last| now.since(last) >= posting.least);
        let due = match stored {
            _ if posting.immediately && rested => now,
            // The settings may have been changed to post more often since this plan was stored.
            Some(plan) => plan.due.min(now.plus(posting.most)),
            None => now.plus(between(posting, share)),
        };
        Self { last, due: after_quiet(due, posting.quiet) }
    }

    /// The plan after a post was requested at `now`.
    fn after(now: Timestamp, posting: &Posting, share: f64) -> Self {
        Self { last: Some(now), due: after_quiet(now.plus(between(posting, share)), posting.quiet) }
    }
}

fn between(posting: &Posting, share: f64) -> Duration {
    posting.least + posting.most.saturating_sub(posting.least).mul_f64(share.clamp(0.0, 1.0))
}

/// `at`, or the end of the quiet hours that contain it.
fn after_quiet(at: Timestamp, quiet: Option<Quiet>) -> Timestamp {
    let Some(quiet) = quiet else { return at };
    let (hour, from, to) =
        (at.0.div_euclid(HOUR).rem_euclid(24), i64::from(quiet.from), i64::from(quiet.to));
    // Hours since the start of the quiet hours, which may span midnight.
    let (passed, length) = ((hour - from).rem_euclid(24), (to - from).rem_euclid(24));
    if passed >= length {
        return at;
    }
    Timestamp((at.0.div_euclid(HOUR) + length - passed) * HOUR)
}

/// Requests posts until stopped.
///
/// # Errors
/// Errors of the store; the connector is restarted then.
pub(crate) async fn run(intake: PostIntake) -> Result<()> {
    let Some(posting) = intake.config.posting else {
        intake.stop.cancelled().await;
        return Ok(());
    };
    let stored = intake.gateway.cursor(STREAM).await?.and_then(|c| PostPlan::read(&c.position));
    let mut plan = PostPlan::at_start(stored, &posting, intake.gateway.clock().now(), share());
    if stored != Some(plan) {
        intake.gateway.receive(Batch { cursor: Some(cursor(plan)), ..Batch::default() }).await?;
    }
    loop {
        let now = intake.gateway.clock().now();
        let due = after_quiet(plan.due.max(now), posting.quiet);
        if due > now {
            if intake.stopped_within(due.since(now).min(NAP)).await {
                return Ok(());
            }
            continue;
        }
        // A post that cannot be sent would waste the cost of the model call.
        let held = intake.api.budget.exhausted().or_else(|| intake.api.latched());
        if let Some(error) = held.filter(|_| !intake.config.dry_run) {
            tracing::info!(
                code = error.code(),
                "an original post is due on X and cannot be sent now; checking again in 300 s"
            );
            if intake.stopped_within(NAP).await {
                return Ok(());
            }
            continue;
        }
        let next = PostPlan::after(now, &posting, share());
        intake
            .gateway
            .receive(Batch {
                events: vec![request(&intake.me, plan.due, now)],
                cursor: Some(cursor(next)),
                ..Batch::default()
            })
            .await?;
        plan = next;
    }
}

fn share() -> f64 {
    rand::rng().random::<f64>()
}

fn cursor(plan: PostPlan) -> Cursor {
    Cursor { stream: STREAM.to_owned(), position: plan.write() }
}

/// The request for a post: a command from the schedule's Entity in the agent's own feed.
fn request(me: &Me, due: Timestamp, now: Timestamp) -> Incoming {
    let name = format!("@{}", me.user_name);
    let mut clock = EntityRef::new(
        RemoteId(format!("{}-schedule", me.id)),
        Some("Schedule".to_owned()),
        Some(SCHEDULE.to_owned()),
    );
    clock.metadata.insert("schedule".into(), serde_json::Value::Bool(true));
    Incoming {
        connection: Connection {
            world: WorldRef::new(RemoteId::new(me.id), Some(format!("{name} on X"))),
            room: RoomRef::new(me.home(), Some(format!("Posts of {name}")), ChannelType::Feed),
            entity: Some(clock),
        },
        event: IncomingEvent::Message(IncomingMessage {
            // The id is made from the due time, so that a repeated request is a duplicate.
            id: RemoteId(format!("{REQUEST}{}-{}", me.id, due.0)),
            legacy_id: None,
            content: Content {
                source: Some(crate::SOURCE_NAME.to_owned()),
                ..Content::text(PROMPT)
            },
            addressed: Addressed::default(),
            reply_to: None,
            command: Some(Command { name: "ask".to_owned(), args: PROMPT.to_owned() }),
            from_self: false,
        }),
        at: now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn posting(immediately: bool) -> Posting {
        Posting { least: 90 * MINUTE, most: 150 * MINUTE, immediately, quiet: None }
    }

    #[test]
    fn plans_survive_being_stored() {
        for plan in [
            PostPlan { last: None, due: Timestamp(7) },
            PostPlan { last: Some(Timestamp(3)), due: Timestamp(9) },
        ] {
            assert_eq!(PostPlan::read(&plan.write()), Some(plan));
        }
        assert!(PostPlan::read("x").is_none() && PostPlan::read("1:x").is_none());
    }

    #[test]
    fn a_start_keeps_what_was_planned_and_does_not_post_each_time() {
        let now = Timestamp(1_000_000_000);
        let stored = PostPlan { last: Some(Timestamp(now.0 - 60_000)), due: now.plus(MINUTE) };
        assert_eq!(
            PostPlan::at_start(Some(stored), &posting(true), now, 0.5),
            stored,
            "posted a minute ago"
        );
        assert_eq!(PostPlan::at_start(None, &posting(true), now, 0.5).due, now);
        assert_eq!(PostPlan::at_start(None, &posting(false), now, 0.5).due, now.plus(120 * MINUTE));
        let far = PostPlan { last: None, due: now.plus(9000 * MINUTE) };
        assert_eq!(
            PostPlan::at_start(Some(far), &posting(false), now, 0.5).due,
            now.plus(150 * MINUTE),
            "the interval became shorter"
        );
    }

    #[test]
    fn quiet_hours_are_waited_for() {
        let at =
            |hour: i64, minute: i64| Timestamp(20_000 * 24 * HOUR + hour * HOUR + minute * 60_000);
        let night = Some(Quiet { from: 22, to: 7 });
        assert_eq!(after_quiet(at(23, 30), night), at(31, 0));
        assert_eq!(after_quiet(at(3, 0), night), at(7, 0));
        assert_eq!(after_quiet(at(7, 0), night), at(7, 0));
        assert_eq!(after_quiet(at(21, 59), night), at(21, 59));
        assert_eq!(after_quiet(at(12, 30), Some(Quiet { from: 12, to: 14 })), at(14, 0));
    }

    #[test]
    fn the_request_is_answered_in_elizaos_feed_room() {
        let incoming = request(&Me { id: 7, user_name: "ann".into() }, Timestamp(5), Timestamp(6));
        assert_eq!(
            (incoming.connection.world.remote.as_str(), incoming.connection.room.remote.as_str()),
            ("7", "7-home")
        );
    }

    proptest! {
        #[test]
        fn nothing_is_ever_planned_into_quiet_hours(at in 0_i64..4_000_000_000_000, from in 0_u8..24, to in 0_u8..24, share in 0.0_f64..1.0) {
            prop_assume!(from != to);
            let quiet = Quiet { from, to };
            let posting = Posting { quiet: Some(quiet), ..posting(true) };
            for plan in [PostPlan::after(Timestamp(at), &posting, share), PostPlan::at_start(None, &posting, Timestamp(at), share)] {
                prop_assert_eq!(after_quiet(plan.due, Some(quiet)), plan.due);
                prop_assert!(plan.due >= Timestamp(at));
            }
        }
    }
}
