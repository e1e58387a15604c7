//! The share that commands have of the rates of many people.

use super::*;

/// What so many people, each with so many commands, are answered at one moment.
fn flood(
    ledger: &mut Ledger,
    spending: &Spending,
    place: impl Fn() -> Holders,
    people: usize,
    each: usize,
    now: i64,
) -> (usize, Option<Refusal>) {
    let (mut answered, mut last) = (0, None);
    for _ in 0..people {
        let who = Holders { person: Holder::Person(EntityId::fresh()), ..place() };
        for _ in 0..each {
            match ledger.admit(&case(spending, &who, true, now), Ask::Command) {
                Ok(()) => answered += 1,
                Err(refusal) => last = Some(refusal),
            }
        }
    }
    (answered, last)
}

#[test]
fn commands_have_a_share_of_the_rate_of_every_holder() {
    let cases: [(&str, Who, &str); 5] = [
        ("LIMIT_ROOM", Who::Room, "LIMIT_ROOM"),
        ("LIMIT_WORLD", Who::World, "LIMIT_WORLD"),
        ("TELEGRAM_LIMIT_AGENT", Who::Platform, "TELEGRAM_LIMIT_AGENT"),
        ("LIMIT_AGENT", Who::Strangers, "STRANGERS_SHARE"),
        ("TELEGRAM_LIMIT_ROOM", Who::Room, "TELEGRAM_LIMIT_ROOM"),
    ];
    for (setting, who, named) in cases {
        for per in ["min", "day"] {
            let rate = format!("20/{per}");
            let mut pairs = vec![(setting, rate.as_str())];
            // Otherwise the narrower default of another holder refuses first.
            for lifted in ["LIMIT_ROOM", "LIMIT_WORLD"] {
                if lifted != setting && !setting.ends_with(lifted) {
                    pairs.push((lifted, "none"));
                }
            }
            let spending = spending(&pairs);
            let place = holders();
            let mut ledger = Ledger::default();
            let (answered, refusal) = flood(&mut ledger, &spending, || place.clone(), 25, 8, NOON);
            let expected = if who == Who::Strangers { 2 } else { 5 };
            assert_eq!(answered, expected, "{setting} a {per}");
            let refusal = refusal.unwrap();
            assert_eq!((refusal.who, refusal.setting.as_str()), (who, named), "a {per}");
            let mut verdict = Verdict::default();
            refusal.note(&mut verdict);
            let reason = &verdict.steps[0].reason;
            assert!(reason.contains("commands") && reason.contains("25 %"), "{reason}");
            assert!(reason.contains(named), "{reason}");
            let change = verdict.change.unwrap();
            assert_eq!((change.setting.as_str(), change.value.as_str()), ("COMMANDS_SHARE", "50"));
        }
    }
}

/// Each person's rate lets all of them through, so only a shared rate can hold them up.
#[test]
fn a_thousand_strangers_who_press_start_leave_the_answers_to_others() {
    let spending = spending(&[]);
    let mut ledger = Ledger::default();
    let (answered, refusal) = flood(&mut ledger, &spending, holders, 1_000, 1, NOON);
    // A quarter of the half that strangers have of 300 a minute.
    assert_eq!(answered, 37);
    assert_eq!(refusal.unwrap().who, Who::Strangers);
    let known = holders();
    for person in 0..50 {
        let who = Holders { person: Holder::Person(EntityId::fresh()), ..holders() };
        let here = case(&spending, &who, false, NOON);
        assert_eq!(ledger.admit(&here, Ask::Answer), Ok(()), "known person {person}");
    }
    assert_eq!(ledger.admit(&case(&spending, &known, false, NOON), Ask::Command), Ok(()));
}

#[test]
fn commands_and_answers_together_stay_within_the_rate() {
    let spending = spending(&[("LIMIT_PERSON", "none"), ("LIMIT_WORLD", "none")]);
    let place = holders();
    let here = |now| case(&spending, &place, false, now);
    let mut ledger = Ledger::default();
    let mut sent = 0;
    let minutes = 10;
    for second in 0..60 * minutes {
        let now = NOON + second * 1_000;
        for ask in [Ask::Command, Ask::Answer] {
            sent += u64::from(ledger.admit(&here(now), ask).is_ok());
        }
    }
    // The burst at the beginning, and a share of it that commands may be owed.
    let rate = 20 * u64::try_from(minutes).unwrap();
    assert!((rate..=rate + 25).contains(&sent), "{sent} of {rate}");
}

#[test]
fn a_room_whose_answers_are_used_up_takes_commands_and_a_ruling_one_always() {
    let spending =
        spending(&[("LIMIT_PERSON", "none"), ("LIMIT_ROOM", "4/min"), ("BUDGET_ROOM", "0")]);
    let place = holders();
    let here = case(&spending, &place, false, NOON);
    let mut ledger = Ledger::default();
    assert_eq!(ledger.admit(&here, Ask::Answer).unwrap_err().why, RefusalReason::Money(0));
    assert_eq!(ledger.admit(&here, Ask::Command), Ok(()), "a quarter of four");
    assert_eq!(ledger.admit(&here, Ask::Command).unwrap_err().who, Who::Room);
    for _ in 0..20 {
        assert_eq!(ledger.admit(&here, Ask::Ruling), Ok(()));
    }
    let hurried = self::spending(&[("LIMIT_PERSON", "2/min")]);
    let here = case(&hurried, &place, false, NOON);
    let mut ledger = Ledger::default();
    for ask in [Ask::Command, Ask::Ruling] {
        assert_eq!(ledger.admit(&here, ask), Ok(()));
    }
    for ask in [Ask::Command, Ask::Ruling] {
        assert_eq!(ledger.admit(&here, ask).unwrap_err().who, Who::Person, "{ask:?}");
    }
}

#[test]
fn the_share_is_never_less_than_one_unless_it_is_none() {
    for (share, most) in [("25", 1), ("1", 1), ("100", 3), ("0", 0)] {
        let pairs = [("LIMIT_ROOM", "3/min"), ("COMMANDS_SHARE", share)];
        let spending = spending(&pairs);
        let place = holders();
        let mut ledger = Ledger::default();
        let (answered, refusal) = flood(&mut ledger, &spending, || place.clone(), 9, 1, NOON);
        assert_eq!(answered, most, "{share} %");
        let mut verdict = Verdict::default();
        refusal.unwrap().note(&mut verdict);
        let named = if share == "100" { "LIMIT_ROOM" } else { "COMMANDS_SHARE" };
        assert_eq!(verdict.change.unwrap().setting, named, "{share} %");
    }
}
