//! Joins the models that plugins bring with the configured ones: by type, from the highest priority
//! down, the next one if one fails.

mod embedding;
mod guard;

use std::{cmp::Reverse, sync::Arc};

use galatea_core::{
    Clock, EmbeddingModel, ModelInfo, Models, Result, Settings, TextModel,
    model::{
        MediaModel, MediaTask, ObjectModel, ObjectModels, ObjectTier, PluginModel, ReasoningModels,
        RegisteredModel, Sampling, Tier,
    },
};

use guard::Guard;

use super::{
    context::{EMBEDDING, seconds},
    parameters::sampling,
    variables::{MODEL_FIRST_TOKEN_TIMEOUT, MODEL_TOTAL_TIMEOUT},
};
use crate::{
    chain::{Chain, Link},
    dependencies::{Dependencies, PluginUse},
    guarded::{Allowed, Guarded},
    media::{MediaChain, MediaLink},
    tuned::Tuned,
};
use embedding::EmbeddingModels;

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
    let total = seconds(settings, &MODEL_TOTAL_TIMEOUT)?;
    let first = seconds(settings, &MODEL_FIRST_TOKEN_TIMEOUT)?;
    let join = Join { clock, dependencies, allowed: Allowed { total, fair: first.min(total) } };
    let of_tier = |tier: Tier| {
        select(registered, |model| match model {
            PluginModel::Text(of, model) if *of == tier => Some(Arc::clone(model)),
            _ => None,
        })
    };
    let text = |tier: Tier, own: Option<&Arc<dyn TextModel>>| -> Result<_> {
        Ok(join.texts(tier.into(), own, of_tier(tier), &sampling(settings, tier)?))
    };
    let reasoning = |tier: Tier, own: Option<&Arc<dyn TextModel>>| -> Result<_> {
        let mut others = of_tier(tier);
        // Without a model for thought, the large models think.
        if others.is_empty() && own.is_some_and(|own| is_same(own.info(), models.large.info())) {
            others = of_tier(Tier::TextLarge);
        }
        Ok(join.texts(tier.into(), own, others, &sampling(settings, tier)?))
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
    let thinking = ReasoningModels {
        small: reasoning(Tier::ReasoningSmall, models.reasoning.small.as_ref())?,
        large: reasoning(Tier::ReasoningLarge, models.reasoning.large.as_ref())?,
    };
    let seeing = select(registered, vision);
    Ok(Models {
        small: text(Tier::TextSmall, Some(&models.small))?.unwrap_or(models.small),
        large: text(Tier::TextLarge, Some(&models.large))?.unwrap_or(models.large),
        reasoning: thinking,
        vision: join.texts(PluginUse::Vision, models.vision.as_ref(), seeing, &at_large),
        objects: ObjectModels {
            small: join.objects(ObjectTier::ObjectSmall, registered),
            large: join.objects(ObjectTier::ObjectLarge, registered),
            clock: Arc::clone(clock),
            total,
        },
        embedding: join.embedding(models.embedding, registered),
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

struct Join<'a> {
    clock: &'a Arc<dyn Clock>,
    dependencies: &'a Dependencies,
    allowed: Allowed,
}

impl Join<'_> {
    /// Vectors of two models cannot be compared, so one model makes all of them. The others only
    /// embed questions for what they embedded before.
    fn embedding(
        &self,
        own: Option<Arc<dyn EmbeddingModel>>,
        registered: &[RegisteredModel],
    ) -> Option<Arc<dyn EmbeddingModel>> {
        let of = |model: &PluginModel| match model {
            PluginModel::Embedding(model) => Some(Arc::clone(model)),
            _ => None,
        };
        let others = select(registered, of);
        if others.is_empty() {
            return own;
        }
        let total = self.allowed.total.min(EMBEDDING);
        let guard = Guard {
            clock: Arc::clone(self.clock),
            dependencies: self.dependencies.clone(),
            allowed: Allowed { total, fair: total },
        };
        EmbeddingModels::join(ranked(own.as_ref(), others), guard)
    }

    /// The object models of plugins, the highest priority first. A call may take half of the time of an
    /// answer; what is left of it bounds all calls of a model (`object::generate`).
    fn objects(
        &self,
        tier: ObjectTier,
        registered: &[RegisteredModel],
    ) -> Vec<Arc<dyn ObjectModel>> {
        let of = |model: &PluginModel| match model {
            PluginModel::Object(of, model) if *of == tier => Some(Arc::clone(model)),
            _ => None,
        };
        let total = self.allowed.total / 2;
        let allowed = Allowed { total, fair: self.allowed.fair.min(total) };
        let guarded = |(_, model): (bool, Arc<dyn ObjectModel>)| -> Arc<dyn ObjectModel> {
            let info = model.info().clone();
            Arc::new(self.guard(tier.into(), &info, model, allowed))
        };
        ranked(None, select(registered, of)).into_iter().map(guarded).collect()
    }

    /// Chains the configured model and those of plugins. Returns the configured model unchanged if
    /// no plugin brings one, and `None` without any model.
    fn texts(
        &self,
        used_for: PluginUse,
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
                let info = model.info().clone();
                let guarded = self.guard(used_for, &info, model, self.allowed);
                Tuned::wrap(Arc::new(guarded), defaults.clone())
            };
            Link { site: site(is_own, &name), name, key: 0, model }
        });
        let first = links.next()?;
        let others = links.collect();
        Some(Arc::new(Chain::new(first, others, self.allowed.total, Arc::clone(self.clock))))
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
            let model: Arc<dyn MediaModel<T>> = if is_own {
                model
            } else {
                let info = model.info().clone();
                Arc::new(self.guard(PluginUse::Media(T::TYPE), &info, model, self.allowed))
            };
            MediaLink { site: site(is_own, &name), key: 0, model }
        });
        let first = links.next()?;
        let others = links.collect();
        Some(Arc::new(MediaChain::new(first, others, self.allowed.total, Arc::clone(self.clock))))
    }

    fn guard<M: Send + Sync + ?Sized>(
        &self,
        used_for: PluginUse,
        info: &ModelInfo,
        model: Arc<M>,
        allowed: Allowed,
    ) -> Guarded<M> {
        let guard = Guard {
            clock: Arc::clone(self.clock),
            dependencies: self.dependencies.clone(),
            allowed,
        };
        guard.of(used_for, info, model)
    }
}

/// True if both are one model of one provider.
fn is_same(one: &ModelInfo, other: &ModelInfo) -> bool {
    (&one.provider, &one.model) == (&other.provider, &other.model)
}

/// Two models share a site only if one failure rules out both; those of plugins never do.
fn site(is_own: bool, name: &str) -> String {
    if is_own { "configured".to_owned() } else { format!("plugin {name}") }
}

#[cfg(test)]
mod tests;
