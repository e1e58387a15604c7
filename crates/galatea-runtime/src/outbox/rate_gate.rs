//! Admits every call of an account, or returns how long the caller has to wait. It never waits
//! itself.
//!
//! Server-imposed waits apply to the Room, World or account they were issued for, and to the kind of
//! call they were issued for. Pauses bind downwards: while answers wait, nothing of less weight goes
//! out, but never the other way round, so a reaction or typing cannot delay an answer. Changes and
//! typing also have small limits of their own, so that they cannot use up a platform's allowance.

use galatea_core::{
    Deadline, Error, ErrorKind, Priority, Reach, Result, Retry, RoomId, Timestamp, WorldId,
};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::{
    hash::Hash,
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::recent::Recent;

/// Telegram's flood waits have grown to hours in reports; a day bounds what we keep.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// A call of less weight goes out this much later than the waiting calls of more weight.
const HEAD_START: Duration = Duration::from_secs(1);
/// A second's share of changes and of typing. The whole allowance is 50 a second on Discord
/// ("Global Rate Limit") and about 30 on Telegram (Bots FAQ, "My bot is hitting limits"), which
/// leaves most of it to answers.
const CHANGES: NonZeroU32 = NonZeroU32::new(5).unwrap();
const TYPING: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Shorter pauses are not stored: they end before a restart does.
const WORTH_KEEPING: Duration = Duration::from_secs(5);

/// Until when calls of each kind wait, by weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pauses {
    answers: Deadline,
    callbacks: Deadline,
    changes: Deadline,
    typing: Deadline,
}

impl Pauses {
    fn of(&mut self, priority: Priority) -> &mut Deadline {
        match priority {
            Priority::Answer => &mut self.answers,
            Priority::Callback => &mut self.callbacks,
            Priority::Change => &mut self.changes,
            Priority::Typing => &mut self.typing,
        }
    }

    fn extend(&mut self, priority: Priority, until: Deadline, now: Timestamp) {
        let own = self.of(priority);
        *own = if own.left(now).is_some() { until.later(*own) } else { until };
    }

    /// Time at which a call of this weight may go out: after its own pause, and a while after those
    /// of more weight.
    fn until(self, priority: Priority, now: Timestamp) -> Timestamp {
        let all = [
            (Priority::Answer, self.answers),
            (Priority::Callback, self.callbacks),
            (Priority::Change, self.changes),
            (Priority::Typing, self.typing),
        ];
        let binding = all
            .into_iter()
            .filter(|(weight, _)| *weight <= priority)
            .filter_map(|(weight, pause)| Some((weight, now.plus(pause.left(now)?))));
        binding
            .map(|(weight, until)| if weight == priority { until } else { until.plus(HEAD_START) })
            .max()
            .unwrap_or(now)
    }
}

/// Target of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTarget {
    pub(crate) room: RoomId,
    /// Its World; none when it is unknown, or when no World has to wait.
    pub(crate) world: Option<WorldId>,
}

/// Most Rooms, and most Worlds, whose pauses are kept.
const CAPACITY: usize = 16_384;

/// The gate of one account.
pub(crate) struct RateGate {
    rooms: Recent<RoomId, Pauses>,
    worlds: Recent<WorldId, Pauses>,
    /// The end of the longest pause of a World.
    worlds_wait: Mutex<Deadline>,
    account: Mutex<Pauses>,
    /// The end of the longest pause of answers, wherever.
    answers_wait: Mutex<Deadline>,
    /// The account's pause is newer than what is stored of it.
    unkept: AtomicBool,
    changes: DefaultDirectRateLimiter,
    typing: DefaultDirectRateLimiter,
}

impl Default for RateGate {
    fn default() -> Self {
        Self {
            rooms: kept(),
            worlds: kept(),
            worlds_wait: Mutex::default(),
            account: Mutex::default(),
            answers_wait: Mutex::default(),
            unkept: AtomicBool::new(false),
            changes: RateLimiter::direct(Quota::per_second(CHANGES)),
            typing: RateLimiter::direct(Quota::per_second(TYPING)),
        }
    }
}

fn kept<K: Hash + Eq>() -> Recent<K, Pauses> {
    Recent::new(CAPACITY).for_at_most(LONGEST)
}

/// Adds a pause to those of a Room or World.
fn extend<K: Hash + Eq>(
    pauses: &Recent<K, Pauses>,
    key: K,
    priority: Priority,
    until: Deadline,
    now: Timestamp,
) {
    let mut own = pauses.get(&key).unwrap_or_default();
    own.extend(priority, until, now);
    pauses.insert(key, own);
}

impl RateGate {
    /// Lets a call through or says how long it has to wait.
    pub(crate) fn admit(
        &self,
        place: CallTarget,
        priority: Priority,
        now: Timestamp,
    ) -> Result<()> {
        let account = self.lock().until(priority, now);
        // A press or a command is answered by a way of its own, which a busy Room or World does not
        // block.
        let until = if priority == Priority::Callback {
            account
        } else {
            let room = self.rooms.get(&place.room);
            let world = place.world.and_then(|world| self.worlds.get(&world));
            [room, world]
                .into_iter()
                .flatten()
                .map(|pauses| pauses.until(priority, now))
                .fold(account, Timestamp::max)
        };
        if until > now {
            return Err(wait("the platform asked to wait", until.since(now)));
        }
        let share = match priority {
            Priority::Answer | Priority::Callback => return Ok(()),
            Priority::Change => &self.changes,
            Priority::Typing => &self.typing,
        };
        share.check().map_err(|_| wait("others go first", HEAD_START))
    }

    /// True if a World has to wait: only then a call's World matters.
    pub(crate) fn is_world_waiting(&self, now: Timestamp) -> bool {
        self.worlds_wait.lock().left(now).is_some()
    }

    /// Remembers what the platform said. A limit of an unknown World binds the Room.
    pub(crate) fn learn<T>(
        &self,
        place: CallTarget,
        priority: Priority,
        outcome: &Result<T>,
        now: Timestamp,
    ) {
        let Err(error) = outcome else { return };
        let Retry::After(delay) = error.retry() else { return };
        if error.kind() != ErrorKind::RateLimited {
            return;
        }
        let delay = delay.min(LONGEST);
        let until = Deadline::after(now, delay);
        if priority == Priority::Answer {
            self.lengthen(until, now);
        }
        match (error.reach(), place.world) {
            (Reach::Account, _) => {
                self.lock().extend(priority, until, now);
                if delay >= WORTH_KEEPING {
                    self.unkept.store(true, Ordering::Release);
                }
            }
            (Reach::World, Some(world)) => {
                // Held meanwhile: Rooms of a World learn side by side.
                let mut longest = self.worlds_wait.lock();
                extend(&self.worlds, world, priority, until, now);
                *longest = if longest.left(now).is_some() { until.later(*longest) } else { until };
            }
            (Reach::Room | Reach::World, _) => {
                extend(&self.rooms, place.room, priority, until, now);
            }
        }
    }

    /// Remaining wait of some answers; none when none has to.
    pub(crate) fn longest_wait(&self, now: Timestamp) -> Option<Duration> {
        self.answers_wait.lock().left(now)
    }

    fn lengthen(&self, until: Deadline, now: Timestamp) {
        let mut longest = self.answers_wait.lock();
        *longest = if longest.left(now).is_some() { until.later(*longest) } else { until };
    }

    /// The account's pauses, if they are worth storing and not stored yet; with the time when the
    /// last of them is over.
    pub(crate) fn to_keep(&self) -> Option<(Pauses, Timestamp)> {
        self.unkept.swap(false, Ordering::AcqRel).then(|| {
            let pauses = *self.lock();
            let last = [pauses.answers, pauses.callbacks, pauses.changes, pauses.typing]
                .into_iter()
                .map(|pause| pause.end())
                .max()
                .unwrap_or_default();
            (pauses, last)
        })
    }

    /// Restores the pauses of an earlier run.
    pub(crate) fn restore(&self, kept: Pauses, now: Timestamp) {
        self.lengthen(kept.answers, now);
        let mut own = self.lock();
        for (priority, until) in [
            (Priority::Answer, kept.answers),
            (Priority::Callback, kept.callbacks),
            (Priority::Change, kept.changes),
            (Priority::Typing, kept.typing),
        ] {
            own.extend(priority, until, now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pauses> {
        self.account.lock()
    }
}

fn wait(why: &'static str, delay: Duration) -> Error {
    Error::new(ErrorKind::RateLimited, why).with_retry(Retry::After(delay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const ALL: [Priority; 4] =
        [Priority::Answer, Priority::Callback, Priority::Change, Priority::Typing];

    /// A Room in a World of ten: Rooms 10 to 19 are in the first one.
    fn room(n: u128) -> CallTarget {
        CallTarget {
            room: RoomId(Uuid::from_u128(n)),
            world: Some(WorldId(Uuid::from_u128(n / 10))),
        }
    }

    fn flood(seconds: u64, reach: Reach) -> Result<()> {
        Err(Error::new(ErrorKind::RateLimited, "flood")
            .with_retry(Retry::After(Duration::from_secs(seconds)))
            .with_reach(reach))
    }

    /// How long each weight waits in a room, in milliseconds.
    fn waits(gate: &RateGate, n: u128, now: i64) -> [u128; 4] {
        ALL.map(|priority| match gate.admit(room(n), priority, Timestamp(now)) {
            Ok(()) => 0,
            Err(error) => {
                if let Retry::After(delay) = error.retry() {
                    delay.as_millis()
                } else {
                    u128::MAX
                }
            }
        })
    }

    #[test]
    fn a_room_waits_as_long_as_the_platform_said_and_others_do_not() {
        let gate = RateGate::default();
        gate.learn(room(1), Priority::Answer, &flood(7, Reach::Room), Timestamp(1_000));
        assert_eq!(
            waits(&gate, 1, 3_000),
            [5_000, 0, 6_000, 6_000],
            "answers go first when it is over"
        );
        assert_eq!(waits(&gate, 2, 3_000), [0; 4]);
        assert_eq!(waits(&gate, 1, 8_000), [0; 4]);
    }

    #[test]
    fn what_is_worth_less_never_delays_what_is_worth_more() {
        for (at, priority) in ALL.into_iter().enumerate() {
            for reach in [Reach::Room, Reach::World, Reach::Account] {
                let gate = RateGate::default();
                gate.learn(room(1), priority, &flood(60, reach), Timestamp(0));
                let free = waits(&gate, 1, 1).iter().take_while(|wait| **wait == 0).count();
                let expected =
                    if priority == Priority::Callback && reach != Reach::Account { 2 } else { at };
                assert_eq!(free, expected, "{priority:?} {reach:?}");
            }
        }
    }

    #[test]
    fn a_rate_limited_account_waits_everywhere() {
        let gate = RateGate::default();
        gate.learn(room(1), Priority::Answer, &flood(60, Reach::Account), Timestamp(0));
        assert_eq!(waits(&gate, 2, 0), [60_000, 61_000, 61_000, 61_000]);
    }

    #[test]
    fn a_rate_limited_world_waits_in_all_of_its_rooms_and_in_no_other() {
        let gate = RateGate::default();
        assert!(!gate.is_world_waiting(Timestamp(0)));
        gate.learn(room(11), Priority::Answer, &flood(60, Reach::World), Timestamp(0));
        assert!(gate.is_world_waiting(Timestamp(59_999)));
        for n in [11, 12] {
            assert_eq!(waits(&gate, n, 0), [60_000, 0, 61_000, 61_000], "{n}");
        }
        assert_eq!(waits(&gate, 21, 0), [0; 4]);
        assert!(!gate.is_world_waiting(Timestamp(60_000)));
        assert_eq!(waits(&gate, 12, 60_000), [0; 4]);
    }

    #[test]
    fn a_worlds_limit_binds_the_room_when_its_world_is_unknown() {
        let (gate, stranger) = (RateGate::default(), CallTarget { world: None, ..room(11) });
        gate.learn(stranger, Priority::Answer, &flood(60, Reach::World), Timestamp(0));
        assert_eq!(waits(&gate, 11, 0)[0], 60_000);
        assert_eq!(waits(&gate, 12, 0)[0], 0);
    }

    #[test]
    fn a_shorter_wish_does_not_end_a_longer_one() {
        let gate = RateGate::default();
        gate.learn(room(1), Priority::Answer, &flood(60, Reach::Room), Timestamp(0));
        gate.learn(room(1), Priority::Answer, &flood(1, Reach::Room), Timestamp(0));
        assert_eq!(waits(&gate, 1, 0)[0], 60_000);
    }

    #[test]
    fn changes_and_typing_have_a_share_and_answers_have_the_rest() {
        let gate = RateGate::default();
        let passed = |priority| {
            (0..1000).filter(|n| gate.admit(room(*n), priority, Timestamp(0)).is_ok()).count()
        };
        assert!((5..=7).contains(&passed(Priority::Change)));
        assert!((10..=13).contains(&passed(Priority::Typing)));
        assert_eq!((passed(Priority::Answer), passed(Priority::Callback)), (1000, 1000));
    }

    #[test]
    fn an_accounts_pause_outlives_the_process_and_a_blink_does_not() {
        let gate = RateGate::default();
        gate.learn(room(1), Priority::Answer, &flood(2, Reach::Account), Timestamp(0));
        gate.learn(room(1), Priority::Answer, &flood(600, Reach::Room), Timestamp(0));
        assert_eq!(gate.to_keep(), None, "the room's wait is with its delivery");
        gate.learn(room(1), Priority::Answer, &flood(600, Reach::Account), Timestamp(0));
        let (pauses, last) = gate.to_keep().unwrap();
        assert_eq!((last, gate.to_keep()), (Timestamp(600_000), None), "once");
        let kept = serde_json::to_value(pauses).unwrap();
        let next = RateGate::default();
        next.restore(serde_json::from_value(kept).unwrap(), Timestamp(0));
        assert_eq!(waits(&next, 9, 100_000), waits(&gate, 9, 100_000));
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nothing_up() {
        let gate = RateGate::default();
        for reach in [Reach::Room, Reach::World, Reach::Account] {
            gate.learn(room(1), Priority::Answer, &flood(60, reach), Timestamp(10_000_000));
            assert!(gate.admit(room(1), Priority::Answer, Timestamp(10_001_000)).is_err());
            assert!(gate.admit(room(1), Priority::Answer, Timestamp(6_400_000)).is_ok());
        }
        gate.learn(room(1), Priority::Answer, &flood(60, Reach::Room), Timestamp(6_400_000));
        assert!(
            gate.admit(room(1), Priority::Answer, Timestamp(6_401_000)).is_err(),
            "the newest pause counts"
        );
    }
}
