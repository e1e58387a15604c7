//! The action that counts a vote.

use async_trait::async_trait;
use galatea_core::{Action, ActionDocs, ActionResult, Content, Result, Turn, rights::Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::poll::Poll;

/// Tries of a vote while others vote at the same moment.
const TRIES: u32 = 5;

/// Counts the vote of the person who is answered.
pub(crate) struct Vote;

/// Arguments of VOTE.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Ballot {
    /// The option, as the poll writes it.
    option: String,
}

#[async_trait]
impl Action for Vote {
    const NAME: &'static str = "VOTE";
    const SCOPE: Scope = Scope::Conversation;
    const SIDE_EFFECT: bool = true;
    type Params = Ballot;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("Counts the person's vote in the open poll.", &[])
    }

    // The model is not offered what makes no sense now.
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(Poll::load(turn).await?.is_some())
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        ballot: Ballot,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        for _ in 0..TRIES {
            let Some(before) = Poll::load(turn).await? else {
                return Ok(ActionResult::failed("no poll is open"));
            };
            let mut after = before.clone();
            // Who votes is who wrote the message, and never what a model says.
            if after.vote(turn.message.entity_id, &ballot.option).is_none() {
                let known = after.options.join(", ");
                return Ok(ActionResult::failed(format!("the options are: {known}")));
            }
            if after.save(turn, Some(&before)).await? {
                return Ok(ActionResult::ok("counted").say(Content::text(after.describe())));
            }
        }
        Ok(ActionResult::failed("too many people vote at this moment; try again"))
    }
}
