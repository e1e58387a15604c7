//! How many tokens each model takes, as listed and as its refusals have shown. Kept with the agent,
//! and in the store for a day.

use dashmap::DashMap;
use galatea_core::{
    Store, Turn,
    model::{ModelInfo, TextAnswer},
    tokens::{Family, Scale},
};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

use super::fit::Budget;

/// How long a refusal is remembered in the store: a server may be reconfigured.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Tokens kept for the answer: what a model may write at once, and at most a quarter of its window.
const ANSWER: u64 = 4_096;

/// What was learnt of models, by provider and name.
pub(crate) struct Windows {
    learnt: DashMap<String, Learnt>,
    store: Arc<dyn Store>,
}

/// What refusals and answers of one model have shown. Counts are estimates, before they are scaled.
#[derive(Debug, Clone, Copy, Default)]
struct Learnt {
    scale: Scale,
    limits: Limits,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Limits {
    /// The longest request that was taken.
    taken: u64,
    /// The shortest that was refused.
    refused: Option<u64>,
}

impl Limits {
    /// What the next request may take: half of what was refused, and from there slowly towards it.
    fn most(self) -> Option<u64> {
        let refused = self.refused?;
        Some(if self.taken < refused / 2 {
            refused / 2
        } else {
            self.taken + (refused - self.taken.min(refused)) / 4
        })
    }

    fn take(&mut self, estimate: u64) {
        self.taken = self.taken.max(estimate);
        // It was another moment's limit.
        self.refused = self.refused.filter(|refused| *refused > estimate);
    }

    fn refuse(&mut self, estimate: u64) {
        self.refused = Some(self.refused.map_or(estimate, |refused| refused.min(estimate)));
        if self.taken >= estimate {
            self.taken = 0;
        }
    }
}

impl Windows {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { learnt: DashMap::new(), store }
    }

    /// What a prompt for this model may take. The first time the store is asked what earlier
    /// refusals have shown.
    pub(super) async fn budget(&self, turn: &Turn<'_>, info: &ModelInfo) -> Budget {
        let name = info.full_name();
        if !self.learnt.contains_key(&name) {
            let stored = self
                .store
                .cached(turn.agent.identity.id(), &cache_key(&name), turn.now())
                .await
                .ok()
                .flatten();
            let limits =
                stored.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
            self.learnt.entry(name.clone()).or_insert(Learnt { scale: Scale::default(), limits });
        }
        let learnt = self.learnt.get(&name).map(|learnt| *learnt).unwrap_or_default();
        let stated = window(info).map(|window| {
            window.saturating_sub(output(info).unwrap_or(ANSWER).min(ANSWER).min(window / 4))
        });
        let learnt_most = learnt.limits.most().map(|most| learnt.scale.apply(most));
        let tokens = [stated, learnt_most].into_iter().flatten().min();
        Budget { family: Family::of(&info.model), scale: learnt.scale, tokens }
    }

    /// The model found a request of this estimate too long.
    pub(super) async fn refused(&self, turn: &Turn<'_>, info: &ModelInfo, estimate: u64) {
        let name = info.full_name();
        let limits = {
            let mut learnt = self.learnt.entry(name.clone()).or_default();
            learnt.limits.refuse(estimate);
            learnt.limits
        };
        let until = turn.now().plus(REMEMBERED);
        let stored = match serde_json::to_value(limits) {
            Ok(value) => {
                self.store
                    .cache(turn.agent.identity.id(), &cache_key(&name), &value, Some(until))
                    .await
            }
            Err(_) => Ok(()),
        };
        if let Err(error) = stored {
            tracing::debug!(model = name, error = %error.report(), "what a model takes could not be stored; a refusal will show it again");
        }
    }

    /// The model answered a request of this estimate.
    pub(super) fn answered(&self, info: &ModelInfo, estimate: u64, answer: &TextAnswer) {
        // A stand-in's counts say nothing about the first.
        if answer.by.as_ref().is_some_and(|by| !by.passed.is_empty()) {
            return;
        }
        let mut learnt = self.learnt.entry(info.full_name()).or_default();
        learnt.limits.take(estimate);
        learnt.scale.learn(estimate, answer.usage.input);
    }
}

fn cache_key(name: &str) -> String {
    format!("window:{name}")
}

/// Tokens of prompt and answer together, where that is known.
fn window(info: &ModelInfo) -> Option<u64> {
    info.limits.window.map(u64::from)
}

/// Tokens of the longest answer, where that is known.
fn output(info: &ModelInfo) -> Option<u64> {
    info.limits.output.map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_halves_and_answers_find_the_limit_again() {
        let mut limits = Limits::default();
        assert_eq!(limits.most(), None);
        limits.refuse(40_000);
        assert_eq!(limits.most(), Some(20_000));
        limits.refuse(20_000);
        limits.refuse(10_000);
        assert_eq!(limits.most(), Some(5_000));
        let (window, mut refusals) = (8_000, 0);
        for _ in 0..50 {
            let next = limits.most().unwrap();
            if next > window {
                refusals += 1;
                limits.refuse(next);
            } else {
                limits.take(next);
            }
        }
        assert!(refusals <= 4 && limits.most().unwrap() > 7_000, "{refusals} refusals, {limits:?}");
    }

    #[test]
    fn a_window_that_changed_is_learnt_anew() {
        let mut limits = Limits::default();
        limits.take(9_000);
        limits.refuse(6_000);
        assert_eq!(limits.most(), Some(3_000), "it takes less than it did");
        limits.take(7_000);
        assert_eq!(limits.most(), None, "it takes more than it refused");
    }
}
