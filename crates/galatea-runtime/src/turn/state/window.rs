//! Number of tokens that each model takes, as listed and as its refusals have shown. Kept with the
//! agent, and in the store, for a day.
//!
//! A refusal is believed only where it can be true: what the model took before, what its known
//! window holds and what the refusal's own numbers allow is not too long, whatever the refusal says.
//! Otherwise a server that refuses everything would shorten every prompt of every Room.

mod judge;

use dashmap::DashMap;
use galatea_core::{
    Overlong, Store, Timestamp, Turn,
    model::{ModelInfo, TextAnswer},
    tokens::{Family, Scale},
};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

use self::judge::{Judgement, RefusedRequest, judge};
use crate::turn::prompt::fit::PromptBudget;

/// Time for which a refusal is remembered: a server may be reconfigured.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Tokens kept for the answer: what a model may write at once, and at most a quarter of its window.
const ANSWER: u64 = 4_096;
/// Refusals in a row of requests that the model took before, after which they are believed: its
/// server was restarted with a smaller window.
const DOUBTS: u8 = 3;

/// Knowledge of models, by provider and name.
pub(crate) struct Windows {
    learnt: DashMap<String, Learnt>,
    store: Arc<dyn Store>,
}

/// A model whose prompts are shortened because of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortened {
    /// Provider and name.
    pub model: String,
    /// Tokens that a prompt may take, about.
    pub tokens: u64,
    /// Time at which it is asked with longer prompts again.
    pub until: Timestamp,
}

/// Limits that refusals and answers of one model have shown. Counts are estimates, before they are
/// scaled.
#[derive(Debug, Clone, Copy, Default)]
struct Learnt {
    scale: Scale,
    limits: LearntLimits,
    /// Refusals in a row that were not believed.
    doubts: u8,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LearntLimits {
    /// The longest request that was taken.
    taken: u64,
    /// The shortest that was refused.
    refused: Option<u64>,
    /// The most that the numbers of a refusal leave.
    #[serde(default)]
    named: Option<u64>,
    /// Time at which a refusal is forgotten.
    #[serde(default)]
    until: Timestamp,
}

impl LearntLimits {
    /// Size of the next request: the rest by a refusal's numbers, or half of what was refused,
    /// and from there slowly towards it.
    fn most(self) -> Option<u64> {
        let refused = self.refused?;
        Some(match self.named {
            Some(named) => named,
            None if self.taken < refused / 2 => (refused / 2).max(judge::LEAST.min(refused)),
            None => self.taken + (refused - self.taken.min(refused)) / 4,
        })
    }

    fn take(&mut self, estimate: u64) {
        self.taken = self.taken.max(estimate);
        // It was another moment's limit.
        self.refused = self.refused.filter(|refused| *refused > estimate);
        self.named = self.named.filter(|named| *named >= estimate);
    }

    /// Learns from a refusal; `named` is what its numbers leave.
    fn refuse(&mut self, estimate: u64, named: Option<u64>) {
        self.refused = Some(self.refused.map_or(estimate, |refused| refused.min(estimate)));
        self.named = named.map(|named| named.min(self.named.unwrap_or(named)));
        if self.taken >= self.named.unwrap_or(estimate) {
            self.taken = 0;
        }
    }

    /// Forgets what is out of date.
    fn expire(&mut self, now: Timestamp) {
        if self.refused.is_some() && self.until <= now {
            *self = Self::default();
        }
    }
}

impl Windows {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { learnt: DashMap::new(), store }
    }

    /// Budget of a prompt for this model. The first time the store is asked what earlier
    /// refusals have shown.
    pub(crate) async fn budget(&self, turn: &Turn<'_>, info: &ModelInfo) -> PromptBudget {
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
            self.learnt.entry(name.clone()).or_insert(Learnt { limits, ..Learnt::default() });
        }
        let learnt = match self.learnt.get_mut(&name) {
            Some(mut learnt) => {
                learnt.limits.expire(turn.now());
                *learnt
            }
            None => Learnt::default(),
        };
        let learnt_most = learnt.limits.most().map(|most| learnt.scale.apply(most));
        let tokens = [stated(info), learnt_most].into_iter().flatten().min();
        PromptBudget { family: Family::of(&info.model), scale: learnt.scale, tokens }
    }

    /// The model found a request of this estimate too long. Returns why that cannot be, where it is
    /// not believed.
    pub(crate) async fn refused(
        &self,
        turn: &Turn<'_>,
        info: &ModelInfo,
        estimate: u64,
        said: Option<Overlong>,
    ) -> Option<&'static str> {
        let name = info.full_name();
        let limits = {
            let mut learnt = self.learnt.entry(name.clone()).or_default();
            let taken = if learnt.doubts + 1 < DOUBTS { learnt.limits.taken } else { 0 };
            let asked = RefusedRequest {
                estimate,
                tokens: learnt.scale.apply(estimate),
                answer: answer(info),
                taken,
                window: window(info),
            };
            let named = match judge(asked, said) {
                Judgement::Half => None,
                Judgement::To(most) => Some(most),
                Judgement::Untrue(why) => {
                    learnt.doubts = learnt.doubts.saturating_add(1);
                    tracing::warn!(
                        model = name,
                        estimate,
                        "the model refused a prompt as too long, which is not believed: {why}"
                    );
                    return Some(why);
                }
            };
            learnt.doubts = 0;
            learnt.limits.refuse(estimate, named);
            learnt.limits.until = turn.now().plus(REMEMBERED);
            learnt.limits
        };
        tracing::warn!(
            model = name,
            code = "GAL-MODEL-413",
            tokens = limits.most(),
            "the model found a prompt too long; prompts are shortened for a day"
        );
        self.keep(turn, &name, limits).await;
        None
    }

    /// Forgets what a model's refusals have shown: no question fits in it.
    pub(crate) async fn forget(&self, turn: &Turn<'_>, info: &ModelInfo) {
        let name = info.full_name();
        if let Some(mut learnt) = self.learnt.get_mut(&name) {
            learnt.limits = LearntLimits::default();
        }
        self.keep(turn, &name, LearntLimits::default()).await;
    }

    async fn keep(&self, turn: &Turn<'_>, name: &str, limits: LearntLimits) {
        let until = turn.now().plus(REMEMBERED);
        let stored = match serde_json::to_value(limits) {
            Ok(value) => {
                self.store
                    .cache(turn.agent.identity.id(), &cache_key(name), &value, Some(until))
                    .await
            }
            Err(_) => Ok(()),
        };
        if let Err(error) = stored {
            tracing::debug!(model = name, error = %error.report(), "what a model takes could not be stored; a refusal will show it again");
        }
    }

    /// The model answered a request of this estimate.
    pub(crate) fn answered(&self, info: &ModelInfo, estimate: u64, answer: &TextAnswer) {
        // A stand-in's counts say nothing about the first.
        if answer.by.as_ref().is_some_and(|by| !by.passed.is_empty()) {
            return;
        }
        let mut learnt = self.learnt.entry(info.full_name()).or_default();
        learnt.doubts = 0;
        learnt.limits.take(estimate);
        learnt.scale.learn(estimate, answer.usage.input);
    }

    /// The models whose prompts are shortened because of refusals.
    pub(crate) fn shortened(&self, now: Timestamp) -> Vec<Shortened> {
        let mut all: Vec<Shortened> = self
            .learnt
            .iter()
            .filter(|learnt| learnt.limits.until > now)
            .filter_map(|learnt| {
                let tokens = learnt.scale.apply(learnt.limits.most()?);
                let until = learnt.limits.until;
                Some(Shortened { model: learnt.key().clone(), tokens, until })
            })
            .collect();
        all.sort_by(|a, b| a.model.cmp(&b.model));
        all
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

/// Tokens of the longest answer that is reckoned with.
fn answer(info: &ModelInfo) -> u64 {
    let most = output(info).unwrap_or(ANSWER).min(ANSWER);
    window(info).map_or(most, |window| most.min(window / 4))
}

/// Tokens of a prompt by what is known of the model.
fn stated(info: &ModelInfo) -> Option<u64> {
    window(info).map(|window| window.saturating_sub(answer(info)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_halves_and_answers_find_the_limit_again() {
        let mut limits = LearntLimits::default();
        assert_eq!(limits.most(), None);
        limits.refuse(40_000, None);
        assert_eq!(limits.most(), Some(20_000));
        limits.refuse(20_000, None);
        limits.refuse(10_000, None);
        assert_eq!(limits.most(), Some(5_000));
        let (window, mut refusals) = (8_000, 0);
        for _ in 0..50 {
            let next = limits.most().unwrap();
            if next > window {
                refusals += 1;
                limits.refuse(next, None);
            } else {
                limits.take(next);
            }
        }
        assert!(refusals <= 4 && limits.most().unwrap() > 7_000, "{refusals} refusals, {limits:?}");
    }

    #[test]
    fn a_window_that_changed_is_learnt_anew() {
        let mut limits = LearntLimits::default();
        limits.take(9_000);
        limits.refuse(6_000, None);
        assert_eq!(limits.most(), Some(3_000), "it takes less than it did");
        limits.take(7_000);
        assert_eq!(limits.most(), None, "it takes more than it refused");
    }

    #[test]
    fn the_numbers_of_a_refusal_are_the_limit_until_they_are_out_of_date() {
        let mut limits = LearntLimits { until: Timestamp(1_000), ..LearntLimits::default() };
        limits.take(9_000);
        limits.refuse(8_000, Some(3_500));
        assert_eq!(limits.most(), Some(3_500));
        limits.take(3_000);
        assert_eq!(limits.most(), Some(3_500));
        limits.expire(Timestamp(999));
        assert_eq!(limits.most(), Some(3_500));
        limits.expire(Timestamp(1_000));
        assert_eq!(limits, LearntLimits::default(), "in memory, too");
    }

    #[test]
    fn halving_stops_where_every_model_takes_more() {
        let mut limits = LearntLimits::default();
        for _ in 0..20 {
            limits.refuse(limits.most().unwrap_or(40_000), None);
        }
        assert_eq!(limits.most(), Some(judge::LEAST));
    }
}
