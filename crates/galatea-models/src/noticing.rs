//! Records what a service's answers reveal about the requested model: that the service does not
//! know it, or that another model answered.

use std::sync::Arc;

use async_trait::async_trait;
use galatea_core::{
    Clock, Finding, ModelInfo, Result, Severity, TextModel,
    model::{OnText, TextAnswer, TextRequest},
};

use crate::{
    dependencies::Dependencies,
    families::{self, pattern::without_date},
    wire::codes,
};

/// Compares the requested model with the one that answered, and sets the price of each answer.
pub(crate) struct Noticing {
    pub(crate) inner: Arc<dyn TextModel>,
    /// Provider and base address.
    pub(crate) service: String,
    /// The service's name for people: `Google`.
    pub(crate) label: &'static str,
    pub(crate) dependencies: Dependencies,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl TextModel for Noticing {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let info = self.inner.info();
        let mut answer = match self.inner.generate(request, on_text).await {
            Ok(answer) => answer,
            Err(error) => {
                if error.code() == Some(codes::UNKNOWN) {
                    self.unknown(info, &error);
                }
                return Err(error);
            }
        };
        answer.served = answer.served.filter(|served| is_another(&info.model, served));
        match &answer.served {
            Some(served) => {
                answer.price = families::known()
                    .of(&info.provider, served)
                    .and_then(|family| family.price_on(families::day(self.clock.now())));
                self.another(info, served);
            }
            None => {
                answer.price = info.price;
                self.dependencies.forget(&self.service, &info.model);
            }
        }
        Ok(answer)
    }
}

impl Noticing {
    fn unknown(&self, info: &ModelInfo, error: &galatea_core::Error) {
        let mut finding =
            Finding { severity: Severity::Warning, ..Finding::failure("model", error) };
        let like = self.dependencies.choices().like(&self.service, &info.model);
        if !like.is_empty() {
            let fix = finding.fix.unwrap_or_default();
            finding.fix = Some(crate::check::with_names(&info.provider, &fix, &like));
        }
        self.dependencies.remark(&self.service, &info.model, finding);
        self.dependencies.report_refused(&self.service, &info.model);
    }

    /// Records that another model answered. Google serves retired names with other models, at their
    /// prices.
    fn another(&self, info: &ModelInfo, served: &str) {
        // An alias names different models over time.
        if info.model.ends_with("-latest") {
            return;
        }
        let message =
            format!("{} answers {} with {served}, at the price of that", self.label, info.model);
        let finding = Finding::new(Severity::Warning, codes::SERVED, "model", message)
            .with_fix(format!("name {served} or another model of today"));
        if self.dependencies.remark(&self.service, &info.model, finding) {
            tracing::warn!(
                asked = info.model,
                served,
                code = codes::SERVED,
                "the service answers with another model than requested; that model's price applies"
            );
        }
    }
}

/// True if `served` is another model, not the same name with a date or snapshot number.
fn is_another(asked: &str, served: &str) -> bool {
    let plain = |name: &str| without_date(name.strip_prefix("models/").unwrap_or(name)).to_owned();
    let (asked, served) = (plain(asked), plain(served));
    let rest = served.strip_prefix(&asked);
    !rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Error, model::Price};
    use galatea_testkit::{clock::ManualClock, models::ScriptedModel};

    #[test]
    fn snapshots_are_the_same_model() {
        for (asked, served) in [
            ("gemini-3.8-flash", "gemini-3.8-flash"),
            ("models/gemini-3.8-flash", "gemini-3.8-flash-001"),
            ("gpt-4o", "gpt-4o-2024-08-06"),
        ] {
            assert!(!is_another(asked, served), "{asked} {served}");
        }
        for (asked, served) in [
            ("gemini-2.5-pro", "gemini-3.8-flash"),
            ("gemini-3.5-flash", "gemini-3.5-flash-lite"),
            ("gpt-4", "gpt-4o"),
        ] {
            assert!(is_another(asked, served), "{asked} {served}");
        }
    }

    struct Named(ScriptedModel, ModelInfo);

    #[async_trait]
    impl TextModel for Named {
        fn info(&self) -> &ModelInfo {
            &self.1
        }
        async fn generate(
            &self,
            request: &TextRequest,
            on_text: &OnText<'_>,
        ) -> Result<TextAnswer> {
            self.0.generate(request, on_text).await
        }
    }

    fn noticing(model: &str, answer: impl Fn() -> Result<TextAnswer> + Send + 'static) -> Noticing {
        let own = Some(Price { input: 1, cached: 1, output: 1, ..Price::default() });
        let info = ModelInfo {
            provider: "google".into(),
            model: model.into(),
            price: own,
            ..ModelInfo::default()
        };
        let inner = Arc::new(Named(ScriptedModel::answering(move |_| answer()), info));
        Noticing {
            inner,
            service: "google x".into(),
            label: "Google",
            dependencies: Dependencies::default(),
            clock: ManualClock::new().shared(),
        }
    }

    #[tokio::test]
    async fn what_another_model_answers_is_reported_once_and_has_its_price() {
        let model = noticing("gemini-2.5-pro", || {
            Ok(TextAnswer { served: Some("gemini-3.8-flash".into()), ..TextAnswer::default() })
        });
        for _ in 0..2 {
            let answer = model.generate(&TextRequest::default(), &|_| {}).await.unwrap();
            assert_eq!(
                (answer.served.as_deref(), answer.price.map(|p| p.input)),
                (Some("gemini-3.8-flash"), Some(750_000))
            );
        }
        let remarks = model.dependencies.remarks();
        assert_eq!((remarks.len(), remarks[0].id.as_str()), (1, codes::SERVED));
        assert!(
            remarks[0].message.contains("answers gemini-2.5-pro with gemini-3.8-flash"),
            "{remarks:?}"
        );
        let same = noticing("gemini-3.8-flash", || {
            Ok(TextAnswer { served: Some("gemini-3.8-flash-001".into()), ..TextAnswer::default() })
        });
        let answer = same.generate(&TextRequest::default(), &|_| {}).await.unwrap();
        assert_eq!(
            (answer.served, answer.price.map(|p| p.input), same.dependencies.remarks().len()),
            (None, Some(1), 0)
        );
    }

    #[tokio::test]
    async fn a_name_that_is_refused_is_reported_until_it_answers() {
        let accepted = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let flag = Arc::clone(&accepted);
        let model =
            noticing("gemini-9", move || match flag.load(std::sync::atomic::Ordering::Relaxed) {
                true => Ok(TextAnswer::default()),
                false => {
                    Err(Error::not_found("Google has no model gemini-9").with_code(codes::UNKNOWN))
                }
            });
        assert!(model.generate(&TextRequest::default(), &|_| {}).await.is_err());
        assert_eq!(model.dependencies.remarks()[0].id, codes::UNKNOWN);
        model.dependencies.refused().await;
        accepted.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(model.generate(&TextRequest::default(), &|_| {}).await.is_ok());
        assert_eq!(model.dependencies.remarks(), []);
    }
}
