//! Rates that people share: those of a Room, a World, a platform, the agent and all strangers.

use super::*;

const PEOPLE: usize = 3;

/// A ledger, and settings with one limit, as they hold on a platform.
struct Book {
    ledger: Ledger,
    limit: (&'static str, String),
}

impl Book {
    /// What a person whom the ledger has not seen gets at a place.
    fn ask(&mut self, place: &Holders, stranger: bool, now: i64) -> Result<(), Refusal> {
        let Holder::Source(source) = &place.platform else { unreachable!() };
        let (setting, rate) = &self.limit;
        let pairs = [(*setting, rate.as_str())];
        let spending = Spending::from_settings(&Settings::from_pairs(pairs), source).unwrap();
        let person = Holders { person: Holder::Person(EntityId::fresh()), ..place.clone() };
        self.ledger.admit(&case(&spending, &person, stranger, now), Ask::Answer)
    }
}

/// Sets a limit for three people, once a minute's and once a day's. Expects that three people are
/// answered at `place`, that the fourth is refused by `who` and `setting`, and that another person
/// is still answered at `free`.
fn limits(who: Who, setting: &'static str, place: &Holders, free: Option<&Holders>) {
    for per in ["min", "day"] {
        let mut book =
            Book { ledger: Ledger::default(), limit: (setting, format!("{PEOPLE}/{per}")) };
        for n in 0..PEOPLE {
            assert_eq!(book.ask(place, false, NOON), Ok(()), "{setting} a {per}: person {n}");
        }
        let refusal = book.ask(place, false, NOON).unwrap_err();
        assert_eq!((refusal.who, refusal.setting.as_str()), (who, setting), "a {per}");
        if let Some(free) = free {
            assert_eq!(book.ask(free, false, NOON), Ok(()), "{setting} a {per}: elsewhere");
        }
        let soon = book.ask(place, false, NOON + 20_000);
        if per == "min" {
            assert_eq!(
                refusal.why,
                RefusalReason::Minute(Flow { per_minute: 3, burst: 3 }),
                "{setting}"
            );
            assert_eq!(soon, Ok(()), "{setting}: a third of a minute later");
        } else {
            assert_eq!(refusal.why, RefusalReason::Day(3), "{setting}");
            assert_eq!(soon.unwrap_err().why, RefusalReason::Day(3), "{setting}: on the same day");
        }
        assert_eq!(book.ask(place, false, NOON + Day::MILLIS), Ok(()), "{setting}: the next day");
    }
}

#[test]
fn a_room_is_answered_as_often_as_its_rate_says() {
    let room = holders();
    let sibling = Holders { room: Holder::Room(RoomId::fresh()), ..room.clone() };
    limits(Who::Room, "LIMIT_ROOM", &room, Some(&sibling));
    limits(Who::Room, "TELEGRAM_LIMIT_ROOM", &room, Some(&sibling));
}

#[test]
fn a_world_is_answered_as_often_as_its_rate_says() {
    let world = holders();
    let other = Holders { world: Holder::World(WorldId::fresh()), ..holders() };
    limits(Who::World, "LIMIT_WORLD", &world, Some(&other));
    limits(Who::World, "TELEGRAM_LIMIT_WORLD", &world, Some(&other));
}

#[test]
fn a_platform_is_answered_as_often_as_its_rate_says() {
    let discord = Holders { platform: Holder::Source(Source::new("discord")), ..holders() };
    limits(Who::Platform, "TELEGRAM_LIMIT_AGENT", &holders(), Some(&discord));
}

#[test]
fn an_agent_answers_as_often_as_its_rate_says() {
    limits(Who::Agent, "LIMIT_AGENT", &holders(), None);
}

/// What is shared is counted over all places below it.
#[test]
fn other_places_use_up_what_they_share() {
    let discord = || Holders { platform: Holder::Source(Source::new("discord")), ..holders() };
    let world = holders();
    let room = || Holders { room: Holder::Room(RoomId::fresh()), ..world.clone() };
    let cases: [(&'static str, Who, Holders, Holders); 3] = [
        ("LIMIT_WORLD", Who::World, room(), room()),
        ("TELEGRAM_LIMIT_AGENT", Who::Platform, holders(), holders()),
        ("LIMIT_AGENT", Who::Agent, holders(), discord()),
    ];
    for (setting, who, used, other) in cases {
        for per in ["min", "day"] {
            let mut book = Book { ledger: Ledger::default(), limit: (setting, format!("1/{per}")) };
            assert_eq!(book.ask(&used, false, NOON), Ok(()), "{setting}");
            let refusal = book.ask(&other, false, NOON).unwrap_err();
            assert_eq!((refusal.who, refusal.setting.as_str()), (who, setting), "a {per}");
        }
    }
}

#[test]
fn strangers_have_their_share_of_the_agents_rate() {
    for (per, why) in [
        ("min", RefusalReason::Minute(Flow { per_minute: 2, burst: 2 })),
        ("day", RefusalReason::Day(2)),
    ] {
        let mut book =
            Book { ledger: Ledger::default(), limit: ("LIMIT_AGENT", format!("4/{per}")) };
        for _ in 0..2 {
            assert_eq!(book.ask(&holders(), true, NOON), Ok(()), "a {per}");
        }
        let refusal = book.ask(&holders(), true, NOON).unwrap_err();
        assert_eq!(
            (refusal.who, refusal.setting.as_str(), refusal.why),
            (Who::Strangers, "STRANGERS_SHARE", why)
        );
        assert_eq!(book.ask(&holders(), false, NOON), Ok(()), "a known person, {per}");
    }
}
