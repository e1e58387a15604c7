//! GENERATE_IMAGE: makes a picture and sends it.

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, Media, MediaKind, Result, Turn,
    model::{ImageRequest, MediaFile},
    rights::Scope,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use crate::words;

pub(crate) struct GenerateImage;

/// Longest description, in graphemes: what the models with the least room take (OpenAI, "Create
/// image", `prompt`: 4,000 characters).
const LONGEST: usize = 1_000;
/// Largest file, in bytes. It lies in the queue of answers until it is sent, and Telegram takes no
/// larger photo (Bot API, sendPhoto: 10 MB).
const LARGEST: usize = 10_000_000;

/// What to draw.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Params {
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
    type Params = Params;
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
        params: Params,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let Some(model) = &turn.models.media.image else {
            return Ok(ActionResult::failed("no model makes pictures"));
        };
        let prompt = words::line(&params.prompt, LONGEST);
        if prompt.is_empty() {
            return Ok(ActionResult::failed("it is not said what the picture shows"));
        }
        let request = ImageRequest { prompt: prompt.clone() };
        let made = model.run(&request, Some(turn.now().plus(Self::TIME))).await?;
        Ok(match attachment(made.output, MediaKind::Image, "picture", &prompt) {
            Some(content) => ActionResult::ok(format!("sent a picture of: {prompt}")).say(content),
            None => ActionResult::failed("the picture is too large to be sent"),
        })
    }
}

/// A message with a file that was made. The file is part of the message until it is sent, so that
/// every process can send it, and a crash neither loses it nor leaves it behind.
pub(super) fn attachment(
    MediaFile { bytes, mime, ending }: MediaFile,
    kind: MediaKind,
    name: &str,
    about: &str,
) -> Option<Content> {
    if bytes.len() > LARGEST {
        return None;
    }
    let media = Media {
        id: "made".to_owned(),
        url: format!("data:{mime};base64,{}", BASE64_STANDARD.encode(&bytes)),
        title: format!("{name}.{ending}"),
        content_type: kind,
        mime: Some(mime.to_owned()),
        size: u64::try_from(bytes.len()).ok(),
        description: about.to_owned(),
        ..Media::default()
    };
    Some(Content { attachments: vec![media], ..Content::default() })
}
