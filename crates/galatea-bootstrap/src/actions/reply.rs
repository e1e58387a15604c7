//! REPLY, IGNORE, NONE: actions that the turn itself carries out. They are declared so that prompts
//! can name them.

use async_trait::async_trait;
use galatea_core::{Action, ActionDocs, ActionResult, Content, Result, Turn, rights::Scope};
use schemars::JsonSchema;
use serde::Deserialize;

/// Sends a message to this room.
pub(crate) struct Reply;
/// Sends no answer.
pub(crate) struct Ignore;
/// Does nothing besides the answer.
pub(crate) struct Nothing;

/// The text of a reply.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReplyParams {
    /// What to say, as Markdown.
    #[serde(default)]
    text: String,
}

/// No arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoParams {}

#[async_trait]
impl Action for Reply {
    const NAME: &'static str = "REPLY";
    const SCOPE: Scope = Scope::Conversation;
    type Params = ReplyParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Say something in this conversation.",
            &["RESPOND", "ANSWER", "SEND_REPLY"],
        )
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(
        &self,
        _: &Turn<'_>,
        params: ReplyParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        Ok(ActionResult::ok("replied").own().say(Content::text(params.text)))
    }
}

#[async_trait]
impl Action for Ignore {
    const NAME: &'static str = "IGNORE";
    const SCOPE: Scope = Scope::Conversation;
    type Params = NoParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Say nothing: the talk is over, or not meant for you.",
            &["STAY_SILENT", "NO_RESPONSE", "STOP_TALKING"],
        )
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(&self, _: &Turn<'_>, _: NoParams, _: &[ActionResult]) -> Result<ActionResult> {
        Ok(ActionResult::ok("stayed silent").own())
    }
}

#[async_trait]
impl Action for Nothing {
    const NAME: &'static str = "NONE";
    const SCOPE: Scope = Scope::Conversation;
    type Params = NoParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("Do nothing besides what is said.", &["NO_ACTION", "CONTINUE"])
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(&self, _: &Turn<'_>, _: NoParams, _: &[ActionResult]) -> Result<ActionResult> {
        Ok(ActionResult::ok("did nothing").own())
    }
}
