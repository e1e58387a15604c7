//! The table: figures beside targets and peers, as Markdown, and its place in the page.

use anyhow::{Context, Result};
use std::{fmt::Write as _, time::Duration};

use super::{
    figures::{Figures, Load, Memory},
    machine::Machine,
};

/// Frame of the figures in docs/benchmarks.md.
const BEGIN: &str = "<!-- figures: written by `cargo xtask bench --write` -->";
const END: &str = "<!-- figures end -->";
/// What nobody measured.
const NONE: &str = "–";

/// How the run came about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Circumstances {
    /// What the program calls itself, such as `galatea 0.1.0`.
    pub(super) version: String,
    /// Built by the command, not given by a path.
    pub(super) own_build: bool,
    /// The loopback servers are built with optimisation.
    pub(super) optimised: bool,
    /// A short run.
    pub(super) quick: bool,
    /// Starts per kind.
    pub(super) starts: usize,
}

/// What a figure should be.
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

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    PerSecond,
    Millis,
    Mebibytes,
    Count,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => thousands(value),
            Self::Millis if value < 10.0 => format!("{value:.2} ms"),
            Self::Millis => format!("{value:.0} ms"),
            Self::Mebibytes if value < 1.0 => format!("{value:.2} MiB"),
            Self::Mebibytes => format!("{value:.1} MiB"),
            Self::Count => format!("{value:.1}"),
        }
    }
}

/// Peers on a busy 2-core machine: ZeroClaw, a Koishi echo without storage, elizaOS, a bare teloxide echo. One throughput figure each.
type Peers = [&'static str; 4];

struct Row {
    what: String,
    unit: Unit,
    value: Option<f64>,
    goal: Option<Goal>,
    peers: Peers,
}

impl Row {
    fn new(what: impl Into<String>, unit: Unit, value: f64) -> Self {
        Self { what: what.into(), unit, value: Some(value), goal: None, peers: [NONE; 4] }
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
        let Self { what, unit, value, goal, peers } = self;
        let ours = value.map_or_else(|| "not told".to_owned(), |v| format!("**{}**", unit.show(v)));
        let (goal, met) = match goal {
            None => (NONE.to_owned(), NONE),
            Some(goal) => {
                let shown = match goal {
                    Goal::AtLeast(least) => format!("≥ {}", unit.show(*least)),
                    Goal::AtMost(most) => format!("≤ {}", unit.show(*most)),
                };
                (shown, value.map_or(NONE, |v| if goal.is_met(v) { "yes" } else { "no" }))
            }
        };
        format!("| {what} | {ours} | {goal} | {met} | {} |\n", peers.join(" | "))
    }
}

/// The table and what it was measured on.
pub(super) fn render(figures: &Figures, machine: &Machine, how: &Circumstances) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n", on(machine, how));
    text.push_str("| | Galatea | target | met | ZeroClaw | Koishi echo, nothing stored | elizaOS | bare teloxide echo |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for row in rows(figures) {
        text.push_str(&row.render());
    }
    let _ = write!(text, "\n{}", counted(figures));
    text
}

/// Replaces what stands between the marks of a page.
///
/// # Errors
/// When a mark is missing.
pub(super) fn insert(page: &str, figures: &str) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("the page has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("the page has no line {END}"))?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", figures.trim_end()))
}

fn on(machine: &Machine, how: &Circumstances) -> String {
    let Machine { cores, processor, kernel, load, flush } = machine;
    let build = if how.own_build { "release build" } else { "a program given with `--binary`" };
    let mut text = format!(
        "{}, {build}. Machine: {cores} cores ({processor}), Linux {kernel}, load average {load} before the run, fdatasync after 4 KiB in the data folder's file system p50 {} and p99 {}.",
        how.version,
        Unit::Millis.show(millis(flush.p50)),
        Unit::Millis.show(millis(flush.p99)),
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
    let Figures { one_room, rooms, flood, .. } = figures;
    format!(
        "Answers counted: {} in one room, {} and {} in {} rooms. The loopback servers, which share the machine, took {} of processor time per answer in one room and {} in the flood.\n",
        thousands(one_room.answers as f64),
        thousands(rooms.answers as f64),
        thousands(flood.answers as f64),
        Figures::ROOMS,
        Unit::Millis.show(one_room.servers_cpu),
        Unit::Millis.show(flood.servers_cpu),
    )
}

fn rows(figures: &Figures) -> Vec<Row> {
    let Figures { one_room, rooms, flood, first_start, restart, memory, size } = figures;
    let several = Figures::ROOMS;
    let mut all = vec![
        Row::new("answers/s, one room, one question at a time", Unit::PerSecond, one_room.per_second),
        wait("p50, one room", one_room.wait.p50).goal(Goal::AtMost(1.0)).peers(["3.8 ms", "1.3 ms", "35 ms", "0.07 ms"]),
        wait("p99, one room", one_room.wait.p99).goal(Goal::AtMost(5.0)),
        Row::new(format!("answers/s, {several} rooms, one question each"), Unit::PerSecond, rooms.per_second).goal(Goal::AtLeast(1500.0)),
        wait(format!("p50, {several} rooms, one question each"), rooms.wait.p50),
        wait(format!("p99, {several} rooms, one question each"), rooms.wait.p99),
        Row::new(format!("answers/s, {several} rooms, flood"), Unit::PerSecond, flood.per_second)
            .goal(Goal::AtLeast(1500.0))
            .peers(["448", "876", "34", "29,750"]),
        wait(format!("p50, {several} rooms, flood"), flood.wait.p50),
        wait(format!("p99, {several} rooms, flood"), flood.wait.p99),
    ];
    for (name, load) in [("one room", one_room), ("flood", flood)] {
        all.push(Row::new(format!("processor time per answer, {name}"), Unit::Millis, load.cpu).goal(Goal::AtMost(0.35)));
    }
    for (name, load) in [("one room", one_room), ("flood", flood)] {
        all.push(statements(name, load));
    }
    all.extend([
        wait("restart to `ready in`", restart.line).goal(Goal::AtMost(50.0)),
        wait("restart to `/readyz` 200", restart.readyz).goal(Goal::AtMost(50.0)).peers(["101 ms", NONE, "734 ms", "12 ms"]),
        wait("first start, new database, to `ready in`", first_start.line),
        wait("first start, new database, to `/readyz` 200", first_start.readyz),
        Row::new("idle memory, one agent on Telegram", Unit::Mebibytes, memory.idle).goal(Goal::AtMost(20.0)).peers(["38 MiB", NONE, "79–429 MiB", "6 MiB"]),
        Row::new("the same after the loads", Unit::Mebibytes, memory.after_load),
        Row::new("idle memory, one agent without connectors", Unit::Mebibytes, memory.one),
        Row::new(format!("idle memory, {} agents without connectors", Memory::MANY), Unit::Mebibytes, memory.many),
        Row::new("per further agent", Unit::Mebibytes, memory.further()).goal(Goal::AtMost(0.1)),
        Row::new("the program's file", Unit::Mebibytes, *size),
    ]);
    all
}

fn wait(what: impl Into<String>, took: Duration) -> Row {
    Row::new(what, Unit::Millis, millis(took))
}

fn statements(name: &str, load: &Load) -> Row {
    Row { value: load.statements, ..Row::new(format!("SQL statements per answer, {name}"), Unit::Count, 0.0) }.goal(Goal::AtMost(6.0))
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// A whole number with commas.
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
