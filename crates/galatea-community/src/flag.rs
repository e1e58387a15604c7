//! FLAG_MESSAGE: shows a message that may break the rules to the moderators. It deletes nothing and
//! removes no one.

use async_trait::async_trait;
use galatea_core::{Action, ActionDocs, ActionResult, Result, Turn, rights::Scope, speakers};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{feature, hand_over, tell};

pub(crate) struct Flag;

/// Name of the feature.
const FEATURE: &str = "flag";
/// Longest reason and longest message, in graphemes.
const REASON: usize = 200;
const LONGEST: usize = 800;

/// Why.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct FlagParams {
    /// Why the moderators should see it, in one sentence.
    reason: String,
}

#[async_trait]
impl Action for Flag {
    const NAME: &'static str = "FLAG_MESSAGE";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Conversation;
    type Params = FlagParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Show the message that you answer to the moderators, when it threatens, insults or deceives people, or when its author reports another message. Moderators decide; you do not punish.",
            &["REPORT_MESSAGE", "CALL_MODERATORS"],
        )
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(!turn.room.kind.is_direct()
            && feature::is_on(turn, FEATURE)
            && feature::moderators(turn).await?.is_some_and(|room| room != turn.room.id))
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: FlagParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let message = turn.message;
        let by =
            speakers::name_in(message).map_or_else(|| "A person".to_owned(), speakers::display);
        let place = speakers::display(&turn.room.name);
        let mut text = format!(
            "Please look at this message of {by} in {place}: {}\n> {}",
            tell::line(&params.reason, REASON),
            tell::line(&message.content.text, LONGEST)
        );
        for quote in &message.content.quotes {
            let by = quote.by.as_deref().map_or_else(|| "someone".to_owned(), speakers::display);
            text.push_str(&format!("\nIt answers {by}:\n> {}", tell::line(&quote.text, LONGEST)));
        }
        if !hand_over::show(turn, text).await? {
            return Ok(ActionResult::failed("the room of the moderators is not known").own());
        }
        Ok(ActionResult::ok("the moderators were shown the message").own())
    }
}
