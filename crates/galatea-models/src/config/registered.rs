//! Joins the models that plugins bring with the configured ones: by type, from the highest priority
//! down, the next one if one fails.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use galatea_core::{
    Clock, EmbeddingModel, ModelInfo, Models, Result, Settings, TextModel,
    model::{MediaModel, MediaTask, PluginModel, ReasoningModels, RegisteredModel, Sampling, Tier},
};

use super::{context::seconds, parameters::sampling, variables::MODEL_TOTAL_TIMEOUT};
use crate::{
    chain::{Chain, Link},
    dependencies::Dependencies,
    guarded::{Allowed, Guarded, limits},
    media::{MediaChain, MediaLink},
    tuned::Tuned,
};

/// The priority of the configured models.
const CONFIGURED: i32 = 0;

/// Adds the models of plugins to those of an agent. Without any, returns them unchanged. The
/// models of a plugin are asked once each, behind a breaker.
///
/// # Errors
/// `Invalid` with the variable for a setting that cannot be used.
pub fn with_registered(
    models: Models,
    registered: &[RegisteredModel],
    settings: &Settings,
    clock: &Arc<dyn Clock>,
    dependencies: &Dependencies,
) -> Result<Models> {
    if registered.is_empty() {
        return Ok(models);
    }
    let join = Join { clock, dependencies, total: seconds(settings, &MODEL_TOTAL_TIMEOUT)? };
    let text = |tier: Tier, own: Option<&Arc<dyn TextModel>>| -> Result<_> {
        let of_tier = |model: &PluginModel| match model {
            PluginModel::Text(of, model) if *of == tier => Some(Arc::clone(model)),
            _ => None,
        };
        Ok(join.texts(own, select(registered, of_tier), &sampling(settings, tier)?))
    };
    let vision = |model: &PluginModel| match model {
        PluginModel::Vision(model) => Some(Arc::clone(model)),
        _ => None,
    };
    let transcription = |model: &PluginModel| match model {
        PluginModel::Transcription(model) => Some(Arc::clone(model)),
        _ => None,
    };
    let image = |model: &PluginModel| match model {
        PluginModel::Image(model) => Some(Arc::clone(model)),
        _ => None,
    };
    let speech = |model: &PluginModel| match model {
        PluginModel::Speech(model) => Some(Arc::clone(model)),
        _ => None,
    };
    let at_large = sampling(settings, Tier::TextLarge)?;
    let mut media = models.media.clone();
    media.transcription = join.media(media.transcription, select(registered, transcription));
    media.image = join.media(media.image, select(registered, image));
    media.speech = join.media(media.speech, select(registered, speech));
    Ok(Models {
        small: text(Tier::TextSmall, Some(&models.small))?.unwrap_or(models.small),
        large: text(Tier::TextLarge, Some(&models.large))?.unwrap_or(models.large),
        reasoning: ReasoningModels {
            small: text(Tier::ReasoningSmall, models.reasoning.small.as_ref())?,
            large: text(Tier::ReasoningLarge, models.reasoning.large.as_ref())?,
        },
        vision: join.texts(models.vision.as_ref(), select(registered, vision), &at_large),
        embedding: embedding(models.embedding, registered),
        media,
    })
}

/// The models of one type with their priorities, in the order of their registration.
fn select<M: ?Sized>(
    registered: &[RegisteredModel],
    of: impl Fn(&PluginModel) -> Option<Arc<M>>,
) -> Vec<(i32, Arc<M>)> {
    registered.iter().filter_map(|one| Some((one.priority, of(&one.model)?))).collect()
}

/// The highest first; the configured one before those of its priority.
fn ranked<M: ?Sized>(own: Option<&Arc<M>>, mut others: Vec<(i32, Arc<M>)>) -> Vec<(bool, Arc<M>)> {
    others.sort_by_key(|(priority, _)| Reverse(*priority));
    let at = others.iter().take_while(|(priority, _)| *priority > CONFIGURED).count();
    let mut all: Vec<_> = others.into_iter().map(|(_, model)| (false, model)).collect();
    if let Some(own) = own {
        all.insert(at, (true, Arc::clone(own)));
    }
    all
}

/// Vectors of two models cannot be compared, so one model makes all of them.
fn embedding(
    own: Option<Arc<dyn EmbeddingModel>>,
    registered: &[RegisteredModel],
) -> Option<Arc<dyn EmbeddingModel>> {
    let of = |model: &PluginModel| match model {
        PluginModel::Embedding(model) => Some(Arc::clone(model)),
        _ => None,
    };
    let all = ranked(own.as_ref(), select(registered, of));
    all.into_iter().next().map(|(_, model)| model)
}

struct Join<'a> {
    clock: &'a Arc<dyn Clock>,
    dependencies: &'a Dependencies,
    total: Duration,
}

impl Join<'_> {
    /// One model of all. The configured one if there is no other, `None` if there is none at all.
    fn texts(
        &self,
        own: Option<&Arc<dyn TextModel>>,
        others: Vec<(i32, Arc<dyn TextModel>)>,
        defaults: &Sampling,
    ) -> Option<Arc<dyn TextModel>> {
        if others.is_empty() {
            return own.cloned();
        }
        // An answer of the script looks like a model's to the caller of the chain.
        let own = own.filter(|own| !own.info().scripted);
        let mut links = ranked(own, others).into_iter().map(|(is_own, model)| {
            let name = model.info().full_name();
            let model: Arc<dyn TextModel> = if is_own {
                model
            } else {
                Tuned::wrap(Arc::new(self.guard(model.info().clone(), model)), defaults.clone())
            };
            Link { site: site(is_own, &name), name, key: 0, model }
        });
        let first = links.next()?;
        let others = links.collect();
        Some(Arc::new(Chain::new(first, others, self.total, Arc::clone(self.clock))))
    }

    fn media<T: MediaTask>(
        &self,
        own: Option<Arc<dyn MediaModel<T>>>,
        others: Vec<(i32, Arc<dyn MediaModel<T>>)>,
    ) -> Option<Arc<dyn MediaModel<T>>> {
        if others.is_empty() {
            return own;
        }
        let mut links = ranked(own.as_ref(), others).into_iter().map(|(is_own, model)| {
            let name = model.info().full_name();
            let model: Arc<dyn MediaModel<T>> =
                if is_own { model } else { Arc::new(self.guard(model.info().clone(), model)) };
            MediaLink { site: site(is_own, &name), key: 0, model }
        });
        let first = links.next()?;
        let others = links.collect();
        Some(Arc::new(MediaChain::new(first, others, self.total, Arc::clone(self.clock))))
    }

    fn guard<M: Send + Sync + ?Sized>(&self, info: ModelInfo, model: Arc<M>) -> Guarded<M> {
        let total = self.total;
        let breaker =
            self.dependencies.breaker_of_plugin(&info.full_name(), limits(total), self.clock.now());
        let allowed = Allowed { total, fair: total };
        Guarded::new(model, breaker, allowed, false, Arc::clone(self.clock))
    }
}

/// Two models share a site only if one failure rules out both; those of plugins never do.
fn site(is_own: bool, name: &str) -> String {
    if is_own { "configured".to_owned() } else { format!("plugin {name}") }
}

#[cfg(test)]
mod tests;
