//! Two programs under the same loads in turn, part by part. A shared machine changes its speed within
//! minutes, so whole runs one after another differ by more than two versions do.

use anyhow::{Context, Result, bail};
use std::{io::Write as _, num::NonZeroUsize, ops::Range, path::Path};

use super::{
    Plan,
    child::{Child, Program},
    figures::Load,
    load::Amount,
    scene::Scene,
    stage::Stage,
};

/// Parts in which the database is filled.
const FILLING: usize = 2;
/// Rounds of one part with one question in each of 100 rooms.
const ROUNDS: usize = 20;
/// Questions of one part in one room.
const ONE_ROOM: usize = 500;
/// Questions of one part of a flood.
const FLOOD: usize = 5_000;

/// A load of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Which {
    /// A question in each of 100 rooms, the first after a restart
    Restart,
    /// A question in each of 100 rooms
    Rooms,
    /// A single room, one question at a time
    OneRoom,
    /// As many questions as are fetched
    Flood,
}

/// The loads to compare, and how often.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Compare {
    /// Compares under this load only, after the database was filled; repeat it for several
    #[arg(long = "load", value_enum, value_name = "LOAD", requires = "against")]
    loads: Vec<Which>,
    /// Parts of each load; each program is first in half of an even number
    #[arg(long, value_name = "N", default_value = "6", requires = "against")]
    parts: NonZeroUsize,
}

impl Compare {
    fn wants(&self, load: Which) -> bool {
        self.loads.is_empty() || self.loads.contains(&load)
    }
}

/// A figure of both programs in each part.
struct Compared {
    unit: &'static str,
    parts: Vec<[f64; 2]>,
}

impl Compared {
    fn of(unit: &'static str, loads: &[[Load; 2]], figure: impl Fn(&Load) -> f64) -> Self {
        let parts = loads.iter().map(|[one, other]| [figure(one), figure(other)]).collect();
        Self { unit, parts }
    }

    /// The medians of both, then the median, the lowest and the highest change from the other to the
    /// one in a part, in percent.
    fn line(&self) -> String {
        let one = median(self.parts.iter().map(|[one, _]| *one));
        let other = median(self.parts.iter().map(|[_, other]| *other));
        let mut changes: Vec<f64> =
            self.parts.iter().map(|[one, other]| (one / other - 1.0) * 100.0).collect();
        changes.sort_by(f64::total_cmp);
        let of = |at: Option<&f64>| at.copied().unwrap_or_default();
        format!(
            "| {} | {one:.2} | {other:.2} | {:+.0} % | {:+.0} to {:+.0} % |",
            self.unit,
            median(changes.iter().copied()),
            of(changes.first()),
            of(changes.last()),
        )
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    let upper = numbers.len() / 2;
    let lower = numbers.len().saturating_sub(1) / 2;
    match (numbers.get(lower), numbers.get(upper)) {
        (Some(lower), Some(upper)) => (lower + upper) / 2.0,
        _ => 0.0,
    }
}

/// Runs the loads of Telegram with SQLite on both programs and prints a table.
///
/// # Errors
/// If an answer is missing, misplaced, or against the platform's rules.
pub(super) async fn run(
    root: &Path,
    programs: [&Path; 2],
    folder: &Path,
    plan: &Plan,
    how: &Compare,
) -> Result<()> {
    let stages = [Stage::set().await?, Stage::set().await?];
    let scene = |which: usize, name| {
        let (stage, platform) = (&stages[which], stages[which].telegram());
        let settings = stage.settings(&platform);
        let program = Program::Galatea(programs[which]);
        Scene { name, stage, platform, settings, root, program, folder }
    };
    let scenes = [scene(0, "this"), scene(1, "other")];
    let start = async || -> Result<[Child; 2]> {
        let children = [scenes[0].start("load")?, scenes[1].start("load")?];
        for child in &children {
            child.ready().await?;
        }
        Ok(children)
    };
    let mut table = vec![
        "| | this | other | change | in the parts |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    let mut add = |what: &str, loads: &[[Load; 2]]| {
        table.push(format!("| **{what}** | | | | |"));
        table.push(Compared::of("answers/s", loads, |load| load.per_second).line());
        table.push(Compared::of("p50, ms", loads, |load| millis(load.wait.p50)).line());
        table.push(Compared::of("p99, ms", loads, |load| millis(load.wait.p99)).line());
        table.push(Compared::of("processor time, ms", loads, |load| load.cpu).line());
        let with_rest = |load: &Load| load.cpu + load.cpu_afterwards;
        table.push(Compared::of("the same with what follows, ms", loads, with_rest).line());
    };

    let stop = async |children: [Child; 2]| -> Result<()> {
        for child in children {
            child.stop().await?;
        }
        Ok(())
    };

    let mut children = start().await?;
    let (what, amount) = ("filling the database", Amount::whole(plan.fill / FILLING));
    add(what, &in_turn(&scenes, &children, what, 0..FILLING, amount).await?);

    let limit = plan.rooms.limit;
    let (what, rooms) =
        ("100 rooms, one question each", Amount::rooms(ROUNDS.min(plan.rooms.rounds), limit));
    let after_restart = format!("{what}, after a restart");
    if how.wants(Which::Restart) {
        let mut loads = Vec::with_capacity(how.parts.get());
        for part in 0..how.parts.get() {
            stop(children).await?;
            children = start().await?;
            loads.extend(in_turn(&scenes, &children, &after_restart, part..part + 1, rooms).await?);
        }
        add(&after_restart, &loads);
    }
    let one_room = Amount::one_by_one(ONE_ROOM.min(plan.one_room.rounds), limit);
    let flood = Amount::whole(FLOOD.min(plan.flood.questions));
    for (load, what, amount) in [
        (Which::Rooms, what, rooms),
        (Which::OneRoom, "one room, one question at a time", one_room),
        (Which::Flood, "100 rooms, flood", flood),
    ] {
        if how.wants(load) {
            add(what, &in_turn(&scenes, &children, what, 0..how.parts.get(), amount).await?);
        }
    }
    stop(children).await?;
    let table = table.join("\n") + "\n";
    std::io::stdout().write_all(table.as_bytes()).context("cannot write to stdout")?;
    for stage in stages {
        let violations = stage.close();
        if !violations.is_empty() {
            bail!("a program broke the rules of a service:\n{}", violations.join("\n"));
        }
    }
    Ok(())
}

/// A load in parts on both in turn. The first program begins in the parts with an even number.
async fn in_turn(
    scenes: &[Scene<'_>; 2],
    children: &[Child; 2],
    what: &str,
    parts: Range<usize>,
    amount: Amount,
) -> Result<Vec<[Load; 2]>> {
    let mut loads = Vec::with_capacity(parts.len());
    for part in parts {
        let run = async |which: usize| scenes[which].step(what, &children[which], amount).await;
        loads.push(if part % 2 == 0 {
            let one = run(0).await?;
            [one, run(1).await?]
        } else {
            let other = run(1).await?;
            [run(0).await?, other]
        });
    }
    if loads.iter().flatten().any(|load| load.misplaced > 0) {
        bail!("answers came out of turn, twice, or to nothing");
    }
    Ok(loads)
}

fn millis(duration: std::time::Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_compared_part_by_part() {
        let parts = vec![[10.0, 8.0], [30.0, 20.0], [20.0, 20.0]];
        let compared = Compared { unit: "answers/s", parts };
        assert_eq!(compared.line(), "| answers/s | 20.00 | 20.00 | +25 % | +0 to +50 % |");
        assert_eq!(median([1.0, 4.0].into_iter()), 2.5);
    }
}
