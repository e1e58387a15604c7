//! A model for the tests: it says what it was asked, and waits where a test says so.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Plugin, Result, TextModel,
    model::{ChatRole, OnText, PluginModel, TextAnswer, TextRequest, Tier},
};
use galatea_host::{Builder, Galatea, Platforms};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Semaphore;

/// Answers `NAME: re: QUESTION`, where NAME is the agent's.
pub(crate) struct Echo {
    info: ModelInfo,
    /// Each call takes one permit.
    pub(crate) gate: Semaphore,
    /// Calls under way, and the most at once so far.
    pub(crate) busy: AtomicUsize,
    pub(crate) most: AtomicUsize,
}

impl Echo {
    /// A model that never waits.
    pub(crate) fn free() -> Arc<Self> {
        Self::with(Semaphore::MAX_PERMITS)
    }

    /// A model whose calls wait for permits of `gate`.
    pub(crate) fn gated() -> Arc<Self> {
        Self::with(0)
    }

    fn with(permits: usize) -> Arc<Self> {
        let info =
            ModelInfo { provider: "test".into(), model: "echo".into(), ..ModelInfo::default() };
        Arc::new(Self {
            info,
            gate: Semaphore::new(permits),
            busy: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }

    /// The plugin that brings it.
    pub(crate) fn plugin(self: &Arc<Self>) -> Plugin {
        [Tier::TextSmall, Tier::TextLarge]
            .into_iter()
            .fold(Plugin::new("echo", "1.0.0", "Says what it was asked"), |plugin, tier| {
                plugin.model(1, PluginModel::Text(tier, Arc::clone(self) as _))
            })
    }
}

#[async_trait]
impl TextModel for Echo {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
        let mut users = request.messages.iter().rev().filter(|m| m.role == ChatRole::User);
        let asked = users.next().map(|message| message.text()).unwrap_or_default();
        let asked = asked.lines().last().unwrap_or_default();
        let asked = asked.rsplit(": ").next().unwrap_or(asked);
        let text = format!("You said {asked}");
        request.drafts.begin();
        request.drafts.piece(&text);
        let busy = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(busy, Ordering::SeqCst);
        if let Ok(permit) = self.gate.acquire().await {
            // A test that closes the gate lets all pass.
            permit.forget();
        }
        self.busy.fetch_sub(1, Ordering::SeqCst);
        Ok(TextAnswer { text, ..TextAnswer::default() })
    }
}

/// A builder in memory, without platforms, in a folder of its own.
pub(crate) fn builder(folder: &std::path::Path, model: &Arc<Echo>) -> Builder {
    Galatea::builder()
        .folder(folder)
        .database("sqlite::memory:")
        .platforms(Platforms::None)
        .plugin(model.plugin())
}

/// A character of this name.
pub(crate) fn character(name: &str) -> galatea_core::Character {
    galatea_core::Character::from_json(&format!(r#"{{"name": "{name}", "bio": "A test."}}"#))
        .unwrap()
}
