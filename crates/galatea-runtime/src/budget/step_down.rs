//! The step down from the large model to the small one, where what is left of a cap covers the
//! small one's call only.

use async_trait::async_trait;
use galatea_core::{
    ErrorKind, ModelInfo, Result, TextModel,
    model::{AnsweredBy, LIMIT_CODE, OnText, TextAnswer, TextRequest},
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

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let refused = match self.large.generate(request, on_text).await {
            Err(error) if error.code() == Some(LIMIT_CODE) => error,
            other => return other,
        };
        let answer = match self.small.generate(request, on_text).await {
            // The caller would take the small model's window for the large one's.
            Err(error) if error.kind() == ErrorKind::TooLong => return Err(refused),
            other => other?,
        };
        let passed = (self.large.info().full_name(), refused.brief());
        Ok(TextAnswer { by: Some(instead(answer.by.clone(), self.small.info(), passed)), ..answer })
    }
}

/// Model that answered, with the large model among those that did not. What the small models found
/// too long says nothing about the large one.
fn instead(by: Option<AnsweredBy>, small: &ModelInfo, passed: (String, String)) -> AnsweredBy {
    let mut by = by.unwrap_or_else(|| AnsweredBy {
        link: small.full_name(),
        provider: small.provider.clone(),
        model: small.model.clone(),
        ..AnsweredBy::default()
    });
    by.passed.insert(0, passed);
    by.too_long = false;
    by
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Error;

    struct Fixed(ModelInfo, fn() -> Result<TextAnswer>);

    #[async_trait]
    impl TextModel for Fixed {
        fn info(&self) -> &ModelInfo {
            &self.0
        }
        async fn generate(&self, _: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
            (self.1)()
        }
    }

    /// Asks a large model that a limit refuses, with this small one.
    async fn ask(small: fn() -> Result<TextAnswer>) -> Result<TextAnswer> {
        let fixed = |model: &str, answer| -> Arc<dyn TextModel> {
            Arc::new(Fixed(ModelInfo { model: model.into(), ..ModelInfo::default() }, answer))
        };
        let large = fixed("large", || Err(Error::invalid("used up").with_code(LIMIT_CODE)));
        let stepped = StepDown::wrap(large, &fixed("small", small));
        stepped.generate(&TextRequest::prompt(None, "hi"), &|_| {}).await
    }

    #[tokio::test]
    async fn what_is_too_long_for_the_small_model_is_not_so_for_the_large_one() {
        let too_long = ask(|| Err(Error::new(ErrorKind::TooLong, "too long"))).await.unwrap_err();
        assert_eq!((too_long.kind(), too_long.code()), (ErrorKind::Invalid, Some(LIMIT_CODE)));
        let fallback = || {
            let by = AnsweredBy { too_long: true, ..AnsweredBy::default() };
            Ok(TextAnswer { by: Some(by), ..TextAnswer::default() })
        };
        let by = ask(fallback).await.unwrap().by.unwrap();
        assert_eq!((by.too_long, by.passed[0].1.as_str()), (false, "used up"));
        let failed = ask(|| Err(Error::new(ErrorKind::Unavailable, "down"))).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Unavailable, "other failures are the small model's");
    }
}
