//! The program with one agent on one platform, its starts and its loads.

use anyhow::{Context, Result, bail};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Plan,
    child::{Child, Launch, Program},
    figures::{Figures, Load, OnPlatform, OnPostgres, OnSqlite, Start, percentile},
    fill,
    load::{self, Amount},
    proc,
    stage::{Platform, Stage},
};
use galatea_testkit::postgres::{Database, Server, Written};

/// Pause between readiness and measuring the memory of an idle process.
const REST: Duration = Duration::from_secs(3);

/// Pause between the end of the loads and the second measurement of memory. When idle, the program
/// returns the memory of a burst to the system.
const REST_AFTER_LOADS: Duration = Duration::from_secs(30);

/// After a load, the program sums up and indexes what it has read, once its rooms were quiet for
/// `EVALUATION_PAUSE_SECONDS`. The next load is measured when it uses less than this share of a
/// processor for [`CALM`], which is longer.
const BUSY: f64 = 0.03;
const CALM: Duration = Duration::from_secs(10);
/// Longest wait for it.
const SETTLED: Duration = Duration::from_secs(120);

/// Time in which another program is filled.
const FILLING_ANOTHER: Duration = Duration::from_secs(120);

/// The program with one agent on one platform.
pub(super) struct Scene<'a> {
    pub(super) name: &'static str,
    pub(super) stage: &'a Stage,
    pub(super) platform: Platform,
    pub(super) settings: Vec<(&'static str, String)>,
    pub(super) root: &'a Path,
    pub(super) program: Program<'a>,
    pub(super) folder: &'a Path,
}

impl Scene<'_> {
    pub(super) fn start(&self, data: &str) -> Result<Child> {
        self.start_with(data, &self.settings)
    }

    fn start_with(&self, data: &str, settings: &[(&'static str, String)]) -> Result<Child> {
        let (data, helper) = (self.data(data), [self.root.join("characters/helper.json")]);
        Child::start(&self.launch(&data, &helper, settings))
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}-{name}", self.name))
    }

    fn launch<'a>(
        &'a self,
        data: &'a Path,
        characters: &'a [PathBuf],
        settings: &'a [(&'static str, String)],
    ) -> Launch<'a> {
        Launch { program: self.program, home: self.folder, data, characters, settings }
    }

    /// Measures first starts and restarts.
    pub(super) async fn starts(&self, count: usize) -> Result<(Start, Start)> {
        eprintln!("--- {}: {count} first starts and {count} restarts", self.name);
        let (mut first, mut again) = (Vec::new(), Vec::new());
        for n in 0..count {
            for times in [&mut first, &mut again] {
                let child = self.start(&format!("start-{n}"))?;
                times.push(child.ready().await?);
                child.stop().await?;
            }
        }
        self.platform.forget();
        Ok((median(first)?, median(again)?))
    }

    /// Measures restarts on data that is there.
    async fn restarts(&self, data: &str, count: usize) -> Result<Start> {
        eprintln!("--- {}: {count} restarts on the filled database", self.name);
        let mut times = Vec::new();
        for _ in 0..count {
            let child = self.start(data)?;
            times.push(child.ready().await?);
            child.stop().await?;
        }
        self.platform.forget();
        median(times)
    }

    async fn warm_up(&self, child: &Child, plan: &Plan) -> Result<usize> {
        let load = load::run(&self.platform, child, plan.warm_up).await;
        Ok(load.with_context(|| format!("warming up on {}", self.name))?.answers)
    }

    /// Fills the database of a program that has just been started for the first time, and checks
    /// that it holds exactly the planned questions with their answers: the figures hold for a
    /// database that is in use, not for an empty one.
    async fn fill(
        &self,
        child: &Child,
        plan: &Plan,
        data: &str,
        settings: &[(&'static str, String)],
    ) -> Result<()> {
        let asked = self.warm_up(child, plan).await?;
        let rest = Amount::whole(plan.fill.saturating_sub(asked));
        self.step("filling the database", child, rest).await?;
        let data = self.data(data);
        match self.launch(&data, &[], settings).audit().await? {
            Some(audit) => fill::check(&audit, plan.fill).context(self.name)?,
            None => bail!("only Galatea counts what its database holds"),
        }
        eprintln!("--- {}: the database holds {} answered questions", self.name, plan.fill);
        Ok(())
    }

    /// Measures the loads with SQLite, then the flood with PostgreSQL.
    pub(super) async fn loads(
        &self,
        plan: &Plan,
        (first_start, restart): (Start, Start),
    ) -> Result<OnPlatform> {
        let sqlite = self.on_sqlite(plan).await?;
        let postgres = self.on_postgres(plan).await?;
        Ok(OnPlatform { sqlite, postgres, first_start, restart })
    }

    /// The loads on another program, whose start and health are unknown. It has to answer each
    /// message of a private chat with one that contains its number (`#7`), as an echo does.
    pub(super) async fn on_other(&self, plan: &Plan) -> Result<()> {
        let child = self.start("other")?;
        self.warm_up(&child, plan).await?;
        // One that stores nothing is as fast afterwards. A slow one would take hours for the whole.
        let fill = Amount::flood(plan.fill, FILLING_ANOTHER);
        let filled = self.step("filling, as far as the time suffices", &child, fill).await?.answers;
        eprintln!("--- {}: {filled} of {} questions fill it, by its answers", self.name, plan.fill);
        self.step("one room, one question at a time", &child, plan.one_room).await?;
        self.step("100 rooms, one question each", &child, plan.rooms).await?;
        let flood = self.step("100 rooms, flood", &child, plan.flood).await?;
        self.half(&child, plan, &flood).await?;
        self.step("1,000 rooms at once", &child, plan.large).await?;
        Ok(())
    }

    /// The same rooms at half the pace of their flood.
    async fn half(&self, child: &Child, plan: &Plan, flood: &Load) -> Result<Load> {
        let amount = Amount::paced(flood.per_second / 2.0, plan.half);
        self.step("100 rooms, half the pace of the flood", child, amount).await
    }

    /// Fills a database, restarts on it, and measures memory and all loads.
    pub(super) async fn on_sqlite(&self, plan: &Plan) -> Result<OnSqlite> {
        let child = self.start("load")?;
        child.ready().await?;
        self.fill(&child, plan, "load", &self.settings).await?;
        child.stop().await?;
        let filled = self.restarts("load", plan.starts).await?;
        eprintln!("--- {}: ready {:?} after a restart", self.name, filled.readyz);
        let child = self.start("load")?;
        child.ready().await?;
        let idle = rested(&child).await?;
        eprintln!("--- {}: {idle:.1} MiB at rest", self.name);
        self.warm_up(&child, plan).await?;
        let one_room = self.step("one room, one question at a time", &child, plan.one_room).await?;
        self.stage.think(Figures::THINKING);
        let thinking = self.step("one room, a slow model", &child, plan.thinking).await;
        let thought = self.stage.thought();
        self.stage.think(Duration::ZERO);
        let thinking = thinking?;
        let added = thinking.wait.p50.saturating_sub(thought);
        eprintln!("--- {}: {added:?} added to a model that took {thought:?}", self.name);
        let rooms = self.step("100 rooms, one question each", &child, plan.rooms).await?;
        let flood = self.step("100 rooms, flood", &child, plan.flood).await?;
        let half = self.half(&child, plan, &flood).await?;
        let large = self.step("1,000 rooms at once", &child, plan.large).await?;
        let after_load = proc::resident(child.pid())?;
        tokio::time::sleep(REST_AFTER_LOADS).await;
        let rested = proc::resident(child.pid())?;
        eprintln!(
            "--- {}: {after_load:.1} MiB after the loads, {rested:.1} MiB {} s later",
            self.name,
            REST_AFTER_LOADS.as_secs()
        );
        child.stop().await?;
        Ok(OnSqlite {
            one_room,
            thinking,
            thought,
            rooms,
            flood,
            half,
            large,
            filled,
            idle,
            after_load,
            rested,
        })
    }

    /// The flood with a PostgreSQL server on this machine, with its default durability (`fsync` and
    /// `synchronous_commit` on).
    pub(super) async fn on_postgres(&self, plan: &Plan) -> Result<OnPostgres> {
        self.platform.forget();
        let server = tokio::task::spawn_blocking(Server::durable)
            .await
            .context("no PostgreSQL could be started")?;
        let database = Database::on(server.clone()).await;
        let mut settings = self.settings.clone();
        settings.push(("DATABASE_URL", database.url()));
        let child = self.start_with("postgres", &settings)?;
        child.ready().await?;
        self.fill(&child, plan, "postgres", &settings).await.context("with PostgreSQL")?;
        let (before, first) = (proc::cpu_of_family(server.pid())?, database.written().await);
        let mut flood = self.step("PostgreSQL, 100 rooms, flood", &child, plan.flood).await?;
        // A session reports its rows to the server when it has been idle: `step` waits for quiet.
        let last = database.written().await;
        let answers = flood.answers as f64;
        let used = proc::cpu_of_family(server.pid())?.saturating_sub(before).as_secs_f64() * 1000.0
            / answers;
        let per_answer = |of: fn(&Written) -> i64| (of(&last) - of(&first)) as f64 / answers;
        let (commits, rows) = (per_answer(|w| w.transactions), per_answer(|w| w.rows));
        let log = per_answer(|w| w.log_bytes) / 1024.0;
        let statements = flood.statements.unwrap_or_default();
        eprintln!(
            "--- {}: PostgreSQL itself: {used:.2} ms of processor time, {statements:.2} statements, {commits:.2} commits, {rows:.1} rows and {log:.1} KiB of write-ahead log per answer",
            self.name
        );
        flood.rows = Some(rows);
        child.stop().await?;
        drop(database);
        tokio::task::spawn_blocking(move || server.end())
            .await
            .context("PostgreSQL did not end")?;
        Ok(OnPostgres { flood, log })
    }

    /// Runs a load and prints its result at once, so that it is not lost if a later load fails.
    pub(super) async fn step(&self, what: &str, child: &Child, amount: Amount) -> Result<Load> {
        let name = format!("{}: {what}", self.name);
        eprintln!("--- {name}");
        let mut load =
            load::run(&self.platform, child, amount).await.with_context(|| name.clone())?;
        let Load { answers, per_second, wait, cpu, misplaced, written, lasting, .. } = &load;
        let out =
            if *misplaced == 0 { String::new() } else { format!(", {misplaced} OUT OF TURN") };
        let held = proc::resident(child.pid())?;
        eprintln!(
            "--- {name}: {answers} answers, {per_second:.0}/s, p50 {:?}, p99 {:?}, {cpu:.2} ms of processor time and {written:.1} KiB written each, {:.0} % at the end, {held:.0} MiB{out}",
            wait.p50,
            wait.p99,
            lasting * 100.0
        );
        let afterwards = settled(&name, child).await?;
        load.cpu_afterwards = afterwards * 1_000.0 / f64::from(u32::try_from(load.answers.max(1))?);
        Ok(load)
    }
}

/// Waits until the program has done what it left for a quiet time. Returns the seconds of processor time
/// that this took.
async fn settled(name: &str, child: &Child) -> Result<f64> {
    let (begun, first) = (Instant::now(), proc::cpu(child.pid())?);
    let (mut calm_since, mut before) = (begun, first);
    let look = CALM / 20;
    while calm_since.elapsed() < CALM && begun.elapsed() < SETTLED {
        tokio::time::sleep(look).await;
        let now = proc::cpu(child.pid())?;
        if now.saturating_sub(before).as_secs_f64() > BUSY * look.as_secs_f64() {
            calm_since = Instant::now();
        }
        before = now;
    }
    let worked = before.saturating_sub(first).as_secs_f64();
    let until = calm_since.saturating_duration_since(begun).as_secs_f64();
    if until > 0.0 {
        eprintln!(
            "--- {name}: {worked:.1} s of processor time afterwards, until {until:.1} s later"
        );
    }
    Ok(worked)
}

/// Memory after [`REST`], when one-time work after a start is finished. The pause is part of the
/// definition.
pub(super) async fn rested(child: &Child) -> Result<f64> {
    tokio::time::sleep(REST).await;
    proc::resident(child.pid())
}

fn median(starts: Vec<(Duration, Duration)>) -> Result<Start> {
    let (mut line, mut readyz): (Vec<_>, Vec<_>) = starts.into_iter().unzip();
    line.sort_unstable();
    readyz.sort_unstable();
    let half = |times: &[Duration]| percentile(times, 50).context("no start was measured");
    Ok(Start { line: half(&line)?, readyz: half(&readyz)? })
}
