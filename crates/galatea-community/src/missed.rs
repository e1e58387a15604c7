//! WHAT_DID_I_MISS: sums up what was said in this Room since the person who asks wrote last.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, Memory, MemoryKind, Result, Turn, rights::Scope,
    store::MemoryQuery,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use crate::{feature, tell};

pub(crate) struct Missed;

/// Name of the feature.
const FEATURE: &str = "missed";
/// Messages that are summed up at most, the newest.
const MOST: u32 = 300;
/// A person who wrote within this time took part in the conversation before it.
const PRESENT: Duration = Duration::from_secs(600);

/// Nothing: the action knows who asks.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MissedParams {}

#[async_trait]
impl Action for Missed {
    const NAME: &'static str = "WHAT_DID_I_MISS";
    const SCOPE: Scope = Scope::Conversation;
    type Params = MissedParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Sum up what the speaker missed in this room since they wrote last, when they ask what they missed.",
            &["CATCH_UP", "SUMMARIZE_ROOM", "WHAT_HAPPENED"],
        )
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(!turn.room.kind.is_direct() && feature::is_on(turn, FEATURE))
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        _: MissedParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let agent = turn.agent.identity.id();
        let query = MemoryQuery::new(agent, MOST).room(turn.room.id).kind(MemoryKind::Messages);
        let mut messages = turn.store.memories(&query).await?;
        messages.reverse();
        let missed = since(&messages, turn);
        let text = if missed.is_empty() {
            None
        } else {
            let what = "Sum up this part of a group's conversation for a person who was away: the topics, what was decided, and questions that are still open, in at most six short lines.";
            tell::summed_up(turn.models, turn.now(), what, &tell::lines(missed.iter().copied()))
                .await?
        };
        let Some(text) = text else {
            return Ok(ActionResult::ok("nothing was missed")
                .own()
                .say(Content::text("You missed nothing here.")));
        };
        let count = missed.len();
        Ok(ActionResult::ok(format!("{count} messages were summed up"))
            .own()
            .say(Content::text(format!("Since you were here last ({count} messages):\n\n{text}"))))
    }
}

/// The messages behind the last one of the person before now, without their own.
fn since<'a>(messages: &'a [Memory], turn: &Turn<'_>) -> Vec<&'a Memory> {
    let (person, itself) = (turn.message.entity_id, turn.agent.identity.entity());
    let away = |memory: &Memory| {
        memory.entity_id == person
            && turn.message.created_at.since(memory.created_at) > PRESENT
            && memory.id != turn.message.id
    };
    let from = messages.iter().rposition(away).map_or(0, |at| at + 1);
    let rest = messages.get(from..).unwrap_or_default();
    rest.iter().filter(|memory| memory.entity_id != person && memory.entity_id != itself).collect()
}
