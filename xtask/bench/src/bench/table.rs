//! Renders the figures next to targets and other programs as Markdown, and inserts them into the
//! page.

use anyhow::{Context, Result};
use std::{fmt::Write as _, time::Duration};

use super::{
    figures::{Figures, Memory, OnPlatform},
    machine::Machine,
};

/// Markers around the figures in docs/benchmarks.md.
const BEGIN: &str = "<!-- figures: written by `cargo xtask bench --write` -->";
const END: &str = "<!-- figures end -->";
/// Stands for a value that was not measured.
const NONE: &str = "–";

/// How the run was made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Circumstances {
    /// Output of `--version`, such as `galatea 0.1.0`.
    pub(super) version: String,
    /// Whether the program was built by this command; otherwise its path was given.
    pub(super) own_build: bool,
    /// Whether the loopback servers are optimised.
    pub(super) optimised: bool,
    /// Whether it was a short run.
    pub(super) quick: bool,
    /// Number of starts per kind.
    pub(super) starts: usize,
}

/// Target of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}

/// Unit of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    PerSecond,
    Millis,
    Kibibytes,
    Mebibytes,
    Count,
    Percent,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => thousands(value),
            Self::Millis if value < 10.0 => format!("{value:.2} ms"),
            Self::Millis => format!("{value:.0} ms"),
            Self::Mebibytes if value < 1.0 => format!("{value:.2} MiB"),
            Self::Mebibytes => format!("{value:.1} MiB"),
            Self::Kibibytes => format!("{value:.1} KiB"),
            Self::Percent => format!("{value:.0} %"),
            Self::Count => format!("{value:.1}"),
        }
    }
}

/// Other programs, measured on a busy 2-core machine: ZeroClaw, a Koishi echo bot without storage,
/// elizaOS, a minimal teloxide echo bot. One throughput figure each.
type Peers = [&'static str; 4];

/// A figure per platform, or one that does not depend on the platform. `None` if it was not
/// reported.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Values {
    Each([Option<f64>; 2]),
    Whole(f64),
}

struct Row {
    what: String,
    unit: Unit,
    values: Values,
    goal: Option<Goal>,
    peers: Peers,
}

impl Row {
    fn new(what: impl Into<String>, unit: Unit, values: Values) -> Self {
        Self { what: what.into(), unit, values, goal: None, peers: [NONE; 4] }
    }

    fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    fn peers(mut self, peers: Peers) -> Self {
        self.peers = peers;
        self
    }

    fn render(&self) -> String {
        let Self { what, unit, values, goal, peers } = self;
        let shown = |value: Option<f64>| {
            value.map_or_else(|| "not reported".to_owned(), |v| format!("**{}**", unit.show(v)))
        };
        let ours = match *values {
            Values::Each([telegram, discord]) => {
                format!("{} | {}", shown(telegram), shown(discord))
            }
            Values::Whole(value) => format!("{} | the same", shown(Some(value))),
        };
        let target = match goal {
            None => NONE.to_owned(),
            Some(Goal::AtLeast(least)) => format!("≥ {}", unit.show(*least)),
            Some(Goal::AtMost(most)) => format!("≤ {}", unit.show(*most)),
        };
        format!("| {what} | {ours} | {target} | {} | {} |\n", self.met(), peers.join(" | "))
    }

    /// Whether the target is met, and on which platform.
    fn met(&self) -> &'static str {
        let Some(goal) = self.goal else { return NONE };
        let each = match self.values {
            Values::Each(each) => each,
            Values::Whole(value) => [Some(value); 2],
        };
        match each.map(|value| value.map(|v| goal.is_met(v))) {
            [None, None] => NONE,
            [Some(true) | None, Some(true) | None] => "yes",
            [Some(false) | None, Some(false) | None] => "no",
            [Some(true), _] => "Telegram",
            [_, Some(true)] => "Discord",
        }
    }
}

/// The table, and a description of the machine.
pub(super) fn render(figures: &Figures, machine: &Machine, how: &Circumstances) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n", on(machine, how));
    text.push_str("| | on Telegram | on Discord | target | met | ZeroClaw | Koishi echo, nothing stored | elizaOS | bare teloxide echo |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for row in rows(figures) {
        text.push_str(&row.render());
    }
    let _ = write!(text, "\n{}", counted(figures));
    text
}

/// Replaces the text between the markers of a page.
///
/// # Errors
/// If a marker is missing.
pub(super) fn insert(page: &str, figures: &str) -> Result<String> {
    let (before, rest) =
        page.split_once(BEGIN).with_context(|| format!("the page has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("the page has no line {END}"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", figures.trim_end()))
}

fn on(machine: &Machine, how: &Circumstances) -> String {
    let Machine { cores, processor, kernel, load, flush, stall } = machine;
    let build = if how.own_build { "release build" } else { "a program given with `--binary`" };
    let mut text = format!(
        "{}, {build}. Machine: {cores} cores ({processor}), Linux {kernel}, load average {load} before the run, fdatasync after 4 KiB in the data folder's file system p50 {}, p99 {}, and {} at worst within ten seconds.",
        how.version,
        Unit::Millis.show(millis(flush.p50)),
        Unit::Millis.show(millis(flush.p99)),
        Unit::Millis.show(millis(*stall)),
    );
    if how.quick {
        text.push_str(" A short run (`--quick`).");
    }
    if !how.optimised {
        text.push_str(" The loopback servers ran without optimisation: the figures are worse than they should be.");
    }
    let _ = write!(text, " Starts: median of {}.", how.starts);
    text
}

fn counted(figures: &Figures) -> String {
    let line = |name: &str, on: &OnPlatform| {
        let OnPlatform { one_room, rooms, flood, .. } = on;
        format!(
            "Answers counted on {name}: {} in one room, {} and {} in {} rooms. The loopback servers, which share the machine, took {} of processor time per answer in one room and {} in the flood.\n",
            thousands(one_room.answers as f64),
            thousands(rooms.answers as f64),
            thousands(flood.answers as f64),
            Figures::ROOMS,
            Unit::Millis.show(one_room.servers_cpu),
            Unit::Millis.show(flood.servers_cpu),
        )
    };
    format!("{}\n{}", line("Telegram", &figures.telegram), line("Discord", &figures.discord))
}

fn rows(figures: &Figures) -> Vec<Row> {
    let Figures { telegram, discord, memory, size } = figures;
    let each =
        |look: fn(&OnPlatform) -> f64| Values::Each([Some(look(telegram)), Some(look(discord))]);
    let wait = |what: &str, look: fn(&OnPlatform) -> Duration| {
        Row::new(
            what,
            Unit::Millis,
            Values::Each([telegram, discord].map(|on| Some(millis(look(on))))),
        )
    };
    let reported =
        |look: fn(&OnPlatform) -> Option<f64>| Values::Each([look(telegram), look(discord)]);
    let several = Figures::ROOMS;
    vec![
        Row::new(
            "answers/s, one room, one question at a time",
            Unit::PerSecond,
            each(|on| on.one_room.per_second),
        ),
        wait("p50, one room", |on| on.one_room.wait.p50)
            .goal(Goal::AtMost(1.0))
            .peers(["3.8 ms", "1.3 ms", "35 ms", "0.07 ms"]),
        wait("p99, one room", |on| on.one_room.wait.p99).goal(Goal::AtMost(4.0)),
        wait("added to a model that takes 200 ms, p50", |on| {
            on.thinking.wait.p50.saturating_sub(Figures::THINKING)
        })
        .goal(Goal::AtMost(2.0)),
        Row::new(
            format!("answers/s, {several} rooms, one question each"),
            Unit::PerSecond,
            each(|on| on.rooms.per_second),
        ),
        wait(&format!("p50, {several} rooms, one question each"), |on| on.rooms.wait.p50),
        wait(&format!("p99, {several} rooms, one question each"), |on| on.rooms.wait.p99),
        Row::new(
            format!("answers/s, {several} rooms, flood"),
            Unit::PerSecond,
            each(|on| on.flood.per_second),
        )
        .goal(Goal::AtLeast(4000.0))
        .peers(["448", "876", "34", "29,750"]),
        Row::new(
            "the last 20 s of the flood, of the first 20 s",
            Unit::Percent,
            each(|on| on.flood.lasting * 100.0),
        )
        .goal(Goal::AtLeast(97.0)),
        wait(&format!("p50, {several} rooms, flood"), |on| on.flood.wait.p50),
        wait(&format!("p99, {several} rooms, flood"), |on| on.flood.wait.p99),
        wait(&format!("p50, {several} rooms at half that pace"), |on| on.half.wait.p50),
        wait(&format!("p99, {several} rooms at half that pace"), |on| on.half.wait.p99)
            .goal(Goal::AtMost(50.0)),
        Row::new(
            "handed out to confirmed after its commit, p99 at half pace",
            Unit::Millis,
            reported(|on| on.half.ack.map(|ack| millis(ack.p99))),
        )
        .goal(Goal::AtMost(10.0)),
        Row::new(
            format!("answers/s, {} rooms at once", thousands(Figures::LARGE as f64)),
            Unit::PerSecond,
            each(|on| on.large.per_second),
        ),
        Row::new(
            format!(
                "answers out of turn or twice, {} rooms at once",
                thousands(Figures::LARGE as f64)
            ),
            Unit::PerSecond,
            each(|on| on.large.misplaced as f64),
        )
        .goal(Goal::AtMost(0.0)),
        Row::new(
            format!("answers/s with PostgreSQL, {several} rooms, flood"),
            Unit::PerSecond,
            each(|on| on.postgres.per_second),
        )
        .goal(Goal::AtLeast(2500.0)),
        Row::new(
            "processor time per answer with PostgreSQL, flood",
            Unit::Millis,
            each(|on| on.postgres.cpu),
        ),
        Row::new(
            "rows written per answer with PostgreSQL, flood",
            Unit::Count,
            reported(|on| on.postgres.rows),
        ),
        Row::new(
            "write-ahead log per answer with PostgreSQL, flood",
            Unit::Kibibytes,
            each(|on| on.postgres_log),
        ),
        Row::new("processor time per answer, one room", Unit::Millis, each(|on| on.one_room.cpu)),
        Row::new("processor time per answer, flood", Unit::Millis, each(|on| on.flood.cpu))
            .goal(Goal::AtMost(0.25)),
        Row::new(
            "SQL statements per answer, one room",
            Unit::Count,
            reported(|on| on.one_room.statements),
        )
        .goal(Goal::AtMost(6.0)),
        Row::new(
            "SQL statements per answer, flood",
            Unit::Count,
            reported(|on| on.flood.statements),
        )
        .goal(Goal::AtMost(6.0)),
        Row::new("rows written per answer, one room", Unit::Count, reported(|on| on.one_room.rows)),
        Row::new("rows written per answer, flood", Unit::Count, reported(|on| on.flood.rows)),
        Row::new(
            "written to the disk per answer, one room",
            Unit::Kibibytes,
            each(|on| on.one_room.written),
        )
        .goal(Goal::AtMost(60.0)),
        Row::new(
            "written to the disk per answer, flood",
            Unit::Kibibytes,
            each(|on| on.flood.written),
        ),
        wait("restart to `ready in`", |on| on.restart.line),
        wait("restart to `/readyz` 200", |on| on.restart.readyz)
            .goal(Goal::AtMost(20.0))
            .peers(["101 ms", NONE, "734 ms", "12 ms"]),
        wait("restart on the filled database to `ready in`", |on| on.filled.line),
        wait("restart on the filled database to `/readyz` 200", |on| on.filled.readyz)
            .goal(Goal::AtMost(20.0)),
        wait("first start, new database, to `ready in`", |on| on.first_start.line),
        wait("first start, new database, to `/readyz` 200", |on| on.first_start.readyz)
            .goal(Goal::AtMost(40.0)),
        Row::new("idle memory, one agent on the platform", Unit::Mebibytes, each(|on| on.idle))
            .goal(Goal::AtMost(20.0))
            .peers(["38 MiB", NONE, "79–429 MiB", "6 MiB"]),
        Row::new("the same the moment the loads end", Unit::Mebibytes, each(|on| on.after_load))
            .goal(Goal::AtMost(60.0)),
        Row::new("the same 30 s after the loads", Unit::Mebibytes, each(|on| on.rested))
            .goal(Goal::AtMost(60.0)),
        Row::new(
            "idle memory, one agent without connectors",
            Unit::Mebibytes,
            Values::Whole(memory.one),
        ),
        Row::new(
            format!("idle memory, {} agents without connectors", Memory::MANY),
            Unit::Mebibytes,
            Values::Whole(memory.many),
        ),
        Row::new("per further agent", Unit::Mebibytes, Values::Whole(memory.further()))
            .goal(Goal::AtMost(0.1)),
        Row::new("the program's file", Unit::Mebibytes, Values::Whole(*size)),
    ]
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Formats a whole number with thousands separators.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
