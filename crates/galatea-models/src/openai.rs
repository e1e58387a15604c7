//! Client for OpenAI's API: Chat Completions, embeddings, pictures and sound, which many other services and servers
//! support too (OpenRouter, Groq, LM Studio, vLLM, llama.cpp, …), and Responses for OpenAI's own
//! newer models.

mod decode;
mod dialect;
mod embed;
mod encode;
mod error;
mod image;
mod opaque;
pub(crate) mod responses;
mod speak;
mod stream;
mod transcribe;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) use decode::decode;
pub use embed::OpenAiEmbedding;
pub(crate) use error::read as read_error;
pub use image::OpenAiImage;
pub use speak::OpenAiSpeech;
pub(crate) use stream::ChatPieces;
pub use transcribe::OpenAiTranscription;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{OnText, TextAnswer, TextRequest},
};

use galatea_http::Response;

pub use self::dialect::Dialect;
use self::encode::Cache;
use crate::families::{Rules, Wire};
use crate::wire::{
    Call, Endpoint, drive, event_frames, require_answer, require_messages, take_turns,
};

/// A text model behind Chat Completions or Responses.
pub struct OpenAiText {
    endpoint: Endpoint,
    info: ModelInfo,
    dialect: Dialect,
    rules: Rules,
    wire: Wire,
}

impl OpenAiText {
    /// Creates a model at an endpoint whose base address ends before `/chat/completions` and
    /// `/responses`. `rules` say which parameters the model accepts, `wire` selects the format.
    pub fn new(
        endpoint: Endpoint,
        info: ModelInfo,
        dialect: Dialect,
        rules: Rules,
        wire: Wire,
    ) -> Self {
        Self { endpoint, info, dialect, rules, wire }
    }
}

impl OpenAiText {
    /// The way in which the service learns what it will read again. Other servers may refuse what they do not
    /// know.
    fn cache(&self) -> Cache {
        let names = self.endpoint.names();
        match names.provider {
            "openai" if names.label == "OpenAI" => Cache::Key,
            "openrouter" if self.info.model.contains("claude") => Cache::Marks,
            _ => Cache::Itself,
        }
    }
}

#[async_trait]
impl TextModel for OpenAiText {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        require_messages(request)?;
        let endpoint = &*self.endpoint.of(request);
        // OpenRouter moves what the program says later to the beginning for Anthropic's models, where
        // it would leave nothing of the prompt before to be reused.
        let request = &*if self.cache() == Cache::Marks {
            request.without_late_system()
        } else {
            request.with_leading_in_system()
        };
        if self.wire == Wire::Responses {
            return responses::generate(endpoint, &self.info, &self.rules, request, on_text).await;
        }
        let model = self.info.model.as_str();
        // Only strict services accept names of speakers and consecutive messages of the same side.
        let turns = if self.dialect == Dialect::Strict {
            std::borrow::Cow::Borrowed(request)
        } else {
            take_turns(request)
        };
        let body = encode::encode(&turns, model, self.dialect, &self.rules, self.cache());
        let call = Call { model, read: error::read };
        let streams = request.stream;
        let read = move |response: Response| async move {
            // Some servers cannot stream and send a whole answer.
            if streams && response.media_type() != "application/json" {
                let frames = event_frames(response);
                return drive(endpoint, model, frames, stream::ChatPieces::default(), on_text)
                    .await;
            }
            let bytes = endpoint.body(response).await?;
            let answer =
                decode::decode(&bytes).map_err(|fail| endpoint.fail_in(fail, &bytes, model))?;
            if streams && !answer.text.is_empty() {
                on_text(&answer.text);
            }
            Ok(answer)
        };
        let answer = endpoint.ask("/chat/completions", &body, streams, &call, read).await?;
        require_answer(endpoint, model, answer)
    }
}
