//! SPEAK: says something as a voice message.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, MediaKind, Result, Turn, model::SpeechRequest, rights::Scope,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use super::made_file::{self, ShownFile};
use crate::words;

pub(crate) struct Speak;

/// Longest text, in graphemes: about two minutes. Services take 4,096 characters (OpenAI, "Create
/// speech", `input`).
const LONGEST: usize = 2_000;

/// What to say.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SpeakParams {
    /// What is said, as plain words.
    text: String,
}

#[async_trait]
impl Action for Speak {
    const NAME: &'static str = "SPEAK";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Conversation;
    const TIME: Duration = Duration::from_secs(60);
    type Params = SpeakParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Say something here as a voice message, only when asked to.",
            &["SAY_ALOUD", "TEXT_TO_SPEECH", "SEND_VOICE_MESSAGE"],
        )
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(turn.files && turn.models.media.speech.is_some())
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: SpeakParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let Some(model) = &turn.models.media.speech else {
            return Ok(ActionResult::failed("no model speaks").own());
        };
        let text = words::line(&params.text, LONGEST);
        if text.is_empty() {
            return Ok(ActionResult::failed("there is nothing to say").own());
        }
        let request = SpeechRequest { text: text.clone() };
        let shown = ShownFile { kind: MediaKind::Audio, name: "voice", description: &text };
        Ok(match made_file::make(turn, model.as_ref(), &request, Self::TIME, shown).await? {
            Some(content) => ActionResult::ok(said(&params.text, &text)).own().say(content),
            None => ActionResult::failed("the recording is too large to be sent").own(),
        })
    }
}

/// The spoken words, for the model: it can go on where a long text was cut.
fn said(asked: &str, text: &str) -> String {
    if words::line(asked, usize::MAX) == text {
        return format!("said aloud: {text}");
    }
    format!("said aloud only the beginning, as more than {LONGEST} characters are too long: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_cut_is_not_reported_as_said() {
        for (asked, whole) in [("Good\nmorning.", true), (&"ab ".repeat(700) as &str, false)] {
            let result = said(asked, &words::line(asked, LONGEST));
            assert_eq!(result.contains("only the beginning"), !whole, "{result}");
        }
    }
}
