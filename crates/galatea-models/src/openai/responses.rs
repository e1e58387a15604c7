//! OpenAI's newer format Responses (`POST /responses`), which several of its models require for
//! tools. Conversations are not stored at OpenAI.

mod decode;
mod encode;
mod opaque;
mod stream;

use galatea_core::{
    ModelInfo, Result,
    model::{OnText, TextAnswer, TextRequest},
};

#[cfg(any(test, feature = "fuzz"))]
pub(crate) use decode::decode;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use stream::ResponsesPieces;

use super::error;
use crate::{
    families::Rules,
    wire::{Call, Endpoint, drive, event_frames, require_answer},
};

/// Makes one call.
pub(super) async fn generate(
    endpoint: &Endpoint,
    info: &ModelInfo,
    rules: &Rules,
    request: &TextRequest,
    on_text: &OnText<'_>,
) -> Result<TextAnswer> {
    let model = info.model.as_str();
    let body = encode::encode(request, model, rules, endpoint.names().label == "OpenAI");
    let call = Call { model, read: error::read };
    let response = endpoint.post("/responses", &body, request.stream, &call).await?;
    let answer = if request.stream && response.media_type() != "application/json" {
        drive(endpoint, model, event_frames(response), stream::ResponsesPieces::default(), on_text)
            .await?
    } else {
        let bytes = endpoint.body(response).await?;
        let answer = decode::decode(&bytes).map_err(|fail| endpoint.fail(fail, model))?;
        if request.stream && !answer.text.is_empty() {
            on_text(&answer.text);
        }
        answer
    };
    require_answer(endpoint, model, answer)
}
