//! `cargo xtask bench`: measures the release binary end to end. Telegram, Discord and the model are
//! loopback servers in this process.

mod child;
mod compare;
mod figures;
mod fill;
mod growth;
mod load;
mod machine;
mod proc;
mod prompts;
mod recall;
mod scene;
pub(crate) mod soak;
mod stage;
mod table;

use anyhow::{Context, Result, bail};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use child::{Child, Launch, Program};
use figures::{Figures, Memory};
use load::Amount;
use scene::{Scene, rested};
use stage::{Platform, Stage};
use table::Circumstances;
use xtask::{cargo, output, target};

/// The page that contains the figures.
const PAGE: &str = "docs/benchmarks.md";
/// The loads to measure, and where the figures go.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Bench {
    /// A short run: fewer questions and starts
    #[arg(long)]
    quick: bool,
    /// Writes the table into docs/benchmarks.md
    #[arg(long)]
    write: bool,
    /// Measures this program in place of a release build of this checkout
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Keeps the data of the run in this folder's file system; the build's target folder if unset
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Runs the loopback servers as they were built: to try the benchmark, not to believe it
    #[arg(long)]
    unoptimised: bool,
    /// Runs only the flood with PostgreSQL and prints its figures line by line, without a table
    #[arg(long, conflicts_with = "write")]
    only_postgres: bool,
    /// Runs only the loads with SQLite on this platform and prints their figures line by line, without a
    /// table
    #[arg(long, value_enum, value_name = "PLATFORM", conflicts_with_all = ["write", "only_postgres"])]
    only: Option<Only>,
    /// Runs the same loads on another program in place of Galatea: a shell command that reads the
    /// platform's address and token from Galatea's variables and answers each message with its
    /// number, as an echo does
    #[arg(long, value_name = "COMMAND", requires = "only", conflicts_with = "binary")]
    other: Option<String>,
    /// Compares the measured program with this one, under the loads of Telegram with SQLite, part by
    /// part in turn
    #[arg(long, value_name = "PATH", conflicts_with_all = ["write", "only_postgres", "only"])]
    against: Option<PathBuf>,
    #[command(flatten)]
    compare: compare::Compare,
    #[command(flatten)]
    recall: recall::Recall,
    /// Prints what the prompts of a recorded talk cost
    #[arg(long, conflicts_with = "recall")]
    prompts: bool,
}

/// A platform by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    Telegram,
    Discord,
}

/// The amounts that a run measures.
struct Plan {
    warm_up: Amount,
    /// Questions that the database holds before the loads, each with its answer: 100,000 messages.
    fill: usize,
    thinking: Amount,
    one_room: Amount,
    rooms: Amount,
    flood: Amount,
    large: Amount,
    half: Duration,
    starts: usize,
}

impl Plan {
    fn new(quick: bool) -> Self {
        let limit = Duration::from_secs(if quick { 10 } else { 40 });
        let pick = |short, long| if quick { short } else { long };
        let flood = Duration::from_secs(if quick { 10 } else { 60 });
        Self {
            warm_up: Amount::rooms(pick(1, 5), limit),
            fill: pick(2_000, 50_000),
            thinking: Amount::one_by_one(pick(10, 100), limit),
            one_room: Amount::one_by_one(pick(300, 4_000), limit),
            rooms: Amount::rooms(pick(10, 100), limit),
            flood: Amount::flood(pick(1_000, 300_000), flood),
            large: Amount::large(pick(1, 5), limit),
            half: Duration::from_secs(if quick { 3 } else { 20 }),
            starts: pick(3, 10),
        }
    }
}

/// Builds, measures and prints, and writes the page if requested.
pub(crate) fn run(root: &Path, bench: &Bench) -> Result<()> {
    if bench.recall.is_wanted() {
        return recall::run(root, &bench.recall);
    }
    if bench.prompts {
        return prompts::run(root);
    }
    if cfg!(debug_assertions) && !bench.unoptimised {
        bail!(
            "slow servers would make the program look slow: run `cargo xtask bench`, which builds with optimisation"
        );
    }
    let target = target(root)?;
    let absolute = |binary: &Path| {
        std::path::absolute(binary).with_context(|| format!("cannot find {}", binary.display()))
    };
    let binary = match &bench.binary {
        Some(binary) => absolute(binary)?,
        None if bench.other.is_some() => PathBuf::new(),
        None => build(root, &target)?,
    };
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(bench.data.as_deref().unwrap_or(&target))
        .context("cannot make a folder for the data of the run")?;
    eprintln!("--- machine");
    let machine = machine::look(folder.path())?;
    let plan = Plan::new(bench.quick);
    // A single thread, so that the servers leave the other processors to the program.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the loopback servers")?;
    if bench.only_postgres {
        return runtime.block_on(measure_postgres(root, &binary, folder.path(), &plan));
    }
    if let Some(other) = &bench.against {
        let other = absolute(other)?;
        return runtime.block_on(compare::run(
            root,
            [&binary, &other],
            folder.path(),
            &plan,
            &bench.compare,
        ));
    }
    if let Some(only) = bench.only {
        let program = bench.other.as_deref().map_or(Program::Galatea(&binary), Program::Other);
        return runtime.block_on(measure_one(root, program, folder.path(), &plan, only));
    }
    let (figures, violations) = runtime.block_on(measure(root, &binary, folder.path(), &plan))?;
    let how = Circumstances {
        version: output(version(&binary))?.trim().to_owned(),
        own_build: bench.binary.is_none(),
        optimised: !cfg!(debug_assertions),
        quick: bench.quick,
        starts: plan.starts,
    };
    let table = table::render(&figures, &machine, &how);
    std::io::stdout().write_all(table.as_bytes()).context("cannot write to stdout")?;
    let misplaced: usize = figures.loads().map(|load| load.misplaced).sum();
    if misplaced > 0 {
        bail!("{misplaced} answers came out of turn, twice, or to nothing");
    }
    if !violations.is_empty() {
        bail!(
            "the program broke the rules of a service, so these figures are not to be trusted:\n{}",
            violations.join("\n")
        );
    }
    if bench.write {
        let page = root.join(PAGE);
        let text = fs::read_to_string(&page).with_context(|| format!("cannot read {PAGE}"))?;
        fs::write(&page, table::insert(&text, &table)?)
            .with_context(|| format!("cannot write {PAGE}"))?;
        eprintln!("--- written into {PAGE}");
    }
    Ok(())
}

fn build(root: &Path, target: &Path) -> Result<PathBuf> {
    eprintln!("--- building the program");
    let status = cargo(root, &["build", "--release", "--locked", "--package", "galatea"])
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the release build failed ({status})");
    }
    Ok(target.join("release").join("galatea"))
}

fn version(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    command.arg("--version");
    command
}

/// Measures starts first, because they need an idle machine most; then memory; then loads, one
/// platform after the other. Also returns the program's violations of platform rules.
async fn measure(
    root: &Path,
    binary: &Path,
    folder: &Path,
    plan: &Plan,
) -> Result<(Figures, Vec<String>)> {
    let size = fs::metadata(binary)
        .with_context(|| format!("cannot find {}", binary.display()))?
        .len() as f64
        / f64::from(1 << 20);
    let characters = characters(folder)?;
    let stage = Stage::set().await?;
    let off = stage.settings_offstage();
    let (telegram, discord) = (stage.telegram(), stage.discord());
    let scene = |name, platform: &Platform| Scene {
        name,
        stage: &stage,
        platform: platform.clone(),
        settings: stage.settings(platform),
        root,
        program: Program::Galatea(binary),
        folder,
    };
    let (on_telegram, on_discord) = (scene("Telegram", &telegram), scene("Discord", &discord));

    let telegram_starts = on_telegram.starts(plan.starts).await?;
    let discord_starts = on_discord.starts(plan.starts).await?;

    eprintln!("--- memory of 1 and of {} idle agents", Memory::MANY);
    let mut bare = Vec::new();
    for count in [1, Memory::MANY] {
        let data = folder.join(format!("agents-{count}"));
        let child = Child::start(&Launch {
            program: Program::Galatea(binary),
            home: folder,
            data: &data,
            characters: &characters[..count],
            settings: &off,
        })?;
        child.ready().await?;
        bare.push(rested(&child).await?);
        child.stop().await?;
    }
    let memory = Memory { one: bare[0], many: bare[1] };

    let telegram = on_telegram.loads(plan, telegram_starts).await?;
    let discord = on_discord.loads(plan, discord_starts).await?;
    Ok((Figures { telegram, discord, memory, size }, stage.close()))
}

/// Measures only the floods with PostgreSQL, for work on that store.
async fn measure_postgres(root: &Path, binary: &Path, folder: &Path, plan: &Plan) -> Result<()> {
    let stage = Stage::set().await?;
    let program = Program::Galatea(binary);
    for (name, platform) in [("Telegram", stage.telegram()), ("Discord", stage.discord())] {
        let settings = stage.settings(&platform);
        let on = Scene { name, stage: &stage, platform, settings, root, program, folder }
            .on_postgres(plan)
            .await?;
        if on.flood.misplaced > 0 {
            bail!("{} answers came out of turn, twice, or to nothing", on.flood.misplaced);
        }
    }
    match stage.close() {
        violations if violations.is_empty() => Ok(()),
        violations => bail!("the program broke the rules of a service:\n{}", violations.join("\n")),
    }
}

/// Measures only the loads of one platform, for work on the turn.
async fn measure_one(
    root: &Path,
    program: Program<'_>,
    folder: &Path,
    plan: &Plan,
    only: Only,
) -> Result<()> {
    let stage = Stage::set().await?;
    let (name, platform) = match only {
        Only::Telegram => ("Telegram", stage.telegram()),
        Only::Discord => ("Discord", stage.discord()),
    };
    let settings = stage.settings(&platform);
    let scene = Scene { name, stage: &stage, platform, settings, root, program, folder };
    match program {
        Program::Galatea(_) => scene.on_sqlite(plan).await.map(|_| ())?,
        Program::Other(_) => {
            scene.on_other(plan).await?;
            // Its rules are its own affair.
            stage.close();
            return Ok(());
        }
    }
    match stage.close() {
        violations if violations.is_empty() => Ok(()),
        violations => bail!("the program broke the rules of a service:\n{}", violations.join("\n")),
    }
}

/// Writes character files for generated agents, each with its own name.
fn characters(folder: &Path) -> Result<Vec<PathBuf>> {
    let write = |n: usize| {
        let path = folder.join(format!("agent-{n}.json"));
        let character = serde_json::json!({
            "name": format!("Bench Agent {n}"),
            "system": "Answer in one short sentence.",
            "bio": [format!("Number {n} of many."), "Was made to be counted."],
            "topics": ["counting", "waiting"],
            "messageExamples": [[
                { "name": "{{user1}}", "content": { "text": "who are you?" } },
                { "name": format!("Bench Agent {n}"), "content": { "text": format!("Number {n}.") } },
            ]],
        });
        fs::write(&path, character.to_string())
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    };
    (1..=Memory::MANY).map(write).collect()
}
