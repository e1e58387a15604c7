//! Keeps which fields and roles a service refuses, by model, beside the choices.

use galatea_core::{Result, Timestamp};

use super::{Choices, kept::Adjusted, lock};
use crate::choices::adjustment::Adjustment;

/// Most adjustments of one model. A request has about twenty optional fields.
const MOST: usize = 24;
/// Most models of one service.
const MOST_MODELS: usize = 64;

impl Choices {
    /// The adjustments that hold for a model.
    pub(crate) fn adjustments(
        &self,
        service: &str,
        model: &str,
        now: Timestamp,
    ) -> Vec<Adjustment> {
        let kept = lock(&self.0.kept);
        let of_model = kept.services.get(service).and_then(|one| one.adjusted.get(model));
        of_model
            .into_iter()
            .flatten()
            .filter(|one| one.until > now)
            .map(|one| one.adjustment.clone())
            .collect()
    }

    /// Adjustments that hold for a model, with the reasons, for people.
    pub(crate) fn adjusted(&self, service: &str, model: &str, now: Timestamp) -> Vec<Adjusted> {
        let kept = lock(&self.0.kept);
        let of_model = kept.services.get(service).and_then(|one| one.adjusted.get(model));
        of_model.into_iter().flatten().filter(|one| one.until > now).cloned().collect()
    }

    /// Stores adjustments, and forgets expired ones.
    ///
    /// # Errors
    /// When the file cannot be written; they still apply until the process ends.
    pub(crate) fn adjust(
        &self,
        service: &str,
        model: &str,
        new: Vec<Adjusted>,
        now: Timestamp,
    ) -> Result<()> {
        let mut kept = lock(&self.0.kept);
        let before = kept.clone();
        let all = &mut kept.services.entry(service.to_owned()).or_default().adjusted;
        for adjusted in all.values_mut() {
            adjusted.retain(|one| one.until > now);
        }
        all.retain(|_, adjusted| !adjusted.is_empty());
        if all.len() >= MOST_MODELS && !all.contains_key(model) {
            all.pop_first();
        }
        let of_model = all.entry(model.to_owned()).or_default();
        // A pair of names contradicts itself, so the newer one counts.
        for one in new {
            of_model.retain(|old| {
                old.adjustment != one.adjustment && !is_opposite(&old.adjustment, &one.adjustment)
            });
            of_model.push(one);
        }
        let surplus = of_model.len().saturating_sub(MOST);
        of_model.drain(..surplus);
        self.write(&kept, &before)
    }
}

fn is_opposite(old: &Adjustment, new: &Adjustment) -> bool {
    match (old, new) {
        (Adjustment::Renamed(from, to), Adjustment::Renamed(other, back)) => {
            from == back && to == other
        }
        // Both names are refused.
        (Adjustment::Renamed(_, to), Adjustment::Without(name)) => to == name,
        _ => false,
    }
}
