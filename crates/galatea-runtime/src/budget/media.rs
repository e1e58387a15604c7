//! Calls to media models, counted by the meter of a turn.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Models, Result, Timestamp,
    model::{Made, MediaModel, MediaModels, MediaTask, MediaUsage},
};
use std::sync::Arc;

use super::{ledger::Spend, meter::Meter};

impl Meter {
    /// Models whose calls this meter counts.
    pub(crate) fn models(self: &Arc<Self>, models: &Models) -> Models {
        let media = MediaModels {
            transcription: wrap(self, models.media.transcription.as_ref()),
            image: wrap(self, models.media.image.as_ref()),
            speech: wrap(self, models.media.speech.as_ref()),
        };
        Models { media, ..self.text_models(models) }
    }
}

fn wrap<T: MediaTask>(
    meter: &Arc<Meter>,
    model: Option<&Arc<dyn MediaModel<T>>>,
) -> Option<Arc<dyn MediaModel<T>>> {
    let inner = Arc::clone(model?);
    Some(Arc::new(MeteredMedia { inner, meter: Arc::clone(meter) }))
}

struct MeteredMedia<T: MediaTask> {
    inner: Arc<dyn MediaModel<T>>,
    meter: Arc<Meter>,
}

/// What a use costs: money where the price is known, otherwise the tokens, if any.
fn spend(used: &MediaUsage, micros: Option<u64>) -> Spend {
    match micros {
        Some(micros) => Spend { micros, tokens: 0 },
        None => Spend { micros: 0, tokens: used.tokens.input.saturating_add(used.tokens.output) },
    }
}

/// What a model charges; a model of one's own machine charges nothing.
fn cost(used: &MediaUsage, info: &ModelInfo) -> Option<u64> {
    used.cost(info).or_else(|| info.known_price().map(|_| 0))
}

#[async_trait]
impl<T: MediaTask> MediaModel<T> for MeteredMedia<T> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn run(
        &self,
        request: &T::Request,
        deadline: Option<Timestamp>,
    ) -> Result<Made<T::Output>> {
        let (info, expected) = (self.inner.info(), T::expected(request));
        let known = cost(&expected, info);
        let estimate = spend(&expected, known);
        // Where the price is known, a call that is given up counts as money, otherwise as tokens.
        let tokens = if known.is_some() { Default::default() } else { expected.tokens };
        let held = self.meter.set_aside(info.full_name(), tokens, estimate, known.is_none())?;
        match self.inner.run(request, deadline).await {
            Ok(made) => {
                let micros = made.micros.or_else(|| cost(&made.used, info));
                let spent = spend(&made.used, micros);
                held.settle(made.by.clone(), made.used.tokens, spent, micros.is_none());
                Ok(made)
            }
            Err(error) => {
                held.fail(&error);
                Err(error)
            }
        }
    }
}
