//! Calls to media models, counted by the meter of a turn.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Models, Result, Timestamp,
    model::{Made, MediaModel, MediaModels, MediaTask, MediaUsage, Usage},
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

/// Bytes of text for a token, as `galatea_core::tokens` estimates; a character counts as one byte.
const CHARACTERS: u64 = 3;
/// Tokens of a second of sound (Gemini API, "Audio understanding": 32), the most of any provider that
/// publishes it.
const SECOND: u64 = 32;

/// The tokens of a use; estimated by its characters or its length where the provider counts none, so
/// that limits hold without a price.
fn tokens(used: &MediaUsage) -> Usage {
    if used.tokens.input.saturating_add(used.tokens.output) > 0 {
        return used.tokens;
    }
    let input =
        used.characters.div_ceil(CHARACTERS) + used.sound_ms.saturating_mul(SECOND).div_ceil(1_000);
    Usage { input, ..used.tokens }
}

/// Cost of a use: money where the price is known, otherwise tokens.
fn spend(used: &MediaUsage, micros: Option<u64>) -> Spend {
    let tokens = tokens(used);
    match micros {
        Some(micros) => Spend { micros, tokens: 0 },
        None => Spend { micros: 0, tokens: tokens.input.saturating_add(tokens.output) },
    }
}

/// Price of a model; a model of one's own machine charges nothing.
fn cost(used: &MediaUsage, info: &ModelInfo) -> Option<u64> {
    let used = MediaUsage { tokens: tokens(used), ..*used };
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
        // If the price is known, a call that is given up counts as money, otherwise as tokens.
        let reserved = if known.is_some() { Usage::default() } else { tokens(&expected) };
        let held = self.meter.set_aside(info.full_name(), reserved, estimate, known.is_none())?;
        let held = held.agreed().await?;
        match self.inner.run(request, deadline).await {
            Ok(made) => {
                let micros = made.micros.or_else(|| cost(&made.used, info));
                let spent = spend(&made.used, micros);
                let counted = if micros.is_some() { made.used.tokens } else { tokens(&made.used) };
                held.settle(made.by.clone(), counted, spent, micros.is_none());
                Ok(made)
            }
            Err(error) => {
                held.fail(&error);
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_price_is_counted_in_tokens() {
        let tokens_of = |used| spend(&used, cost(&used, &ModelInfo::default())).tokens;
        assert_eq!(tokens_of(MediaUsage { characters: 1_900, ..MediaUsage::default() }), 634);
        assert_eq!(tokens_of(MediaUsage { sound_ms: 60_000, ..MediaUsage::default() }), 1_920);
        let counted = Usage { input: 30, output: 4, ..Usage::default() };
        let used = MediaUsage { tokens: counted, sound_ms: 60_000, ..MediaUsage::default() };
        assert_eq!(tokens_of(used), 34, "as the provider counts");
        let home = ModelInfo { provider: "local".into(), ..ModelInfo::default() };
        assert_eq!(cost(&used, &home), Some(0));
    }
}
