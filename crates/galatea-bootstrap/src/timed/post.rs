//! SCHEDULE_POST: says given words in this Room at a time, for those who may change how the Room is
//! served.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, EntityId, Result, Role, TaskContext, TaskOutcome,
    TaskWorker, Turn, Zone,
    rights::{self, Scope},
    store::RequestedChange,
};
use schemars::JsonSchema;
use serde::Deserialize;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    timing::{Words, in_words, timing},
    too_many, zone,
};
use crate::rights::{is_change_offered, may_change_room};

pub(crate) struct SchedulePost;
/// Says posts at their time.
pub(crate) struct PostWorker;

const NAME: &str = "SCHEDULE_POST";
/// Longest post, in graphemes.
const LONGEST: usize = 4_000;

/// What and when.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PostParams {
    /// The words to post, as Markdown.
    text: String,
    /// Time from now, such as `30 min`, `2 hours` or `3 days`.
    #[serde(default, rename = "in")]
    after: Option<String>,
    /// In place of `in`: local time, such as `18:30`, `tomorrow 9:00` or `2026-12-31 09:00`.
    #[serde(default)]
    at: Option<String>,
    /// Only if it repeats: `day`, `weekday`, `week`, `month`, `2 hours`, `monday`, or a cron rule.
    #[serde(default)]
    every: Option<String>,
    /// Time zone or city of that time, only if they said it.
    #[serde(default)]
    zone: Option<String>,
}

#[async_trait]
impl Action for SchedulePost {
    const NAME: &'static str = NAME;
    const SCOPE: Scope = Scope::Room;
    type Params = PostParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Post given words in this room at a later time, when an admin asks for it. To remind one person, use REMIND_ME.",
            &["SCHEDULE_MESSAGE", "SCHEDULE_ANNOUNCEMENT", "POST_LATER"],
        )
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(!turn.room.kind.is_direct() && is_change_offered(turn)?)
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: PostParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        if !may_change_room(turn)? {
            return Ok(ActionResult::failed("only admins of this room may schedule posts"));
        }
        let text: String = params.text.trim().graphemes(true).take(LONGEST).collect();
        if text.is_empty() {
            return Ok(ActionResult::failed("there is nothing to post"));
        }
        if let Some(why) = too_many(turn).await? {
            return Ok(ActionResult::failed(why));
        }
        let named = params.zone.as_deref().and_then(Zone::of_place);
        let zone = match named {
            Some(zone) => zone,
            None => zone::of(turn, turn.message.entity_id)
                .await?
                .zone
                .unwrap_or_else(|| (*turn.agent.zone).clone()),
        };
        let said = Words::new(params.after.as_ref(), params.at.as_ref(), params.every.as_ref());
        let timing = match timing(said, turn.now(), &zone) {
            Ok(timing) => timing,
            Err(why) => return Ok(ActionResult::failed(why)),
        };
        let mut task = super::task(turn, NAME, &text, timing.due, timing.schedule.clone());
        task.tags.push("POST".to_owned());
        let when = in_words(&timing, &zone);
        Ok(ActionResult::ok(format!("the post is scheduled for {when}"))
            .say(Content::text(format!("I will post this on {when}.")))
            .effect(RequestedChange::SaveTask { task: Box::new(task) }))
    }
}

/// True if a person may still have the agent post in the Room of a task.
fn may_still(context: &TaskContext<'_>, person: EntityId) -> Result<bool> {
    let Some(room) = context.room else { return Ok(false) };
    let owners = rights::owners(&context.agent.settings, room.source.as_str())?;
    let owns =
        owners.iter().any(|id| EntityId(context.agent.identity.swizzle(&id.to_string())) == person);
    Ok(room.kind.is_direct() || owns || rights::role(context.world, person) >= Role::Admin)
}

#[async_trait]
impl TaskWorker for PostWorker {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
        match context.task.entity_id {
            Some(person) if !may_still(context, person)? => {
                // The person who asked has lost the right to it.
                Ok(TaskOutcome { done: true, ..TaskOutcome::default() })
            }
            _ => Ok(TaskOutcome::default()
                .say_here(context, Content::text(context.task.description.clone()))),
        }
    }
}
