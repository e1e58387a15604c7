//! Caps of money: each holder's own refuses, and none is passed by more than a call cost above its
//! estimate.

use proptest::prelude::*;

use super::*;

fn money(micros: u64) -> Spend {
    Spend { micros, tokens: 0 }
}

#[test]
fn each_cap_refuses_whom_it_concerns() {
    let tokens = Spend { micros: 0, tokens: 1_000 };
    let here = holders();
    let nearby = Holders { person: Holder::Person(EntityId::fresh()), ..here.clone() };
    let sibling = Holders { room: Holder::Room(RoomId::fresh()), ..nearby.clone() };
    let discord = Holders { platform: Holder::Source(Source::new("discord")), ..holders() };
    for (setting, who, refused, free) in [
        ("BUDGET_PERSON", Who::Person, &here, Some(&nearby)),
        ("TELEGRAM_BUDGET_PERSON", Who::Person, &here, Some(&nearby)),
        ("BUDGET_ROOM", Who::Room, &nearby, Some(&sibling)),
        ("TELEGRAM_BUDGET_ROOM", Who::Room, &nearby, Some(&sibling)),
        ("TELEGRAM_BUDGET_AGENT", Who::Platform, &sibling, Some(&discord)),
        ("BUDGET_AGENT", Who::Agent, &discord, None),
    ] {
        for (cap, estimate, why) in [
            ("0.01 USD", money(10_000), RefusalReason::Money(10_000)),
            ("1000 tokens", tokens, RefusalReason::Tokens(1_000)),
        ] {
            let at = |place: &Holders| {
                let Holder::Source(source) = &place.platform else { unreachable!() };
                Spending::from_settings(&Settings::from_pairs([(setting, cap)]), source).unwrap()
            };
            let mut ledger = Ledger::default();
            let mut reserve = |place: &Holders, estimate| {
                let spending = at(place);
                ledger.reserve(&case(&spending, place, false, NOON), estimate, false)
            };
            assert_eq!(reserve(&here, estimate), Ok(()), "{setting} {cap}");
            let refusal = reserve(refused, estimate).unwrap_err();
            assert_eq!(
                (refusal.who, refusal.setting.as_str(), refusal.why),
                (who, setting, why),
                "{cap}"
            );
            if let Some(free) = free {
                assert_eq!(reserve(free, estimate), Ok(()), "{setting} {cap}");
            }
            let spending = at(refused);
            let refusal =
                ledger.admit(&case(&spending, refused, false, NOON), Ask::Answer).unwrap_err();
            assert_eq!((refusal.who, refusal.setting.as_str()), (who, setting), "{cap}: asking");
        }
    }
}

#[test]
fn a_call_makes_another_attempt_only_within_the_cap() {
    let here = holders();
    let settings = Settings::from_pairs([("BUDGET_PERSON", "0.01 USD")]);
    let spending = Spending::from_settings(&settings, &Source::new("telegram")).unwrap();
    let case = case(&spending, &here, false, NOON);
    let mut ledger = Ledger::default();
    let (small, large) = (money(4_000), money(6_000));
    ledger.reserve(&case, small, false).unwrap();
    ledger.charge(&case, money(6_000));
    assert_eq!(ledger.reserve_next(&case, small, small, false), Ok(()), "6,000 used, 4,000 held");
    let refusal = ledger.reserve_next(&case, small, large, false).unwrap_err();
    assert_eq!((refusal.who, ledger.held(&here.person)), (Who::Person, small));
    ledger.charge(&case, money(1));
    assert_eq!(ledger.reserve_next(&case, small, small, false).unwrap_err().who, Who::Person);
    assert_eq!(ledger.reserve_next(&case, small, large, true), Ok(()), "no limit holds");
    assert_eq!(ledger.held(&here.person), large);
    ledger.settle(&case, large, Spend::default());
    assert_eq!(ledger.held(&here.person), Spend::default());
    assert!(ledger.is_used_up(&case, small), "the attempts stay counted");
}

proptest! {
    /// Whatever begins and ends in whatever order, what is used and set aside stays within each
    /// cap, but for what a call cost above its estimate.
    #[test]
    fn no_cap_is_passed_by_more_than_calls_cost_above_their_estimate(
        steps in proptest::collection::vec(
            (0_usize..6, any::<bool>(), 1_u64..20_000, 0_u64..30_000),
            1..200,
        ),
    ) {
        const PERSON: u64 = 60_000;
        const ROOM: u64 = 90_000;
        const PLATFORM: u64 = 150_000;
        const AGENT: u64 = 200_000;
        let pairs = [
            ("BUDGET_PERSON", "0.06"),
            ("BUDGET_ROOM", "0.09"),
            ("TELEGRAM_BUDGET_AGENT", "0.15"),
            ("BUDGET_AGENT", "0.20"),
        ];
        let discord = Source::new("discord");
        let spendings = [
            spending(&pairs),
            Spending::from_settings(&Settings::from_pairs(pairs), &discord).unwrap(),
        ];
        // Two people in a Room, two in another, and two in a third on another platform.
        let rooms: Vec<Holders> = (0..3).map(|_| holders()).collect();
        let people: Vec<(Holders, usize)> = (0..6)
            .map(|n| {
                let person = Holder::Person(EntityId::fresh());
                let mut holders = Holders { person, ..rooms[n / 2].clone() };
                if n / 2 == 2 {
                    holders.platform = Holder::Source(discord.clone());
                }
                (holders, n / 4)
            })
            .collect();
        let caps = |holders: &Holders| {
            let mut all = vec![
                (holders.person.clone(), PERSON),
                (holders.room.clone(), ROOM),
                (Holder::Agent, AGENT),
            ];
            if holders.platform != Holder::Source(discord.clone()) {
                all.push((holders.platform.clone(), PLATFORM));
            }
            all
        };
        let mut ledger = Ledger::default();
        let mut open = Vec::new();
        // What calls of a holder cost above their estimate.
        let mut above: HashMap<Holder, u64> = HashMap::new();
        for (who, begin, estimate, actual) in steps {
            if begin {
                let (holders, at) = &people[who];
                let here = case(&spendings[*at], holders, false, NOON);
                if ledger.reserve(&here, money(estimate), false).is_ok() {
                    open.push((who, estimate));
                }
            } else if let Some((who, estimate)) = open.pop() {
                let (holders, at) = &people[who];
                let here = case(&spendings[*at], holders, false, NOON);
                ledger.settle(&here, money(estimate), money(actual));
                for (holder, _) in caps(holders) {
                    *above.entry(holder).or_default() += actual.saturating_sub(estimate);
                }
            }
            for (holder, cap) in people.iter().flat_map(|(holders, _)| caps(holders)) {
                let account = ledger.account(&holder, Timestamp(NOON));
                let used = account.used().micros + account.held.micros;
                let most = cap + above.get(&holder).copied().unwrap_or_default();
                prop_assert!(used <= most, "{holder:?}: {used} of {most}");
            }
        }
    }
}
