//! Applies the sampling parameters from the settings to calls that do not set them.

use std::sync::Arc;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{OnText, Sampling, TextAnswer, TextRequest},
};

/// A model with default sampling parameters.
pub struct Tuned {
    inner: Arc<dyn TextModel>,
    defaults: Sampling,
}

impl Tuned {
    /// Wraps a model. Without defaults, returns it unchanged.
    pub fn wrap(inner: Arc<dyn TextModel>, defaults: Sampling) -> Arc<dyn TextModel> {
        if defaults == Sampling::default() { inner } else { Arc::new(Self { inner, defaults }) }
    }
}

#[async_trait]
impl TextModel for Tuned {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let mut request = request.clone();
        fill(&mut request.params, &self.defaults);
        self.inner.generate(&request, on_text).await
    }
}

/// Fills in the parameters that the call does not set. An empty list of stop texts counts as not
/// set.
pub fn fill(call: &mut Sampling, defaults: &Sampling) {
    call.max_tokens = call.max_tokens.or(defaults.max_tokens);
    call.temperature = call.temperature.or(defaults.temperature);
    call.top_p = call.top_p.or(defaults.top_p);
    call.top_k = call.top_k.or(defaults.top_k);
    call.min_p = call.min_p.or(defaults.min_p);
    call.seed = call.seed.or(defaults.seed);
    call.repetition_penalty = call.repetition_penalty.or(defaults.repetition_penalty);
    call.frequency_penalty = call.frequency_penalty.or(defaults.frequency_penalty);
    call.presence_penalty = call.presence_penalty.or(defaults.presence_penalty);
    call.effort = call.effort.or(defaults.effort);
    if call.stop.is_empty() {
        call.stop.clone_from(&defaults.stop);
    }
}
