//! Tests of the rendered table.

use super::*;
use crate::bench::figures::{Load, Memory, OnPostgres, Spread, Start};

fn spread(p50: u64, p99: u64) -> Spread {
    Spread { p50: Duration::from_micros(p50), p99: Duration::from_micros(p99) }
}

fn load(per_second: f64, wait: Spread, statements: Option<f64>) -> Load {
    Load {
        answers: 12_345,
        per_second,
        wait,
        cpu_afterwards: 0.0,
        cpu: 0.3,
        servers_cpu: 0.25,
        statements,
        rows: None,
        written: 61.5,
        lasting: 0.98,
        ack: None,
        misplaced: 0,
    }
}

fn figures() -> Figures {
    let start = Start { line: Duration::from_millis(31), readyz: Duration::from_millis(62) };
    let sqlite = OnSqlite {
        one_room: load(812.4, spread(950, 5_400), Some(6.0)),
        thinking: load(5.0, spread(201_500, 209_000), None),
        thought: Duration::from_micros(200_000),
        rooms: load(1_500.0, spread(60_000, 90_000), None),
        flood: load(1_234_567.0, spread(60_000, 90_000), None),
        half: load(600_000.0, spread(2_000, 51_000), None),
        large: load(900.0, spread(60_000, 90_000), None),
        filled: Start { line: Duration::from_millis(9), readyz: Duration::from_millis(18) },
        idle: 33.25,
        after_load: 20.0,
        rested: 20.0,
    };
    let postgres = OnPostgres {
        flood: Load { rows: Some(7.25), ..load(1_600.0, spread(60_000, 90_000), None) },
        log: 3.5,
    };
    let telegram = OnPlatform { sqlite, postgres, first_start: start, restart: start };
    let mut discord = telegram.clone();
    discord.sqlite.one_room = load(700.0, spread(1_100, 4_000), Some(6.5));
    discord.sqlite.flood = load(999.0, spread(60_000, 90_000), None);
    discord.sqlite.idle = 15.0;
    Figures { telegram, discord, memory: Memory { one: 10.0, many: 14.9 }, size: 11.5 }
}

fn cells<'a>(table: &'a str, what: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.starts_with(&format!("| {what} |"))).unwrap();
    line.trim_matches('|').split('|').map(str::trim).skip(1).collect()
}

fn machine() -> Machine {
    Machine {
        cores: 2,
        processor: "Some CPU".into(),
        kernel: "6.1.0".into(),
        load: "3.50".into(),
        flush: spread(900, 2_000),
        stall: Duration::from_millis(3),
    }
}

fn table() -> String {
    let machine = machine();
    let how = Circumstances {
        version: "galatea 0.1.0".into(),
        own_build: true,
        optimised: true,
        quick: false,
        starts: 10,
    };
    render(&figures(), &machine, &how)
}

#[test]
fn figures_stand_beside_targets_and_peers() {
    let table = table();
    assert_eq!(
        cells(&table, "p50, one room"),
        [
            "**0.95 ms**",
            "**1.10 ms**",
            "–",
            "–",
            "ZeroClaw 3.8 ms, Koishi 1.3 ms, elizaOS 35 ms, teloxide 0.07 ms"
        ]
    );
    for (what, expected) in [
        ("answers/s, 100 rooms, one question each", ["**1,500**", "**1,500**", "–", "–"]),
        ("answers/s, 100 rooms, flood", ["**1,234,567**", "**999**", "≥ 1,000", "Telegram"]),
        ("p99, 100 rooms at half that pace", ["**51 ms**", "**51 ms**", "≤ 50 ms", "no"]),
        ("answers out of turn or twice, 1,000 rooms at once", ["**0**", "**0**", "≤ 0", "yes"]),
        ("SQL statements per answer, one room", ["**6.0**", "**6.5**", "–", "–"]),
        (
            "added to a model that takes 200 ms, p50",
            ["**1.50 ms**", "**1.50 ms**", "≤ 5.00 ms", "yes"],
        ),
        ("written to the disk per answer, one room", ["**61.5 KiB**", "**61.5 KiB**", "–", "–"]),
        (
            "the last 20 s of the flood, of the first 20 s",
            ["**98 %**", "**98 %**", "≥ 97 %", "yes"],
        ),
        ("per further agent", ["**0.10 MiB**", "the same", "–", "–"]),
        (
            "idle memory, one agent on the platform",
            ["**33.2 MiB**", "**15.0 MiB**", "≤ 32.0 MiB", "Discord"],
        ),
    ] {
        assert_eq!(cells(&table, what)[..4], expected, "{what}");
    }
}

#[test]
fn what_was_not_measured_is_neither_met_nor_missed() {
    assert_eq!(
        cells(&table(), "handed out to confirmed after its commit, p99 at half pace")[..4],
        ["not reported", "not reported", "≤ 10 ms", "–"]
    );
}

#[test]
fn every_row_has_the_columns_of_the_head() {
    let table = table();
    let counts: Vec<usize> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.matches('|').count())
        .collect();
    assert!(counts.len() > 15 && counts.iter().all(|n| *n == 7), "{table}");
}

#[test]
fn the_machine_and_a_doubtful_run_are_reported() {
    let table = table();
    for part in [
        "2 cores (Some CPU)",
        "Linux 6.1.0",
        "p50 0.90 ms, p99 2.00 ms, and 3.00 ms at worst",
        "load average 3.50",
        "release build",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!table.contains("without optimisation") && !table.contains("--quick"));
    let machine = machine();
    let how = Circumstances {
        version: "galatea 0.1.0".into(),
        own_build: false,
        optimised: false,
        quick: true,
        starts: 3,
    };
    let doubtful = render(&figures(), &machine, &how);
    for part in ["--binary", "--quick", "without optimisation"] {
        assert!(doubtful.contains(part), "{part}: {doubtful}");
    }
}

#[test]
fn only_what_is_between_the_marks_changes() {
    let page = format!("# Head\n\n{BEGIN}\nold\n{END}\n\nFoot\n");
    let once = insert(&page, "new\n").unwrap();
    assert_eq!(once, format!("# Head\n\n{BEGIN}\n\nnew\n\n{END}\n\nFoot\n"));
    assert_eq!(insert(&once, "new\n").unwrap(), once);
    assert!(insert("# Head", "new").is_err());
    assert!(insert(BEGIN, "new").is_err());
}
