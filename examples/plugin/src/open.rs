//! The action that opens a poll.

use async_trait::async_trait;
use galatea_core::{Action, ActionDocs, ActionResult, Content, Result, Turn, rights::Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{most, poll::Poll};

/// Opens a poll in the Room in place of the one before.
pub(crate) struct OpenPoll;

/// Arguments of OPEN_POLL. The comments are what the model reads of them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Question {
    /// The question, in the words of the person who asks it.
    question: String,
    /// The options, at least two.
    options: Vec<String>,
}

#[async_trait]
impl Action for OpenPoll {
    const NAME: &'static str = "OPEN_POLL";
    /// Whoever takes part in the conversation may have it done.
    const SCOPE: Scope = Scope::Conversation;
    /// It writes while it runs, so a turn that runs again after a crash does not do it twice.
    const SIDE_EFFECT: bool = true;
    type Params = Question;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("Opens a poll in this room.", &["START_POLL", "ASK_GROUP"])
    }

    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        asked: Question,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        // A plugin reads the settings that it declares, and no others.
        let most = turn.agent.settings.parse::<usize>(&most(), "a whole number")?.unwrap_or(8);
        if asked.options.len() < 2 || asked.options.len() > most {
            return Ok(ActionResult::failed(format!("a poll has from 2 to {most} options")));
        }
        let poll = Poll::new(asked.question, asked.options);
        let before = Poll::load(turn).await?;
        if !poll.save(turn, before.as_ref()).await? {
            return Ok(ActionResult::failed("another poll was opened at the same time"));
        }
        turn.events.publish("opened", serde_json::json!({ "options": poll.options.len() }));
        Ok(ActionResult::ok("the poll is open").say(Content::text(poll.describe())))
    }
}
