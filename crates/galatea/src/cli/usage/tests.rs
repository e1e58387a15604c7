//! Tests of sums, names and tables.

use super::*;
use galatea_core::{Source, WorldId};

fn row(day: i64, source: &'static str, model: &str, amount: Amount) -> UsageRow {
    UsageRow {
        agent: AgentId::fresh(),
        day: Day(day),
        source: Source::new(source),
        world: WorldId::fresh(),
        room: RoomId::fresh(),
        person: EntityId::fresh(),
        model: model.to_owned(),
        amount,
    }
}

#[test]
fn rows_are_added_up_and_aligned() {
    let call = Amount {
        calls: 2,
        input: 1_200,
        cached: 1_000,
        output: 80,
        micros: 1_234_567,
        ..Amount::default()
    };
    let rows = [
        row(20_454, "telegram", "openai a", call),
        row(20_454, "telegram", "", Amount { answers: 1, refused: 3, ..Amount::default() }),
        row(
            20_455,
            "discord",
            "ollama b",
            Amount { calls: 1, input: 10, output: 2, unpriced: 12, ..Amount::default() },
        ),
    ];
    let lines = lines(&rows, &[By::Day, By::Platform], &Names::default());
    assert_eq!(
        render(&lines, &[By::Day, By::Platform], None),
        "day         platform  answers  refused  calls  read  cached  written    USD\n\
         2026-01-01  telegram        1        3      2  1200    1000       80   1.24\n\
         2026-01-02  discord         0        0      1    10       0        2  0.00+\n\
         total                       1        3      3  1210    1000       82  1.24+\n\n\
         + and 12 tokens of models whose price is not known\n"
    );
    let narrow = render(&lines, &[By::Day, By::Platform], Some(40));
    assert!(
        narrow.starts_with("2026-01-01\ntelegram\n  answers           1\n")
            && narrow.contains("\ntotal\n  answers           1\n")
            && narrow.contains("  USD           0.00+\n"),
        "{narrow}"
    );
    let value = to_json(&lines, &[By::Day, By::Platform], Day(20_454));
    assert_eq!(
        (value["lines"][0]["platform"].as_str(), value["lines"][0]["cached"].as_u64()),
        (Some("telegram"), Some(1_000))
    );
}

#[test]
fn agents_and_rooms_are_named_and_namesakes_stay_apart() {
    let cost = |micros| Amount { micros, answers: 1, ..Amount::default() };
    let rows = [
        row(1, "telegram", "m", cost(9)),
        row(1, "discord", "m", cost(5)),
        row(1, "x", "m", cost(1)),
    ];
    let names = Names {
        agents: rows[..2].iter().map(|row| (row.agent, "Ada".to_owned())).collect(),
        rooms: rows[..2].iter().map(|row| (row.room, "general".to_owned())).collect(),
        people: HashMap::new(),
    };
    for (by, name, ids) in [
        (By::Agent, "Ada", rows.each_ref().map(|row| row.agent.to_string())),
        (By::Room, "general", rows.each_ref().map(|row| row.room.to_string())),
    ] {
        let lines = lines(&rows, &[by], &names);
        let report = to_json(&lines, &[by], Day(1));
        let field = |n: usize, field: &str| report["lines"][n][field].as_str().unwrap().to_owned();
        for (n, id) in ids.iter().enumerate() {
            let named = if n < 2 { name } else { id };
            assert_eq!(field(n, by.name()), named);
            assert_eq!(field(n, &format!("{}Id", by.name())), *id);
        }
        let table = render(&lines, &[by], None);
        assert_eq!(table.lines().filter(|line| line.starts_with(name)).count(), 2, "{table}");
        assert!(table.starts_with(by.name()) && table.contains("\ntotal"), "{table}");
    }
}

#[test]
fn the_dearest_comes_first() {
    let cost = |micros| Amount { micros, ..Amount::default() };
    let rows = [row(1, "a", "cheap", cost(1)), row(1, "a", "dear", cost(9))];
    let lines = lines(&rows, &[By::Model], &Names::default());
    assert_eq!(lines[0].0[0].0, "dear");
}

#[test]
fn days_are_dates_or_counted_back() {
    let now = Timestamp(20_454 * Day::MILLIS + 5);
    assert_eq!(day("1d", now).unwrap(), Day(20_454));
    assert_eq!(day("7d", now).unwrap(), Day(20_448));
    assert_eq!(day("2026-01-01", now).unwrap(), Day(20_454));
    assert!(day("yesterday", now).is_err());
}

#[test]
fn small_sums_are_no_zero() {
    assert_eq!([0, 1, 1_234_567, 40_000].map(dollars), ["0.00", "0.0001", "1.24", "0.0400"]);
}
