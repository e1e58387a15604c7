//! A text model inside the test process: no network, no delay.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;

use async_trait::async_trait;
use galatea_core::{
    Error, ModelInfo, Result, TextModel,
    model::{OnText, TextAnswer, TextRequest, Usage},
};

type Script = dyn FnMut(&TextRequest) -> Result<TextAnswer> + Send;

/// A [`TextModel`] that answers from a queue or a function and records its requests.
pub struct ScriptedModel {
    info: ModelInfo,
    queue: Mutex<VecDeque<Result<TextAnswer>>>,
    script: Mutex<Option<Box<Script>>>,
    requests: Mutex<Vec<TextRequest>>,
    record: bool,
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedModel {
    /// A model without answers; a request fails until one is queued.
    pub fn new() -> Self {
        let info = ModelInfo {
            provider: "scripted".to_owned(),
            model: "scripted".to_owned(),
            tools: true,
            vision: true,
            ..ModelInfo::default()
        };
        Self {
            info,
            queue: Mutex::default(),
            script: Mutex::new(None),
            requests: Mutex::default(),
            record: true,
        }
    }

    /// A model that calls this function whenever the queue is empty.
    pub fn answering(
        script: impl FnMut(&TextRequest) -> Result<TextAnswer> + Send + 'static,
    ) -> Self {
        let model = Self::new();
        *lock(&model.script) = Some(Box::new(script));
        model
    }

    /// A model that always answers with this text.
    pub fn saying(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::answering(move |_| Ok(Self::text(text.clone())))
    }

    /// Sets the model's name and abilities.
    #[must_use]
    pub fn with_info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Stops recording requests, for benchmarks.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.record = false;
        self
    }

    /// An answer with this text and a small usage.
    pub fn text(text: impl Into<String>) -> TextAnswer {
        TextAnswer {
            text: text.into(),
            usage: Usage { input: 11, cached: 0, output: 7, ..Usage::default() },
            ..TextAnswer::default()
        }
    }

    /// Queues an answer with this text.
    pub fn enqueue(&self, text: impl Into<String>) {
        self.enqueue_result(Ok(Self::text(text)));
    }

    /// Queues this result.
    pub fn enqueue_result(&self, answer: Result<TextAnswer>) {
        lock(&self.queue).push_back(answer);
    }

    /// All requests, oldest first.
    pub fn requests(&self) -> Vec<TextRequest> {
        lock(&self.requests).clone()
    }
}

#[async_trait]
impl TextModel for ScriptedModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        if self.record {
            lock(&self.requests).push(request.clone());
        }
        let queued = lock(&self.queue).pop_front();
        let answer = match queued {
            Some(answer) => answer?,
            None => match lock(&self.script).as_mut() {
                Some(script) => script(request)?,
                None => return Err(Error::unexpected("the script has no more answers")),
            },
        };
        request.drafts.begin();
        if !answer.text.is_empty() {
            let middle = answer
                .text
                .char_indices()
                .nth(answer.text.chars().count() / 2)
                .map_or(0, |(at, _)| at);
            for piece in [&answer.text[..middle], &answer.text[middle..]] {
                if !piece.is_empty() {
                    request.drafts.piece(piece);
                    if request.stream {
                        on_text(piece);
                    }
                }
            }
        }
        Ok(answer)
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queue_first_then_function_then_failure() {
        let model = ScriptedModel::saying("later");
        model.enqueue("first");
        let pieces = Mutex::new(String::new());
        let on_text = |piece: &str| lock(&pieces).push_str(piece);
        let request = TextRequest { stream: true, ..TextRequest::prompt(None, "hi") };
        assert_eq!(model.generate(&request, &on_text).await.unwrap().text, "first");
        assert_eq!(model.generate(&request, &on_text).await.unwrap().text, "later");
        assert_eq!((lock(&pieces).as_str(), model.requests().len()), ("firstlater", 2));
        assert!(ScriptedModel::new().generate(&request, &on_text).await.is_err());
    }
}
