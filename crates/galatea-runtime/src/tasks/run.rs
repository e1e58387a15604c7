//! Makes one run of a task: decides whether it is made, calls its worker, and commits what it says
//! together with the end of the run.

use futures::FutureExt;
use galatea_core::{
    AgentId, Error, ErrorKind, QuietHours, Result, Retry, Room, Task, TaskContext, TaskOutcome,
    Timestamp, World, kill_point,
    quiet_hours::QUIET_HOURS,
    store::{TaskRun, TaskState, UsageRow},
};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{
    claim::{Claimed, LEASE},
    commit::{self, End},
    hold,
};
use crate::{directory::RoomInfo, turn::Engine};

/// Longest time of a run.
const DEADLINE: Duration = Duration::from_secs(60);
/// Pause before the first repetition of a failed run; four times as long before the next one.
const AGAIN: Duration = Duration::from_secs(60);
/// Longest pause before a repetition, such as until a budget begins anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3_600);
/// Longest pause before a task whose platform is not connected, or whose Room is muted, is looked at
/// again. A platform that connects within seconds of the start is not waited for so long.
const HELD: Duration = Duration::from_secs(60);
/// The shortest such pause.
const HELD_LEAST: Duration = Duration::from_secs(2);

/// Code of a task that no plugin runs.
const UNKNOWN: &str = "GAL-TASK-WORKER";

/// Runs the tasks of one agent.
pub(crate) struct TaskRunner {
    engine: Arc<Engine>,
}

impl TaskRunner {
    pub(crate) fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Self { engine })
    }

    pub(super) fn agent(&self) -> AgentId {
        self.engine.view.identity.id()
    }

    /// Runs a claimed task in the background. The agent's end waits for it, and halts it where it is
    /// when that takes too long: its lease ends then, and another process runs it.
    pub(super) fn spawn(self: &Arc<Self>, task: Task, claim: Uuid, slot: OwnedSemaphorePermit) {
        let engine = self.engine.current();
        self.engine.background.until_halt(async move {
            let claimed = Claimed { task, claim };
            let (id, name) = (claimed.task.id, claimed.task.name.clone());
            if let Err(error) = run(&engine, claimed).await {
                // Its lease ends, and it is run again.
                tracing::warn!(agent = %engine.view.identity.id(), task = %id, name, error = %error.report(), "a run of a task could not be stored; it is made again when its lease ends");
            }
            drop(slot);
        });
    }
}

/// What becomes of a due task.
enum Verdict {
    /// It runs for this time.
    Run(Timestamp),
    /// This run is left out.
    Skip(&'static str),
    /// It is due again at this time; with the time for which it runs then, if that is another.
    Hold(Timestamp, Option<Timestamp>),
}

async fn run(engine: &Engine, claimed: Claimed) -> Result<()> {
    let now = engine.clock.now();
    let Some(rule) = claimed.task.run.as_deref() else { return Ok(()) };
    let decided = match rule.decide(claimed.task.due, now) {
        Ok(decided) => decided,
        Err(error) => return fail(engine, None, claimed, now, &error, Vec::new()).await,
    };
    let info = match claimed.task.room_id {
        Some(room) => engine.directory.rooms.load(&*engine.store, room).await?,
        None => None,
    };
    let verdict = match decided.slot {
        None => Verdict::Skip("its time passed while it could not be run"),
        Some(_) if claimed.task.room_id.is_some() && info.is_none() => {
            Verdict::Skip("its room is gone")
        }
        Some(slot) => verdict(engine, &claimed.task, rule, info.as_deref(), slot, now).await?,
    };
    let slot = match verdict {
        Verdict::Run(slot) => slot,
        Verdict::Skip(why) => {
            tracing::info!(agent = %claimed.task.agent_id, task = %claimed.task.id, name = claimed.task.name, why, "a run of a task is left out");
            let mut next = claimed.task.clone();
            next.due = decided.next.unwrap_or(next.due);
            if let Some(run) = next.run.as_deref_mut() {
                run.slot = None;
            }
            let end = End::silent(decided.next.map(|_| next));
            return commit::commit(engine, claimed, end, now).await;
        }
        Verdict::Hold(until, slot) => {
            let mut next = claimed.task.clone();
            next.due = until;
            if let Some(run) = next.run.as_deref_mut() {
                run.slot = slot;
            }
            return commit::commit(engine, claimed, End::silent(Some(next)), now).await;
        }
    };
    let (outcome, usage) = {
        let work = work(engine, &claimed.task, info.as_deref(), slot, now);
        tokio::select! {
            done = work => done,
            () = lost(engine, &claimed) => return Ok(()),
        }
    };
    kill_point("task.ran");
    match outcome {
        Ok(outcome) => {
            let next = decided.next.filter(|_| !outcome.done);
            let mut task = claimed.task.clone();
            task.metadata = outcome.metadata.unwrap_or(task.metadata);
            let end = End {
                next: task.after_run(slot, next),
                say: outcome.say,
                effects: outcome.effects,
                usage,
            };
            commit::commit(engine, claimed, end, now).await
        }
        Err(error) => fail(engine, info.as_deref(), claimed, slot, &error, usage).await,
    }
}

/// Renews the claim while the worker runs. Completes when another process has the task, or the task is
/// changed or gone: the run could take no effect any more.
async fn lost(engine: &Engine, claimed: &Claimed) {
    loop {
        tokio::time::sleep(LEASE / 3).await;
        let until = engine.clock.now().plus(LEASE);
        match engine.store.renew_task(claimed.task.id, claimed.claim, until).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(task = %claimed.task.id, error = %error.report(), "failed to renew the claim on a task; trying again");
            }
        }
    }
}

/// Whether the agent may say something by itself at the place of a task now.
async fn verdict(
    engine: &Engine,
    task: &Task,
    rule: &TaskRun,
    info: Option<&RoomInfo>,
    slot: Timestamp,
    now: Timestamp,
) -> Result<Verdict> {
    let Some(RoomInfo { room, world, own_state, .. }) = info else { return Ok(Verdict::Run(slot)) };
    let hold = || {
        // As long as a missed run may be made up for.
        if now.since(slot) > rule.within() {
            Verdict::Skip("it could not be said in time")
        } else {
            let pause = (now.since(slot) / 4).clamp(HELD_LEAST, HELD);
            Verdict::Hold(now.plus(pause), Some(slot))
        }
    };
    if engine.outbox.routes.ready(&room.source, &room.account).is_none()
        || hold::is_muted(*own_state)
    {
        return Ok(hold());
    }
    if rule.quiet {
        let of_agent = engine.view.settings.text(&QUIET_HOURS);
        let of_agent = of_agent.as_deref().and_then(QuietHours::read);
        let zone = &engine.view.zone;
        if let Some(until) = hold::quiet_until(world.as_ref(), of_agent.as_ref(), zone, now) {
            return Ok(Verdict::Hold(until, None));
        }
    }
    let person = match task.entity_id {
        Some(person) => engine.store.entities(&[person]).await?.pop(),
        None => None,
    };
    let policy = engine.policies.of(&room.source, &room.account)?;
    let blocks = engine.budget.blocks().await?;
    if hold::is_blocked(&policy, &blocks, room, world.as_ref(), person.as_ref()) {
        return Ok(Verdict::Skip("the person or the place is blocked"));
    }
    if let Some(person) = task.entity_id
        && !room.kind.is_direct()
        && hold::has_left(room, person, &engine.store.participants(room.id).await?)
    {
        return Ok(Verdict::Skip("the person has left the room"));
    }
    Ok(Verdict::Run(slot))
}

/// Calls the worker of a task.
async fn work(
    engine: &Engine,
    task: &Task,
    info: Option<&RoomInfo>,
    slot: Timestamp,
    now: Timestamp,
) -> (Result<TaskOutcome>, Vec<UsageRow>) {
    let registry = &engine.thinking.registry;
    let Some(worker) = registry.task_worker(&task.name) else {
        let missing = Error::new(ErrorKind::NotFound, "no plugin runs tasks of this name")
            .with_code(UNKNOWN)
            .with("name", &task.name)
            .with_fix("enable the plugin that made it, or remove the task: galatea task rm");
        return (Err(missing), Vec::new());
    };
    let meter = engine.budget.background(&engine.profile.services, "tasks");
    let models = meter.models(&engine.thinking.models);
    let (room, world): (Option<&Room>, Option<&World>) =
        (info.map(|info| &info.room), info.and_then(|info| info.world.as_ref()));
    let context = TaskContext {
        agent: worker.agent(),
        task,
        slot,
        now,
        room,
        world,
        store: &engine.thinking.plugins.store,
        cache: worker.cache(),
        models: &models,
        clock: &engine.clock,
    };
    let work = AssertUnwindSafe(worker.run(&context)).catch_unwind();
    let outcome = match tokio::time::timeout(DEADLINE, work).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Error::unexpected("the task crashed").with_code("GAL-TASK-PANIC")),
        Err(_) => Err(Error::new(ErrorKind::Timeout, "the task took longer than a minute")),
    };
    (outcome, meter.take())
}

/// Stores a failed run: it is made again, or the task pauses and says so.
async fn fail(
    engine: &Engine,
    info: Option<&RoomInfo>,
    claimed: Claimed,
    slot: Timestamp,
    error: &Error,
    usage: Vec<UsageRow>,
) -> Result<()> {
    let now = engine.clock.now();
    let attempts = claimed.task.run.as_deref().map_or(0, |run| run.attempts);
    let pause = match error.retry() {
        Retry::After(pause) => pause.min(LONGEST_PAUSE),
        Retry::Soon | Retry::Never => AGAIN * 4_u32.pow(attempts.min(3)),
    };
    let mut next = claimed.task.clone().after_failure(slot, error.to_string(), pause, now);
    // It cannot become better by itself, and people can do nothing about it.
    let is_unknown = error.code() == Some(UNKNOWN);
    if let Some(run) = next.run.as_deref_mut().filter(|_| is_unknown) {
        run.state = TaskState::Paused;
    }
    let paused = !next.is_waiting();
    tracing::warn!(agent = %next.agent_id, task = %next.id, name = next.name, code = error.code(), error = %error.report(), attempts = attempts + 1, paused, "a run of a task failed");
    let mut end = End::silent(Some(next));
    end.usage = usage;
    if paused
        && !is_unknown
        && let Some(info) = info
    {
        end.say_paused(&claimed.task, info.room.id);
    }
    commit::commit(engine, claimed, end, now).await
}
