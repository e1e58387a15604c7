//! Renders the figures next to targets and other programs as Markdown, and inserts them into the
//! page.

mod rows;

use anyhow::{Context, Result};
use std::{fmt::Write as _, time::Duration};

use super::{
    figures::{Figures, OnPlatform, OnSqlite},
    machine::Machine,
};

/// Markers around the figures in docs/benchmarks.md.
const BEGIN: &str = "<!-- figures: written by `cargo xtask bench --write` -->";
const END: &str = "<!-- figures end -->";
/// Stands for a value that was not measured.
const NONE: &str = "–";

/// Circumstances of the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Circumstances {
    /// Output of `--version`, such as `galatea 0.1.0`.
    pub(super) version: String,
    /// True if the program was built by this command; otherwise its path was given.
    pub(super) own_build: bool,
    /// True if the loopback servers are optimised.
    pub(super) optimised: bool,
    /// True if it was a short run.
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
    /// Other programs, measured on a busy 2-core machine: ZeroClaw, a Koishi echo bot without
    /// storage, elizaOS, a minimal teloxide echo bot.
    peers: &'static str,
}

impl Row {
    fn new(what: impl Into<String>, unit: Unit, values: Values) -> Self {
        Self { what: what.into(), unit, values, goal: None, peers: NONE }
    }

    fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    fn peers(mut self, peers: &'static str) -> Self {
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
        format!("| {what} | {ours} | {target} | {} | {peers} |\n", self.met())
    }

    /// The answer to "is the target met": yes, no, or the platform on which it is.
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
    text.push_str("| | on Telegram | on Discord | target | met | other programs |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for row in rows::of(figures) {
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
        let OnSqlite { one_room, rooms, flood, .. } = &on.sqlite;
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
