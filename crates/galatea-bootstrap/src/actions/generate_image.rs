//! GENERATE_IMAGE: makes a picture and sends it.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, MediaKind, Result, Turn, model::ImageRequest, rights::Scope,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use super::made_file::{self, ShownFile};
use crate::words;

pub(crate) struct GenerateImage;

/// Longest description, in graphemes: what the models with the least room take (OpenAI, "Create
/// image", `prompt`: 4,000 characters).
const LONGEST: usize = 1_000;

/// What to draw.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ImageParams {
    /// What the picture shows.
    prompt: String,
}

#[async_trait]
impl Action for GenerateImage {
    const NAME: &'static str = "GENERATE_IMAGE";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Conversation;
    // Models of high quality take up to two minutes, and the turn has to end.
    const TIME: Duration = Duration::from_secs(100);
    type Params = ImageParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Make a picture and send it here, only when asked to.",
            &["DRAW", "CREATE_IMAGE", "MAKE_PICTURE"],
        )
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(turn.files && turn.models.media.image.is_some())
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: ImageParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let Some(model) = &turn.models.media.image else {
            return Ok(ActionResult::failed("no model makes pictures").own());
        };
        let prompt = words::line(&params.prompt, LONGEST);
        if prompt.is_empty() {
            return Ok(ActionResult::failed("it is not said what the picture shows").own());
        }
        let request = ImageRequest { prompt: prompt.clone() };
        let shown = ShownFile { kind: MediaKind::Image, name: "picture", description: &prompt };
        Ok(match made_file::make(turn, model.as_ref(), &request, Self::TIME, shown).await? {
            Some(content) => {
                ActionResult::ok(format!("sent a picture of: {prompt}")).own().say(content)
            }
            None => ActionResult::failed("the picture is too large to be sent").own(),
        })
    }
}
