//! HAND_OVER: passes a question that the agent cannot answer from its documents on to people, in the
//! Room that the World's admin named for them.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Address, Content, Result, Turn, rights::Scope, speakers,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{feature, tell};

pub(crate) struct HandOver;

/// Name of the feature.
const FEATURE: &str = "hand_over";
/// Longest question, in graphemes.
const LONGEST: usize = 800;

/// What is asked.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct HandOverParams {
    /// The question, in one sentence that people understand without the conversation.
    question: String,
}

#[async_trait]
impl Action for HandOver {
    const NAME: &'static str = "HAND_OVER";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Conversation;
    type Params = HandOverParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Hand a question about this place over to people, when your documents do not answer it or you are not sure. Do not guess then.",
            &["ASK_A_HUMAN", "ESCALATE", "OPEN_TICKET"],
        )
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(feature::is_on(turn, FEATURE) && feature::moderators(turn).await?.is_some())
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: HandOverParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let question = tell::line(&params.question, LONGEST);
        if question.is_empty() {
            return Ok(ActionResult::failed("the question is missing").own());
        }
        let by = speakers::name_in(turn.message)
            .map_or_else(|| "A person".to_owned(), speakers::display);
        let place = speakers::display(&turn.room.name);
        let text = format!("{by} asks in {place}, and I do not know the answer:\n> {question}");
        if !show(turn, text).await? {
            return Ok(ActionResult::failed("the room of the moderators is not known").own());
        }
        Ok(ActionResult::ok("the question was passed on to people").own().say(Content::text(
            "I am not sure about this. I passed your question on; a person will answer you.",
        )))
    }
}

/// Shows a text to the moderators, in the Room that the World's admin named. False if there is none.
pub(crate) async fn show(turn: &Turn<'_>, text: String) -> Result<bool> {
    let Some(room) = feature::moderators(turn).await? else { return Ok(false) };
    let Some(room) = turn.store.room(room).await? else { return Ok(false) };
    let address =
        Address { source: room.source, account: room.account, room: room.id, remote: room.remote };
    let outgoing = galatea_core::Outgoing::Message { content: Content::text(text), reply_to: None };
    turn.outbound.send_message_to_target(&address, outgoing).await?;
    Ok(true)
}
