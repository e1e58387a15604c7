//! DAILY_REPORT: says each day at a time what a Room talked about since the last report.

use async_trait::async_trait;
use galatea_core::rights::Standing;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, MemoryKind, Result, Schedule, Task, TaskContext,
    TaskOutcome, TaskWorker, Timestamp, Turn, Zone,
    rights::Scope,
    standing,
    store::{MemoryQuery, RequestedChange, TaskQuery, TaskRun},
    when,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use crate::tell;

pub(crate) struct DailyReport;
/// Writes reports at their time.
pub(crate) struct Reporter;

const NAME: &str = "DAILY_REPORT";
/// Messages of a report at most, the newest.
const MOST: u32 = 400;
/// Fewer messages are no report.
const LEAST: usize = 3;
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// When.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReportParams {
    /// Time of day, such as `18:00`.
    at: String,
    /// Time zone or city of that time, if they said it.
    #[serde(default)]
    zone: Option<String>,
}

#[async_trait]
impl Action for DailyReport {
    const NAME: &'static str = NAME;
    const SCOPE: Scope = Scope::Room;
    type Params = ReportParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Report each day what this room talked about, when an admin asks for daily reports. /reminders ends them.",
            &["START_DAILY_REPORT", "DAILY_SUMMARY"],
        )
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(!turn.room.kind.is_direct() && standing::highest_present(turn)? >= Standing::Admin)
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: ReportParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let zone = params.zone.as_deref().and_then(Zone::of_place);
        let zone = zone.unwrap_or_else(|| (*turn.agent.zone).clone());
        let Some((minute, hour)) = when::clock(&params.at) else {
            return Ok(ActionResult::failed("that is no time of day; write it as `18:00`").own());
        };
        let rule = Schedule::cron(&format!("{minute} {hour} * * *"), zone.name())?;
        let agent = turn.agent.identity.id();
        let mut result =
            ActionResult::ok("daily reports are on").own().say(Content::text(format!(
                "I will report here each day at {hour:02}:{minute:02} ({}). /reminders ends it.",
                zone.name()
            )));
        let room = turn.store.scheduled(agent, TaskQuery::Room(turn.room.id), 100).await?;
        let due = rule.next(turn.now())?.unwrap_or(turn.now());
        // One report a Room: a second wish changes its time.
        let mut task = match room.into_iter().find(|task| task.name == NAME) {
            Some(known) => known,
            None => Task::new(agent, NAME, "the daily report", due),
        };
        task.due = due;
        task.room_id = Some(turn.room.id);
        task.world_id = Some(turn.room.world_id);
        task.run = Some(Box::new(TaskRun { quiet: true, ..TaskRun::by(rule) }));
        result.effects.push(RequestedChange::SaveTask { task: Box::new(task) });
        Ok(result)
    }
}

#[async_trait]
impl TaskWorker for Reporter {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
        let Some(room) = context.task.room_id else { return Ok(TaskOutcome::default()) };
        let agent = context.agent.identity.id();
        let day = i64::try_from(DAY.as_millis()).unwrap_or(i64::MAX);
        let last = context.task.run.as_ref().and_then(|run| run.last_run);
        let since = last.unwrap_or(Timestamp(context.slot.0.saturating_sub(day)));
        let query = MemoryQuery {
            since: Some(since),
            ..MemoryQuery::new(agent, MOST).room(room).kind(MemoryKind::Messages)
        };
        let mut messages = context.store.memories(&query).await?;
        messages.reverse();
        messages.retain(|memory| memory.entity_id != context.agent.identity.entity());
        if messages.len() < LEAST {
            return Ok(TaskOutcome::default());
        }
        let what = "Write the daily report of a group's conversation: the topics, what was decided, and questions that are still open, in at most eight short lines.";
        let text =
            tell::summed_up(context.models, context.now, what, &tell::lines(&messages)).await?;
        let Some(text) = text else { return Ok(TaskOutcome::default()) };
        let date = context.agent.zone.local(context.slot).date();
        let said = format!("**{date}**, {} messages:\n\n{text}", messages.len());
        Ok(TaskOutcome::default().say_here(context, Content::text(said)))
    }
}
