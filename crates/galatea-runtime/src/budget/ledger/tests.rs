//! The book by itself: rates, caps, strangers, days, and what others used.

mod caps;
mod commands;
mod rates;

use galatea_core::{EntityId, RoomId, Settings, Source, Verdict, WorldId};

use super::*;
use crate::{
    budget::refusal::RefusalReason,
    config::{Cap, Flow, Spending},
};

const NOON: i64 = 20_000 * Day::MILLIS + Day::MILLIS / 2;
const COST: Spend = Spend { micros: 4_000, tokens: 0 };

fn spending(pairs: &[(&str, &str)]) -> Spending {
    Spending::from_settings(
        &Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v))),
        &Source::new("telegram"),
    )
    .unwrap()
}

fn holders() -> Holders {
    Holders {
        person: Holder::Person(EntityId::fresh()),
        room: Holder::Room(RoomId::fresh()),
        world: Holder::World(WorldId::fresh()),
        platform: Holder::Source(Source::new("telegram")),
    }
}

fn case<'a>(spending: &'a Spending, holders: &'a Holders, stranger: bool, now: i64) -> Case<'a> {
    Case { spending, holders, stranger, background: false, now: Timestamp(now) }
}

#[test]
fn a_person_is_answered_as_often_as_the_rate_says() {
    let spending = spending(&[("LIMIT_PERSON", "2/min, 3/day")]);
    let (mut ledger, who) = (Ledger::default(), holders());
    let mut at = |now| ledger.admit(&case(&spending, &who, false, now), Ask::Answer);
    assert!(at(NOON).is_ok() && at(NOON).is_ok());
    let refusal = at(NOON).unwrap_err();
    assert_eq!((refusal.who, refusal.setting.as_str()), (Who::Person, "LIMIT_PERSON"));
    assert!(refusal.passes_soon());
    assert!(at(NOON + 60_000).is_ok());
    assert_eq!(at(NOON + 120_000).unwrap_err().why, RefusalReason::Day(3));
    assert!(at(NOON + Day::MILLIS).is_ok(), "a new day");
}

#[test]
fn a_refusal_takes_nothing_from_anybody() {
    let spending = spending(&[("LIMIT_PERSON", "1/min"), ("LIMIT_ROOM", "10/min")]);
    let (mut ledger, flooder) = (Ledger::default(), holders());
    let friend = Holders { person: Holder::Person(EntityId::fresh()), ..flooder.clone() };
    let answered = (0..200)
        .filter(|_| ledger.admit(&case(&spending, &flooder, false, NOON), Ask::Answer).is_ok())
        .count();
    assert_eq!(answered, 1);
    assert!(
        ledger.admit(&case(&spending, &friend, false, NOON), Ask::Answer).is_ok(),
        "another person in the same room"
    );
}

#[test]
fn opinions_are_not_counted() {
    let spending = spending(&[("LIMIT_PERSON", "1/min")]);
    let (mut ledger, who) = (Ledger::default(), holders());
    let here = case(&spending, &who, false, NOON);
    assert!((0..5).all(|_| ledger.admit(&here, Ask::Opinion).is_ok()));
    ledger.answered(&here);
    assert!(ledger.admit(&here, Ask::Opinion).is_err());
}

#[test]
fn what_was_used_before_a_restart_counts() {
    let spending = spending(&[("BUDGET_PERSON", "0.05"), ("LIMIT_PERSON", "5/day")]);
    let (mut ledger, who) = (Ledger::default(), holders());
    let keys = [&who.person];
    let five = Duration::from_secs(5);
    assert_eq!(ledger.unread(keys.into_iter(), five, Timestamp(NOON)).len(), 1);
    let stored = UsageTotal {
        today: Amount { answers: 4, micros: 49_000, ..Amount::default() },
        earlier: true,
    };
    ledger.read(&who.person, Day::of(Timestamp(NOON)), stored, Timestamp(NOON));
    assert_eq!(ledger.unread(keys.into_iter(), five, Timestamp(NOON + 60_000)).len(), 0);
    ledger.share_with(2);
    assert_eq!(
        ledger.unread(keys.into_iter(), five, Timestamp(NOON + 60_000)).len(),
        1,
        "another process may have added to it"
    );
    ledger.share_with(1);
    assert_eq!(
        ledger.unread(keys.into_iter(), five, Timestamp(NOON + Day::MILLIS)).len(),
        1,
        "the next day is read, too"
    );
    let mut book2 = Ledger::default();
    book2.read(&who.person, Day::of(Timestamp(NOON)), stored, Timestamp(NOON));
    let here = case(&spending, &who, !book2.is_known(&who.person), NOON);
    assert!(!here.stranger);
    assert!(book2.admit(&here, Ask::Answer).is_ok());
    assert_eq!(book2.reserve(&here, COST, false).unwrap_err().why, RefusalReason::Money(50_000));
    assert!(book2.reserve(&here, Spend { micros: 1_000, tokens: 0 }, false).is_ok());
    assert_eq!(book2.admit(&here, Ask::Answer).unwrap_err().why, RefusalReason::Day(5));
}

#[test]
fn what_other_processes_used_is_added_and_nothing_counts_twice() {
    let spending = spending(&[("BUDGET_PERSON", "0.10")]);
    let (mut ledger, who) = (Ledger::default(), holders());
    let (here, day) = (case(&spending, &who, false, NOON), Day::of(Timestamp(NOON)));
    let stored =
        |micros| UsageTotal { today: Amount { micros, ..Amount::default() }, earlier: true };
    ledger.read(&who.person, day, stored(0), Timestamp(NOON));
    ledger.reserve(&here, COST, false).unwrap();
    ledger.settle(&here, COST, Spend { micros: 30_000, tokens: 0 });
    // Ours is stored by now, and 50,000 of others.
    ledger.read(&who.person, day, stored(80_000), Timestamp(NOON));
    assert!(ledger.reserve(&here, Spend { micros: 20_000, tokens: 0 }, false).is_ok());
    assert!(ledger.reserve(&here, Spend { micros: 1, tokens: 0 }, false).is_err());
    // An older reading changes nothing.
    ledger.read(&who.person, day, stored(10), Timestamp(NOON));
    assert!(ledger.reserve(&here, Spend { micros: 1, tokens: 0 }, false).is_err());
}

/// Each has a book of its own, and all begin at the same moment.
#[test]
fn several_processes_that_begin_together_stay_within_a_cap() {
    let spending = spending(&[("LIMIT_AGENT", "none"), ("BUDGET_AGENT", "2 USD")]);
    let mut begun = 0;
    for _ in 0..3 {
        let mut ledger = Ledger::default();
        ledger.share_with(3);
        for _ in 0..1_000 {
            let who = holders();
            let here = case(&spending, &who, true, NOON);
            begun += u64::from(
                ledger.admit(&here, Ask::Answer).is_ok()
                    && ledger.reserve(&here, COST, false).is_ok(),
            );
        }
        // What is left is shared again once it is known what the others used.
        let third =
            UsageTotal { today: Amount { micros: 330_000, ..Amount::default() }, earlier: false };
        for key in [Holder::Agent, Holder::Strangers] {
            ledger.read(&key, Day::of(Timestamp(NOON)), third, Timestamp(NOON));
        }
    }
    assert_eq!(begun, 3 * 83, "a third of a dollar each, in reservations of 0.4 cents");
}

#[test]
fn owners_hear_once_and_the_small_model_answers_from_80_percent() {
    let spending =
        spending(&[("BUDGET_AGENT", "0.10"), ("BUDGET_PERSON", "none"), ("BUDGET_ROOM", "none")]);
    let (mut ledger, who) = (Ledger::default(), holders());
    let here = case(&spending, &who, false, NOON);
    let mut warned = Vec::new();
    for _ in 0..20 {
        let cheap = ledger.nearly(&here).is_some();
        if ledger.reserve(&here, COST, false).is_err() {
            break;
        }
        assert_eq!(cheap, !warned.is_empty());
        warned.extend(ledger.settle(&here, COST, COST));
    }
    assert_eq!(warned.len(), 1);
    assert_eq!((warned[0].percent, warned[0].setting.as_str()), (80, "BUDGET_AGENT"));
}

#[test]
fn a_calls_end_after_midnight_belongs_to_the_new_day() {
    let spending = spending(&[("BUDGET_PERSON", "0.01")]);
    let (mut ledger, who) = (Ledger::default(), holders());
    ledger.reserve(&case(&spending, &who, false, NOON), COST, false).unwrap();
    assert_eq!(ledger.held(&who.person), COST);
    let tomorrow = case(&spending, &who, false, NOON + Day::MILLIS);
    ledger.settle(&tomorrow, COST, Spend { micros: 9_000, tokens: 0 });
    assert_eq!(ledger.held(&who.person), Spend::default());
    assert!(ledger.reserve(&tomorrow, COST, false).is_err());
}

/// What 1,000 strangers at once can cost, and what is left for those who are known.
#[test]
fn a_thousand_strangers_leave_the_regulars_their_half() {
    let spending = spending(&[("LIMIT_AGENT", "none"), ("BUDGET_AGENT", "2 USD")]);
    let mut ledger = Ledger::default();
    let mut under_way = Vec::new();
    let mut refused = 0;
    for _ in 0..1_000 {
        let who = holders();
        let here = case(&spending, &who, true, NOON);
        if ledger.admit(&here, Ask::Answer).is_ok() && ledger.reserve(&here, COST, false).is_ok() {
            under_way.push(who);
        } else {
            refused += 1;
        }
    }
    assert_eq!(
        (under_way.len(), refused),
        (250, 750),
        "strangers' half of two dollars in reservations of 0.4 cents"
    );
    // Each call costs half as much again as was expected.
    let actual = Spend { micros: 6_000, tokens: 0 };
    for who in &under_way {
        ledger.settle(&case(&spending, who, true, NOON), COST, actual);
    }
    let spent = ledger.account(&Holder::Strangers, Timestamp(NOON)).used().micros;
    assert_eq!(
        spent,
        1_000_000 + 250 * 2_000,
        "over the cap by what the calls under way came to, and nothing else"
    );
    let late = holders();
    assert_eq!(
        ledger.admit(&case(&spending, &late, true, NOON), Ask::Answer).unwrap_err().who,
        Who::Strangers
    );
}

#[test]
fn regulars_are_answered_while_strangers_have_used_their_share() {
    let spending = spending(&[("BUDGET_AGENT", "2 USD")]);
    let mut ledger = Ledger::default();
    loop {
        let who = holders();
        let here = case(&spending, &who, true, NOON);
        if ledger.admit(&here, Ask::Answer).is_err() || ledger.reserve(&here, COST, false).is_err()
        {
            break;
        }
        ledger.settle(&here, COST, COST);
    }
    for _ in 0..100 {
        let who = holders();
        let regular = case(&spending, &who, false, NOON);
        assert!(ledger.admit(&regular, Ask::Answer).is_ok());
        ledger.reserve(&regular, COST, false).unwrap();
        ledger.settle(&regular, COST, COST);
    }
}

#[test]
fn memory_is_bounded() {
    let spending = spending(&[("LIMIT_AGENT", "none")]);
    let mut ledger = Ledger::default();
    for n in 0..30_000 {
        let who = holders();
        let _ = ledger.admit(&case(&spending, &who, true, NOON + n), Ask::Answer);
    }
    assert!(ledger.accounts.len() <= MOST + 10, "{}", ledger.accounts.len());
}
#[test]
fn work_in_the_background_uses_half_of_the_agents_day_and_nothing_of_a_persons() {
    let spending = spending(&[("BUDGET_AGENT", "0.04"), ("BUDGET_PERSON", "0.01")]);
    let (mut ledger, own, visitor) = (Ledger::default(), holders(), holders());
    let background = |now| Case { background: true, ..case(&spending, &own, false, now) };
    let works = |ledger: &mut Ledger, now| {
        ledger.reserve(&background(now), COST, false).map(|()| {
            let warnings = ledger.settle(&background(now), COST, COST);
            assert_eq!(warnings, [], "owners need not know of it");
        })
    };
    for _ in 0..5 {
        works(&mut ledger, NOON).unwrap();
    }
    let refusal = works(&mut ledger, NOON).unwrap_err();
    assert_eq!((refusal.who, refusal.setting.as_str()), (Who::Background, "BUDGET_AGENT"));
    assert_eq!(refusal.why, RefusalReason::Money(20_000));
    // The other half is left for people, each within their own cap.
    let answers = case(&spending, &visitor, false, NOON);
    for _ in 0..2 {
        ledger.reserve(&answers, COST, false).unwrap();
        ledger.settle(&answers, COST, COST);
    }
    assert_eq!(ledger.reserve(&answers, COST, false).unwrap_err().who, Who::Person);
    works(&mut ledger, NOON + Day::MILLIS).unwrap();
    // What people use is gone for it, too.
    let rich = Spending { person_cap: Cap::default(), ..spending.clone() };
    let answers = case(&rich, &visitor, false, NOON + Day::MILLIS);
    for _ in 0..9 {
        ledger.reserve(&answers, COST, false).unwrap();
        ledger.settle(&answers, COST, COST);
    }
    assert_eq!(works(&mut ledger, NOON + Day::MILLIS).unwrap_err().who, Who::Agent);
}
