//! `cargo xtask soak`: answers at an even pace for a long time, and looks whether memory or open files grow.

use anyhow::{Context, Result, bail};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    child::{Child, Launch},
    load::{self, Amount},
    proc,
    stage::Stage,
};

/// What to run, and for how long.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Soak {
    /// How long to answer
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Questions a second, over 100 rooms
    #[arg(long, default_value_t = 20.0)]
    pace: f64,
    /// Runs this program in place of a release build of this checkout
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Asked at a stretch; between two of them memory is looked at.
const STRETCH: Duration = Duration::from_secs(10);
/// Between two lines of progress.
const MINUTE: Duration = Duration::from_secs(60);
/// Caches fill for so long; what they take then is no leak.
const WARM_UP: f64 = 0.4;
/// More than the noise of an allocator between two halves of a run.
const GROWTH: f64 = 4.0;
/// Connections come and go.
const FILES: usize = 8;

/// A look at the process.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Hours since the start.
    at: f64,
    /// Resident memory in MiB.
    resident: f64,
    /// Open files.
    files: usize,
}

/// Runs and judges.
pub(crate) fn run(root: &Path, soak: &Soak) -> Result<()> {
    let target = super::target(root)?;
    let binary = match &soak.binary {
        Some(binary) => std::path::absolute(binary).with_context(|| format!("cannot find {}", binary.display()))?,
        None => super::build(root, &target)?,
    };
    let folder = tempfile::Builder::new().prefix("soak-").tempdir_in(&target).context("cannot make a folder for the data of the run")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the loopback servers")?;
    let looks = runtime.block_on(async {
        let mut end = signal(SignalKind::terminate()).context("cannot listen for signals")?;
        tokio::select! {
            looks = answer(root, &binary, folder.path(), soak) => looks,
            // Ended this way the program is ended, too.
            _ = end.recv() => bail!("stopped"),
        }
    })?;
    judge(&looks)
}

async fn answer(root: &Path, binary: &Path, folder: &Path, soak: &Soak) -> Result<Vec<Look>> {
    let stage = Stage::set().await?;
    let platform = stage.telegram();
    let (settings, helper) = (stage.settings(&platform), [root.join("characters/helper.json")]);
    let child = Child::start(&Launch { binary, home: folder, data: &folder.join("data"), characters: &helper, settings: &settings })?;
    child.ready().await?;
    let (begun, lasting) = (Instant::now(), Duration::from_secs(soak.minutes * 60));
    let (mut looks, mut answers, mut told) = (Vec::new(), 0, Duration::ZERO);
    while begun.elapsed() < lasting {
        let load = load::run(&platform, &child, Amount::patient(soak.pace, STRETCH)).await?;
        if load.misplaced > 0 {
            bail!("{} answers came out of turn or twice", load.misplaced);
        }
        answers += load.answers;
        let files = fs::read_dir(format!("/proc/{}/fd", child.pid())).context("cannot count open files")?.count();
        let resident = proc::resident(child.pid())?;
        looks.push(Look { at: begun.elapsed().as_secs_f64() / 3600.0, resident, files });
        if begun.elapsed() >= told + MINUTE {
            told = begun.elapsed();
            eprintln!("--- {} of {} min: {answers} answers, {resident:.1} MiB, {files} open files", told.as_secs() / 60, soak.minutes);
        }
    }
    child.stop().await?;
    eprintln!("--- {answers} answers in {} min", soak.minutes);
    let violations = stage.close();
    if !violations.is_empty() {
        bail!("the program broke the rules of a service:\n{}", violations.join("\n"));
    }
    Ok(looks)
}

/// Prints how memory went, and fails when it or the number of open files grew by more than noise.
fn judge(looks: &[Look]) -> Result<()> {
    let warm = looks.get((looks.len() as f64 * WARM_UP) as usize..).filter(|warm| warm.len() >= 4).context("too short to tell anything")?;
    let (first, second) = warm.split_at(warm.len() / 2);
    let (before, after) = (median(first, |look| look.resident), median(second, |look| look.resident));
    let (few, many) = (median(first, |look| look.files as f64), median(second, |look| look.files as f64));
    writeln!(
        std::io::stdout(),
        "resident memory after warm-up: {before:.1} MiB, then {after:.1} MiB; slope {:.2} MiB/h (least squares over {} looks); open files {few:.0}, then {many:.0}",
        slope(warm),
        warm.len()
    )?;
    if after - before > GROWTH || many - few > FILES as f64 {
        bail!("memory or open files grow");
    }
    Ok(())
}

fn median(looks: &[Look], value: impl Fn(&Look) -> f64) -> f64 {
    let mut values: Vec<f64> = looks.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Least squares: MiB per hour.
fn slope(looks: &[Look]) -> f64 {
    let count = looks.len() as f64;
    let (mean_at, mean) = (looks.iter().map(|l| l.at).sum::<f64>() / count, looks.iter().map(|l| l.resident).sum::<f64>() / count);
    let above: f64 = looks.iter().map(|l| (l.at - mean_at) * (l.resident - mean)).sum();
    let below: f64 = looks.iter().map(|l| (l.at - mean_at).powi(2)).sum();
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(growth: f64) -> Vec<Look> {
        (0..60).map(|n| Look { at: f64::from(n) / 360.0, resident: 30.0 + growth * f64::from(n) / 360.0, files: 20 }).collect()
    }

    #[test]
    fn a_leak_fails_and_evenness_does_not() {
        assert!((slope(&looks(3.0)) - 3.0).abs() < 1e-9);
        assert!(judge(&looks(1.0)).is_ok());
        assert!(judge(&looks(120.0)).is_err());
        let mut files = looks(0.0);
        files.iter_mut().skip(45).for_each(|look| look.files = 90);
        assert!(judge(&files).is_err());
        assert!(judge(&looks(0.0)[..3]).is_err(), "nothing is told by three looks");
    }
}
