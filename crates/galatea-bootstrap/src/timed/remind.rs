//! REMIND_ME: reminds the person who asks of something, in the Room where they asked.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, MemoryId, Result, TaskContext, TaskMessage,
    TaskOutcome, TaskWorker, Turn, Zone, rights::Scope, speakers, store::RequestedChange,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

use super::{
    LONGEST,
    timing::{Words, in_words, timing},
    too_many, zone,
};
use crate::words;

pub(crate) struct RemindMe;
/// Says reminders at their time.
pub(crate) struct ReminderWorker;

const NAME: &str = "REMIND_ME";
/// A reminder that is said so much later says when it was due.
const LATE: Duration = Duration::from_secs(300);

/// What and when.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RemindParams {
    /// What the person wants to be reminded of, such as `call mum`.
    text: String,
    /// Time from now, such as `30 min`, `2 hours` or `3 days`.
    #[serde(default, rename = "in")]
    after: Option<String>,
    /// In place of `in`: local time of the person, such as `18:30`, `tomorrow 9:00` or
    /// `2026-12-31 09:00`.
    #[serde(default)]
    at: Option<String>,
    /// Only if it repeats: `day`, `weekday`, `week`, `month`, `2 hours`, `monday`, or a cron rule.
    #[serde(default)]
    every: Option<String>,
    /// Time zone or city of the person, only if they said it.
    #[serde(default)]
    zone: Option<String>,
}

#[async_trait]
impl Action for RemindMe {
    const NAME: &'static str = NAME;
    const SCOPE: Scope = Scope::Speaker;
    type Params = RemindParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Remind the speaker of something later, when they ask for it. Pass the time as they said it: `in` for a time from now, `at` for a time of day. It says the time back by itself.",
            &["REMINDER", "SET_REMINDER", "CREATE_REMINDER", "SET_ALARM", "TIMER"],
        )
    }

    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: RemindParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let text = words::line(&params.text, LONGEST);
        if text.is_empty() {
            return Ok(ActionResult::failed("it is missing what to remind of"));
        }
        if let Some(why) = too_many(turn).await? {
            return Ok(ActionResult::failed(why));
        }
        let person = turn.message.entity_id;
        let said = Words::new(params.after.as_ref(), params.at.as_ref(), params.every.as_ref());
        let known = zone::of(turn, person).await?;
        let named = params.zone.as_deref().map(str::trim).filter(|zone| !zone.is_empty());
        let new = named.and_then(Zone::of_place);
        let mut effects: Vec<RequestedChange> = Vec::new();
        let zone = match (&new, &known.zone) {
            (Some(new), _) => {
                effects.push(zone::remember(person, new));
                new.clone()
            }
            (None, Some(known)) => known.clone(),
            (None, None) if said.is_local() && !known.was_asked => {
                let text = "no reminder is set yet: the person was asked for their time zone; when they answer, call REMIND_ME again with it";
                let question = format!(
                    "Which time zone are you in? A city is enough. Otherwise I take {}.",
                    turn.agent.zone.name()
                );
                return Ok(ActionResult::ok(text)
                    .say(Content::text(question))
                    .effect(zone::asked(person)));
            }
            (None, None) => (*turn.agent.zone).clone(),
        };
        let timing = match timing(said, turn.now(), &zone) {
            Ok(timing) => timing,
            Err(why) => return Ok(ActionResult::failed(why)),
        };
        let mut task = super::task(turn, NAME, &text, timing.due, timing.schedule.clone());
        task.tags.push("REMINDER".to_owned());
        task.metadata.insert("zone".to_owned(), json!(zone.name()));
        if let Some(name) = speakers::name_in(turn.message) {
            task.metadata.insert("name".to_owned(), json!(speakers::display(name)));
        }
        let when = in_words(&timing, &zone);
        effects.push(RequestedChange::SaveTask { task: Box::new(task) });
        let mut result = ActionResult::ok(format!("a reminder is set for {when}: {text}"))
            .say(Content::text(format!("I will remind you on {when}: {text}")));
        result.effects = effects;
        Ok(result)
    }
}

#[async_trait]
impl TaskWorker for ReminderWorker {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
        let task = context.task;
        let Some(room) = task.room_id else { return Ok(TaskOutcome::default()) };
        let text = |key: &str| task.metadata.get(key).and_then(|value| value.as_str());
        let direct = context.room.is_some_and(|room| room.kind.is_direct());
        let to = match text("name").filter(|name| !direct && !name.is_empty()) {
            Some(name) => format!("{name}, your reminder"),
            None => "Your reminder".to_owned(),
        };
        let mut said = format!("⏰ {to}: {}", task.description);
        if context.now.since(context.slot) > LATE {
            let zone = text("zone").and_then(Zone::named);
            let zone = zone.as_ref().unwrap_or(&context.agent.zone);
            let due = zone.local(context.slot).moment();
            said.push_str(&format!("\n(It was due on {due}; I could not say it then.)"));
        }
        let reply_to =
            text("message").and_then(|id| id.parse::<MemoryId>().ok()).filter(|_| !direct);
        let message = TaskMessage { room, content: Content::text(said), reply_to };
        Ok(TaskOutcome { say: vec![message], ..TaskOutcome::default() })
    }
}
