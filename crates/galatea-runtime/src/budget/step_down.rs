//! The step down from the large model to the small one, where what is left of a cap covers the
//! small one's call only.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{AnsweredBy, LIMIT_CODE, TextAnswer, TextRequest},
};
use std::sync::Arc;

/// The large model, and the small one that answers when a limit refuses the large one's call. From
/// 80 per cent of a cap the small model answers anyway; the estimate of a large answer can be more
/// than the last fifth of a small cap.
pub(super) struct StepDown {
    large: Arc<dyn TextModel>,
    small: Arc<dyn TextModel>,
}

impl StepDown {
    /// Both count their own calls. Returns the large model unchanged if the small one is the same, or
    /// a script.
    pub(super) fn wrap(
        large: Arc<dyn TextModel>,
        small: &Arc<dyn TextModel>,
    ) -> Arc<dyn TextModel> {
        let (info, other) = (large.info(), small.info());
        let is_same = info.full_name() == other.full_name();
        if is_same || info.scripted || other.scripted {
            return large;
        }
        Arc::new(Self { large, small: Arc::clone(small) })
    }
}

#[async_trait]
impl TextModel for StepDown {
    fn info(&self) -> &ModelInfo {
        self.large.info()
    }

    async fn generate(
        &self,
        request: &TextRequest,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<TextAnswer> {
        let refused = match self.large.generate(request, on_text).await {
            Err(error) if error.code() == Some(LIMIT_CODE) => error,
            other => return other,
        };
        let answer = self.small.generate(request, on_text).await?;
        let passed = (self.large.info().full_name(), refused.brief());
        Ok(TextAnswer { by: Some(instead(answer.by.clone(), self.small.info(), passed)), ..answer })
    }
}

/// Who answered, with the large model among those that did not.
fn instead(by: Option<AnsweredBy>, small: &ModelInfo, passed: (String, String)) -> AnsweredBy {
    let mut by = by.unwrap_or_else(|| AnsweredBy {
        link: small.full_name(),
        provider: small.provider.clone(),
        model: small.model.clone(),
        ..AnsweredBy::default()
    });
    by.passed.insert(0, passed);
    by
}
