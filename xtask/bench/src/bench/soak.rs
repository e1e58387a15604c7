//! `cargo xtask soak`: answers at a steady rate for a long time, and checks whether memory or open
//! files grow.

use anyhow::{Context, Result, bail};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    child::{Child, Launch, Program},
    growth::{self, Look},
    load::{self, Amount},
    proc,
    stage::Stage,
};

/// The program to run, and for how long.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Soak {
    /// Longest time of the run
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Ends after this many answers; none ends with the time
    #[arg(long)]
    answers: Option<usize>,
    /// Questions a second, over 100 rooms
    #[arg(long, default_value_t = 20.0)]
    pace: f64,
    /// Runs this program in place of a release build of this checkout
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Duration of the load between two samples.
const STRETCH: Duration = Duration::from_secs(10);
/// Interval of progress lines.
const MINUTE: Duration = Duration::from_secs(60);
/// Longest wait for idle connections to close. They are closed after 90 s (`galatea-http`); this
/// allows twice that time.
const QUIET: Duration = Duration::from_secs(180);

/// Runs the soak and judges it.
pub(crate) fn run(root: &Path, soak: &Soak) -> Result<()> {
    let target = xtask::target(root)?;
    let binary = match &soak.binary {
        Some(binary) => std::path::absolute(binary)
            .with_context(|| format!("cannot find {}", binary.display()))?,
        None => super::build(root, &target)?,
    };
    let folder = tempfile::Builder::new().prefix("soak-").tempdir_in(&target);
    let folder = folder.context("cannot make a folder for the data of the run")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let looks = runtime.context("cannot start the loopback servers")?.block_on(async {
        let mut end = signal(SignalKind::terminate()).context("cannot listen for signals")?;
        tokio::select! {
            looks = answer(root, &binary, folder.path(), soak) => looks,
            // Dropping the future also ends the child process.
            _ = end.recv() => bail!("stopped"),
        }
    })?;
    let verdict = growth::assess(&looks);
    writeln!(std::io::stdout(), "{verdict}")?;
    if verdict.is_growth() { bail!("memory or open files grow") } else { Ok(()) }
}

async fn answer(root: &Path, binary: &Path, folder: &Path, soak: &Soak) -> Result<Vec<Look>> {
    let stage = Stage::set().await?;
    let platform = stage.telegram();
    let (settings, helper) = (stage.settings(&platform), [root.join("characters/helper.json")]);
    let data = folder.join("data");
    let launch = Launch {
        program: Program::Galatea(binary),
        home: folder,
        data: &data,
        characters: &helper,
        settings: &settings,
    };
    let child = Child::start(&launch)?;
    child.ready().await?;
    let (begun, lasting) = (Instant::now(), Duration::from_secs(soak.minutes * 60));
    let enough = soak.answers.unwrap_or(usize::MAX);
    let (mut looks, mut answers, mut reported) = (Vec::new(), 0, Duration::ZERO);
    while begun.elapsed() < lasting && answers < enough {
        let load = load::run(&platform, &child, Amount::patient(soak.pace, STRETCH)).await?;
        if load.misplaced > 0 {
            bail!("{} answers came out of turn or twice", load.misplaced);
        }
        answers += load.answers;
        looks.push(look(child.pid(), answers)?);
        if begun.elapsed() >= reported + MINUTE {
            reported = begun.elapsed();
            let (minute, of) = (reported.as_secs() / 60, soak.minutes);
            let Look { resident, files, sockets, .. } = look(child.pid(), answers)?;
            eprintln!(
                "--- {minute} of {of} min: {answers} answers, {resident:.1} MiB, {files} files, {sockets} sockets"
            );
        }
    }
    eprintln!("--- {answers} answers in {:.1} min", begun.elapsed().as_secs_f64() / 60.0);
    // The number of open connections follows the load, so sockets are compared when idle.
    if let Some(first) = looks.first().copied() {
        let quiet = Instant::now();
        let mut last = look(child.pid(), answers)?;
        while last.sockets > first.sockets + growth::FILES && quiet.elapsed() < QUIET {
            tokio::time::sleep(Duration::from_secs(1)).await;
            last = look(child.pid(), answers)?;
        }
        looks.push(last);
    }
    child.stop().await?;
    let violations = stage.close();
    if !violations.is_empty() {
        bail!("the program broke the rules of a service:\n{}", violations.join("\n"));
    }
    Ok(looks)
}

fn look(pid: u32, answers: usize) -> Result<Look> {
    let open = proc::open_files(pid)?;
    Ok(Look { answers, resident: proc::resident(pid)?, files: open.files, sockets: open.sockets })
}
