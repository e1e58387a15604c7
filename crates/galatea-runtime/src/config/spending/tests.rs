//! Tests of how limits and caps are read from the settings.

use super::*;

const TELEGRAM: Source = Source::new("telegram");

fn read(pairs: &[(&str, &str)]) -> Result<Spending> {
    Spending::from_settings(&Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v))), &TELEGRAM)
}

#[test]
fn defaults_hold_where_strangers_write() {
    let spending = read(&[]).unwrap();
    assert!(spending.holds(true) && !spending.holds(false));
    let rate = |per_minute, day, setting: &str| Rate {
        flow: Some(Flow { per_minute, burst: per_minute }),
        day: Some(day),
        setting: setting.to_owned(),
    };
    assert_eq!(spending.person, rate(8, 300, "LIMIT_PERSON"));
    assert_eq!(spending.room, rate(20, 2_000, "LIMIT_ROOM"));
    assert_eq!(spending.world, rate(60, 5_000, "LIMIT_WORLD"));
    assert_eq!(spending.agent, rate(300, 20_000, "LIMIT_AGENT"));
    let cap = |micros, tokens, setting: &str| Cap {
        micros: Some(micros),
        tokens: Some(tokens),
        setting: setting.to_owned(),
    };
    assert_eq!(spending.stranger_cap, cap(50_000, 100_000, "BUDGET_STRANGER"));
    assert_eq!(spending.person_cap, cap(500_000, 1_000_000, "BUDGET_PERSON"));
    assert_eq!(spending.room_cap, cap(2_000_000, 4_000_000, "BUDGET_ROOM"));
    assert_eq!(spending.agent_cap, cap(10_000_000, 20_000_000, "BUDGET_AGENT"));
    assert_eq!((spending.strangers, spending.waiting), (50, Some(5)));
    assert_eq!((spending.platform, spending.platform_cap), (None, None));
}

/// The manual's table is what operators read; the defaults are what holds.
#[test]
fn the_manual_names_the_defaults() {
    let manual = include_str!("../../../../../docs/operating.md");
    for variable in [
        LIMIT_PERSON,
        LIMIT_ROOM,
        LIMIT_WORLD,
        LIMIT_AGENT,
        LIMIT_WAITING,
        BUDGET_STRANGER,
        BUDGET_PERSON,
        BUDGET_ROOM,
        BUDGET_AGENT,
        STRANGERS_SHARE,
        COMMANDS_SHARE,
    ] {
        let row = format!("| `{}` | {} |", variable.name, variable.default.unwrap());
        assert!(manual.contains(&row), "{row}");
    }
}

#[test]
fn a_platforms_own_values_beat_general_ones() {
    let pairs = [
        ("LIMIT_PERSON", "1/min"),
        ("TELEGRAM_LIMIT_PERSON", "2/min, burst=9"),
        ("TELEGRAM_BUDGET_AGENT", "$3"),
        ("TELEGRAM_LIMITS", "on"),
        ("TELEGRAM_LIMIT_ROOM", "none"),
        ("AGENT_OWNERS", "telegram:7, discord:8"),
        ("BLOCK_PEOPLE", "13"),
        ("TELEGRAM_BLOCK_PEOPLE", "@Spammer"),
    ];
    let spending = read(&pairs).unwrap();
    assert_eq!(
        (spending.person.flow, spending.person.day),
        (Some(Flow { per_minute: 2, burst: 9 }), None)
    );
    assert_eq!(spending.person.setting, "TELEGRAM_LIMIT_PERSON");
    assert_eq!(
        spending.platform_cap,
        Some(Cap {
            micros: Some(3_000_000),
            tokens: None,
            setting: "TELEGRAM_BUDGET_AGENT".into()
        })
    );
    assert_eq!(spending.agent_cap.setting, "BUDGET_AGENT");
    assert_eq!((spending.room.flow, spending.room.day), (None, None));
    assert!(spending.holds(false));
    assert_eq!(spending.owners, ["7"]);
    assert_eq!(spending.blocked_people, ["13", "@spammer"]);
}

#[test]
fn half_of_a_cap_keeps_the_default_for_the_other() {
    let spending = read(&[
        ("BUDGET_STRANGER", "1 USD"),
        ("BUDGET_PERSON", "5 tokens"),
        ("TELEGRAM_BUDGET_PERSON", "2 USD"),
        ("BUDGET_ROOM", "3 USD, none tokens"),
        ("BUDGET_AGENT", "none, 5 USD"),
    ])
    .unwrap();
    let halves = |cap: &Cap| (cap.micros, cap.tokens);
    assert_eq!(halves(&spending.stranger_cap), (Some(1_000_000), Some(100_000)));
    assert_eq!(halves(&spending.person_cap), (Some(2_000_000), Some(5)));
    assert_eq!(halves(&spending.room_cap), (Some(3_000_000), None));
    assert_eq!(halves(&spending.agent_cap), (Some(5_000_000), None));
    let lifted = read(&[("BUDGET_AGENT", "none")]).unwrap();
    assert_eq!(halves(&lifted.agent_cap), (None, None));
}

#[test]
fn wrong_values_name_their_place() {
    for (name, value) in [
        ("LIMITS", "sometimes"),
        ("LIMIT_PERSON", "8"),
        ("TELEGRAM_LIMIT_ROOM", "8/hour"),
        ("LIMIT_AGENT", "x/min"),
        ("BUDGET_PERSON", "-1 USD"),
        ("TELEGRAM_BUDGET_AGENT", "much"),
        ("STRANGERS_SHARE", "101"),
        ("COMMANDS_SHARE", "a quarter"),
        ("LIMIT_WAITING", "few"),
    ] {
        let error = read(&[(name, value)]).unwrap_err();
        assert!(
            error.to_string().contains(name) && error.to_string().contains("environment"),
            "{error}"
        );
    }
}
