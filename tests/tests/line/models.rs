//! Models that the test controls.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Models, Result, TextModel,
    model::{ChatMessage, ChatRole, OnText, TextAnswer, TextRequest, text_actions},
};
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// A model for every purpose.
pub(crate) fn all(model: Arc<dyn TextModel>) -> Models {
    Models::of_text(model)
}

/// Messages since the model's own last one, as the model sees them, one per line.
pub(crate) fn asked(request: &TextRequest) -> String {
    let since =
        request.messages.iter().rposition(|m| m.role == ChatRole::Assistant).map_or(0, |at| at + 1);
    said(&request.messages[since..]).map(ChatMessage::text).collect::<Vec<_>>().join("\n")
}

/// The ones that people and the model itself said.
fn said(messages: &[ChatMessage]) -> impl Iterator<Item = &ChatMessage> {
    messages.iter().filter(|message| message.role != ChatRole::System)
}

/// All that the model reads of a request, in order: the instructions and the messages.
pub(crate) fn prompt(request: &TextRequest) -> String {
    let messages = request.messages.iter().map(|message| match message.role {
        ChatRole::Tool => text_actions::in_words(message).text(),
        _ => message.text(),
    });
    request.system.iter().cloned().chain(messages).collect::<Vec<_>>().join("\n\n")
}

/// As [`asked`], without authors.
pub(crate) fn asked_texts(request: &TextRequest) -> String {
    let since =
        request.messages.iter().rposition(|m| m.role == ChatRole::Assistant).map_or(0, |at| at + 1);
    said(&request.messages[since..]).map(words).collect::<Vec<_>>().join("\n")
}

/// The words of a message: where several people talk, without the author and the indentation.
pub(crate) fn words(message: &ChatMessage) -> String {
    let text = message.text();
    let text = match message.name {
        Some(_) => text.split_once(": ").map_or(text.as_str(), |(_, words)| words),
        None => text.as_str(),
    };
    text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// A model that answers "re: " and the last line it was asked.
pub(crate) fn echo() -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(|request| {
        Ok(ScriptedModel::text(format!(
            "re: {}",
            asked_texts(request).lines().last().unwrap_or_default()
        )))
    }))
}

/// A model that waits for the test before it answers a request that contains a word.
pub(crate) struct Gated {
    pub(crate) inner: Arc<ScriptedModel>,
    word: &'static str,
    leave: Semaphore,
    waiting: watch::Sender<usize>,
}

impl Gated {
    pub(crate) fn new(inner: Arc<ScriptedModel>, word: &'static str) -> Arc<Self> {
        Arc::new(Self { inner, word, leave: Semaphore::new(0), waiting: watch::Sender::new(0) })
    }

    /// Lets this many calls continue.
    pub(crate) fn open(&self, calls: usize) {
        self.leave.add_permits(calls);
    }

    /// Waits until this many calls in all have reached the gate.
    pub(crate) async fn reached(&self, calls: usize) {
        let mut waiting = self.waiting.subscribe();
        let reached =
            tokio::time::timeout(crate::platform::PATIENCE, waiting.wait_for(|n| *n >= calls))
                .await;
        assert!(reached.is_ok(), "the model was never asked {calls} times");
    }
}

#[async_trait]
impl TextModel for Gated {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        if asked(request).contains(self.word) {
            self.waiting.send_modify(|n| *n += 1);
            self.leave.acquire().await.unwrap().forget();
        }
        self.inner.generate(request, on_text).await
    }
}
