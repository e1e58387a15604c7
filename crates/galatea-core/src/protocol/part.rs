//! A part on its way out: pending → sending → sent, ambiguous, expired or dead.

use std::time::Duration;

use super::retry::{self, Next};
use crate::{
    clock::Timestamp,
    error::Error,
    store::{OutboxItem, OutboxState},
};

/// Time for a late arrival to show before looking for it. Longer than a connector's HTTP timeout
/// would double every wait, so it is short, and looking again follows when it stays unknown.
pub const SETTLE_TIME: Duration = Duration::from_secs(2);

/// Choice of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// A part with an unknown outcome is sent again (`DELIVERY_WHEN_UNSURE=resend`); otherwise it
    /// is held back.
    pub resend_unsure: bool,
}

/// State of a part in the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Part {
    /// Attempts made so far; floods do not count.
    pub attempt: u32,
    /// Earliest time of the next attempt.
    pub not_before: Timestamp,
    /// Latest time of a new attempt; none for parts that never expire.
    pub expires: Option<Timestamp>,
    /// The store says `sending`.
    pub marked: bool,
    /// An attempt may have arrived: look before anything else.
    pub unknown: bool,
    /// The attempt of unknown outcome is not in `attempt` yet: a crash came before its end.
    pub interrupted: bool,
    /// A read-back was made and gave no answer.
    pub outcome_unknown: bool,
}

/// Event of a part in the protocol.
#[derive(Debug)]
pub enum DeliveryEvent<'a> {
    /// It is its turn, or the wait is over.
    Ready,
    /// The store says `sending`, durably.
    Marked,
    /// The platform took it.
    Sent,
    /// The platform was asked, and it failed. `jitter` is a random number in 0..1.
    Failed {
        /// The failure of the attempt.
        error: &'a Error,
        /// Random number from 0 to 1 that spreads retries (full jitter).
        jitter: f64,
    },
    /// Our own layers held it back; the platform never heard of it.
    Deferred(&'a Error),
    /// The read-back came to this.
    ReadBack(ReadBackOutcome),
}

/// Result of a read-back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBackOutcome {
    /// The platform has the message.
    Present,
    /// The platform does not have the message, and will not get it.
    Absent,
    /// The platform cannot say.
    Unclear,
}

/// Next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Wait until then, then say [`DeliveryEvent::Ready`].
    Wait(Timestamp),
    /// Look for it, once everything that went out before is stored: the read-back would take that
    /// for the lost one.
    Look,
    /// Store `sending` durably before the platform hears of it, or a crash would send it twice.
    StoreIntent,
    /// Make one attempt, then report [`DeliveryEvent::Sent`], `Failed` or `Deferred`.
    Send,
    /// Store this state with the failure, then wait until then.
    Again(OutboxState, Timestamp),
    /// Store how it ended.
    End(OutboxState, End),
}

/// Why a part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The platform confirmed it, or read-back found it.
    Delivered,
    /// The platform's answer, or our layer's, is final.
    Refused,
    /// Too old to send.
    TooOld,
    /// All attempts are used up.
    TooOften,
    /// It may have arrived, and the operator wants such parts held back.
    HeldBack,
}

impl Part {
    /// A fresh one, committed now.
    pub fn new(now: Timestamp, expires: Option<Timestamp>) -> Self {
        Self {
            attempt: 0,
            not_before: now,
            expires,
            marked: false,
            unknown: false,
            interrupted: false,
            outcome_unknown: false,
        }
    }

    /// A part read back from the store. A row that says `sending` has an unknown outcome, and its
    /// `not_before` is the time of that send.
    pub fn stored(item: &OutboxItem) -> Self {
        let sending = item.state == OutboxState::Sending;
        let not_before = if sending { item.not_before.plus(SETTLE_TIME) } else { item.not_before };
        Self {
            attempt: item.delivery.attempt,
            not_before,
            expires: item.expires,
            marked: sending,
            unknown: sending,
            // The failure of an attempt that ended is stored with the row.
            interrupted: sending && item.error.is_none(),
            outcome_unknown: item.outcome_unknown,
        }
    }

    /// The state by this clock: what was made in the future was made before the clock was set back
    /// (or by another machine's clock), so its times move by as much, and a send that was under way
    /// is at most as far ahead as the time for a late arrival.
    #[must_use]
    pub fn by(mut self, made: Timestamp, now: Timestamp) -> Self {
        let back = i64::try_from(made.since(now).as_millis()).unwrap_or(0);
        self.not_before.0 = self.not_before.0.saturating_sub(back);
        self.expires = self.expires.map(|at| Timestamp(at.0.saturating_sub(back)));
        if self.marked {
            self.not_before = self.not_before.min(now.plus(SETTLE_TIME));
        }
        self
    }

    /// The one transition: a part and an event become the next part and what to do.
    #[must_use]
    pub fn step(
        mut self,
        event: &DeliveryEvent<'_>,
        now: Timestamp,
        rules: Rules,
    ) -> (Self, Effect) {
        let effect = match event {
            DeliveryEvent::Ready => self.next(now),
            DeliveryEvent::Marked => {
                self.marked = true;
                self.next(now)
            }
            DeliveryEvent::Sent => {
                self.attempt += 1;
                Effect::End(OutboxState::Sent, End::Delivered)
            }
            DeliveryEvent::Failed { error, jitter } => {
                let attempt = self.attempt + 1;
                let next = retry::decide(error, attempt, now, self.expires, *jitter);
                if matches!(next, Next::Dead | Next::Again { counts: true, .. }) {
                    self.attempt = attempt;
                }
                self.after(next, now)
            }
            DeliveryEvent::Deferred(error) => {
                self.after(retry::held(error, now, self.expires), now)
            }
            DeliveryEvent::ReadBack(ReadBackOutcome::Present) => {
                self.attempt += u32::from(std::mem::take(&mut self.interrupted));
                Effect::End(OutboxState::Sent, End::Delivered)
            }
            DeliveryEvent::ReadBack(looked) => {
                self.not_found(*looked == ReadBackOutcome::Unclear, now, rules)
            }
        };
        (self, effect)
    }

    fn next(&self, now: Timestamp) -> Effect {
        if self.not_before > now {
            Effect::Wait(self.not_before)
        } else if self.unknown {
            Effect::Look
        } else if self.expires.is_some_and(|end| now > end) {
            self.end(OutboxState::Expired, End::TooOld)
        } else if self.marked {
            Effect::Send
        } else {
            Effect::StoreIntent
        }
    }

    fn not_found(&mut self, unclear: bool, now: Timestamp, rules: Rules) -> Effect {
        self.outcome_unknown = unclear;
        if unclear && !rules.resend_unsure {
            return Effect::End(OutboxState::Ambiguous, End::HeldBack);
        }
        (self.unknown, self.interrupted) = (false, false);
        // The intent is stored again, as the row tells a later crash when the last attempt was made: how long to
        // wait before looking.
        self.marked = false;
        if self.attempt >= retry::ATTEMPTS {
            self.end(OutboxState::Dead, End::TooOften)
        } else {
            self.next(now)
        }
    }

    fn after(&mut self, next: Next, now: Timestamp) -> Effect {
        match next {
            Next::Dead => self.end(OutboxState::Dead, End::Refused),
            Next::Expired => self.end(OutboxState::Expired, End::TooOld),
            Next::Again { delay, look, .. } => {
                // A crash meanwhile finds the row pending, or, when the outcome is unknown, still
                // sending.
                let state = if look { OutboxState::Sending } else { OutboxState::Pending };
                self.not_before = now.plus(if look { delay.max(SETTLE_TIME) } else { delay });
                (self.unknown, self.interrupted) = (look, false);
                self.marked = look;
                Effect::Again(state, self.not_before)
            }
        }
    }

    /// A part that may have arrived earlier is never called dead or expired.
    fn end(&self, state: OutboxState, why: End) -> Effect {
        Effect::End(if self.outcome_unknown { OutboxState::Ambiguous } else { state }, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, Retry, Sent};

    const RESEND: Rules = Rules { resend_unsure: true };
    const HOLD: Rules = Rules { resend_unsure: false };
    const NOW: Timestamp = Timestamp(1_000);

    fn marked() -> Part {
        Part { marked: true, ..Part::new(NOW, None) }
    }

    #[test]
    fn a_fresh_part_is_marked_then_sent_then_over() {
        let (part, effect) = Part::new(NOW, None).step(&DeliveryEvent::Ready, NOW, RESEND);
        assert_eq!(effect, Effect::StoreIntent);
        let (part, effect) = part.step(&DeliveryEvent::Marked, NOW, RESEND);
        assert_eq!(effect, Effect::Send);
        assert_eq!(
            part.step(&DeliveryEvent::Sent, NOW, RESEND).1,
            Effect::End(OutboxState::Sent, End::Delivered)
        );
    }

    #[test]
    fn an_unknown_outcome_is_looked_for_after_the_settle_time() {
        let lost = Error::new(ErrorKind::Unavailable, "x").with_sent(Sent::Maybe);
        let (part, effect) =
            marked().step(&DeliveryEvent::Failed { error: &lost, jitter: 0.0 }, NOW, RESEND);
        let then = NOW.plus(SETTLE_TIME);
        assert_eq!(effect, Effect::Again(OutboxState::Sending, then));
        assert_eq!(part.clone().step(&DeliveryEvent::Ready, NOW, RESEND).1, Effect::Wait(then));
        assert_eq!(part.clone().step(&DeliveryEvent::Ready, then, RESEND).1, Effect::Look);
        assert_eq!(
            part.clone().step(&DeliveryEvent::ReadBack(ReadBackOutcome::Present), then, RESEND).1,
            Effect::End(OutboxState::Sent, End::Delivered)
        );
        assert_eq!(
            part.clone().step(&DeliveryEvent::ReadBack(ReadBackOutcome::Absent), then, RESEND).1,
            Effect::StoreIntent
        );
        assert_eq!(
            part.clone().step(&DeliveryEvent::ReadBack(ReadBackOutcome::Unclear), then, HOLD).1,
            Effect::End(OutboxState::Ambiguous, End::HeldBack)
        );
        let (part, effect) =
            part.step(&DeliveryEvent::ReadBack(ReadBackOutcome::Unclear), then, RESEND);
        assert_eq!((effect, part.outcome_unknown), (Effect::StoreIntent, true));
        let refused = Error::invalid("x");
        assert_eq!(
            part.step(&DeliveryEvent::Failed { error: &refused, jitter: 0.0 }, then, RESEND).1,
            Effect::End(OutboxState::Ambiguous, End::Refused)
        );
    }

    #[test]
    fn a_clock_that_was_set_back_holds_nothing_up() {
        let hour = Duration::from_secs(3600);
        let flood = Part {
            not_before: NOW.plus(hour).plus(Duration::from_secs(40)),
            expires: Some(NOW.plus(hour).plus(hour)),
            ..Part::new(NOW, None)
        };
        let moved = flood.clone().by(NOW.plus(hour), NOW);
        assert_eq!(
            (moved.not_before, moved.expires),
            (NOW.plus(Duration::from_secs(40)), Some(NOW.plus(hour)))
        );
        assert_eq!(flood.clone().by(NOW, NOW), flood, "what was made before now stays");
        let sending = Part { not_before: NOW.plus(hour), ..marked() };
        assert_eq!(
            sending.by(Timestamp(0), NOW).not_before,
            NOW.plus(SETTLE_TIME),
            "no send is in the future"
        );
    }

    /// An attempt that read-back found counts, whether a crash or a lost answer ended it.
    #[test]
    fn what_is_found_counts_its_attempt() {
        let found = |part: Part| {
            let (part, effect) =
                part.step(&DeliveryEvent::ReadBack(ReadBackOutcome::Present), NOW, RESEND);
            assert_eq!(effect, Effect::End(OutboxState::Sent, End::Delivered));
            part.attempt
        };
        let crashed = |attempt| Part { unknown: true, interrupted: true, attempt, ..marked() };
        assert_eq!([found(crashed(0)), found(crashed(1))], [1, 2]);
        let lost = Error::new(ErrorKind::Unavailable, "x").with_sent(Sent::Maybe);
        let failed = DeliveryEvent::Failed { error: &lost, jitter: 0.0 };
        assert_eq!(found(marked().step(&failed, NOW, RESEND).0), 1);
        // The next attempt ends by itself, and counts then.
        let (again, _) =
            crashed(0).step(&DeliveryEvent::ReadBack(ReadBackOutcome::Absent), NOW, RESEND);
        let (again, _) = again.step(&DeliveryEvent::Marked, NOW, RESEND);
        assert_eq!(again.step(&DeliveryEvent::Sent, NOW, RESEND).0.attempt, 1);
    }

    #[test]
    fn a_flood_waits_as_pending_and_is_marked_again() {
        let flood = Error::new(ErrorKind::RateLimited, "x")
            .with_retry(Retry::After(Duration::from_secs(40)));
        let (part, effect) =
            marked().step(&DeliveryEvent::Failed { error: &flood, jitter: 0.5 }, NOW, RESEND);
        let then = NOW.plus(Duration::from_secs(40));
        assert_eq!((effect, part.attempt), (Effect::Again(OutboxState::Pending, then), 0));
        assert_eq!(part.step(&DeliveryEvent::Ready, then, RESEND).1, Effect::StoreIntent);
    }

    #[test]
    fn what_is_too_old_expires_but_is_looked_for_first() {
        let old = Part { expires: Some(NOW), ..marked() };
        let later = NOW.plus(Duration::from_secs(1));
        assert_eq!(
            old.clone().step(&DeliveryEvent::Ready, later, RESEND).1,
            Effect::End(OutboxState::Expired, End::TooOld)
        );
        assert_eq!(
            Part { unknown: true, ..old }.step(&DeliveryEvent::Ready, later, RESEND).1,
            Effect::Look
        );
    }
}
