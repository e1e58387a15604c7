//! Makes one order out of a search by words and a search by meaning. Pure functions, so that both
//! stores rank alike and the levers can be measured (`docs/search.md`).

use std::{collections::HashMap, hash::Hash, time::Duration};

mod named;
mod prepare;
mod script;

pub use named::{MOST_KNOWN, Named, named};
pub use prepare::{embedded_question, embedded_text};
pub use script::is_unspaced;

use crate::{
    error::Result,
    settings::{Settings, variable::Variable},
};

/// Weight of a memory's age in a search.
pub const HALF_LIFE: Variable = Variable::new(
    "MEMORY_HALF_LIFE_DAYS",
    "Age in days at which an earlier message counts half in the search for a prompt, and a memory in `galatea memory search`; 0: age does not count.",
)
.or("0");

/// Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
const RANKS: f32 = 60.0;

/// Least score of the best hit by words, if it has all words of the question.
const WORDS: f32 = 0.8;

/// Share of places that goes by the score without the bonus for names.
const OTHERS: usize = 3;

const DAY: Duration = Duration::from_secs(86_400);

/// Weights of words and meaning. The defaults are those measured in `docs/search.md`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fusion {
    /// Items that are added up.
    pub method: Method,
    /// Share of meaning, from 0 (words only) to 1 (meaning only).
    pub meaning: f32,
    /// Share of the score of the better neighbour (the message before or after it in its room) that
    /// a memory gets, from 0 (off) to 1.
    pub neighbours: f32,
    /// Gain of a memory that is by or about a person whom the question names, as a share of its
    /// own score: one that matches badly stays behind the best.
    pub named: f32,
    /// Age at which a memory counts half; none: age does not count.
    pub half_life: Option<Duration>,
}

/// Items that fusion adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Scores, brought to a range from 0 to 1.
    #[default]
    Scores,
    /// Reciprocal ranks: blind to how much better a hit is.
    Ranks,
}

impl Default for Fusion {
    fn default() -> Self {
        Self { method: Method::Scores, meaning: 0.6, neighbours: 0.2, named: 1.0, half_life: None }
    }
}

impl Fusion {
    /// The usual levers, with the half-life of these settings.
    ///
    /// # Errors
    /// `Invalid` if [`HALF_LIFE`] is not a whole number.
    pub fn of(settings: &Settings) -> Result<Self> {
        let days: u32 = settings.parse(&HALF_LIFE, "a whole number of days")?.unwrap_or(0);
        let half_life = (days > 0).then(|| DAY.saturating_mul(days));
        Ok(Self { half_life, ..Self::default() })
    }
}

/// A place in a list, from 1, and the score that led to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Place in its list, counted from 1.
    pub rank: u32,
    /// BM25, or cosine similarity.
    pub score: f32,
}

/// Facts about a candidate before fusion.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<K> {
    /// Key that the lists have in common: the id of a memory, or of a document.
    pub key: K,
    /// Its BM25; none if it shares no word with the question.
    pub words: Option<f32>,
    /// Share of the question's words that it has, weighed by rarity, from 0 to 1
    /// ([`crate::store::Recalled::coverage`]). Stands for its similarity while it has no embedding.
    pub coverage: f32,
    /// Its cosine similarity; none without an embedding.
    pub meaning: Option<f32>,
    /// The messages before and after it in its room, whether candidates or not.
    pub neighbours: [Option<K>; 2],
    /// The question names its person, or a person whose name it contains.
    pub named: bool,
    /// Milliseconds since it was made.
    pub age: i64,
}

/// A candidate with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused<K> {
    /// Key that the lists have in common: the id of a memory, or of a document.
    pub key: K,
    /// Sum over the lists; only comparable within one search.
    pub score: f32,
    /// Its place by words.
    pub words: Option<Ranked>,
    /// Its place by meaning.
    pub meaning: Option<Ranked>,
}

/// Puts candidates in order, the best first; equals keep the order in which they came. A candidate
/// that matches in neither way and has no neighbour that does is left out.
pub fn fuse<K: Copy + Eq + Hash>(candidates: &[Candidate<K>], fusion: &Fusion) -> Vec<Fused<K>> {
    let words = ranks(candidates, |c| c.words.filter(|score| *score > 0.0));
    let meaning = ranks(candidates, |c| c.meaning);
    let own: Vec<f32> = match fusion.method {
        Method::Scores => {
            let coverage = || candidates.iter().map(|candidate| candidate.coverage);
            let by_words = from_zero(&words);
            let both = mixed(&by_words, &between(&meaning), coverage(), fusion.meaning);
            // A text with nearly all words of the question is a hit whatever the model takes it
            // for: models know neither numbers nor every language.
            let words = by_words.iter().zip(coverage());
            let most = if fusion.meaning < 1.0 { WORDS } else { 0.0 };
            let least = words.map(|(words, coverage)| most * coverage * words.unwrap_or(0.0));
            both.into_iter().zip(least).map(|(both, least)| both.max(least)).collect()
        }
        Method::Ranks => {
            let [words, meaning] = [&words, &meaning].map(|of| reciprocal(of));
            let by_words = words.iter().map(|words| words.unwrap_or(0.0));
            mixed(&words, &meaning, by_words, fusion.meaning)
        }
    };
    let has_neighbours = candidates.iter().any(|candidate| candidate.neighbours != [None, None]);
    let places: HashMap<K, usize> = if has_neighbours {
        candidates.iter().enumerate().map(|(n, candidate)| (candidate.key, n)).collect()
    } else {
        HashMap::new()
    };
    let mut fused: Vec<(Fused<K>, f32)> = candidates
        .iter()
        .enumerate()
        .map(|(n, candidate)| {
            let beside = candidate
                .neighbours
                .iter()
                .flatten()
                .filter_map(|key| places.get(key).and_then(|n| own.get(*n)))
                .copied()
                .fold(0.0, f32::max);
            let mut plain = own.get(n).copied().unwrap_or(0.0) + fusion.neighbours * beside;
            if let Some(half_life) = fusion.half_life {
                plain *= decay(candidate.age, half_life);
            }
            let bonus = if candidate.named { fusion.named } else { 0.0 };
            let [words, meaning] = [&words, &meaning].map(|of| of.get(n).copied().flatten());
            let score = plain * (1.0 + bonus);
            (Fused { key: candidate.key, score, words, meaning }, plain)
        })
        // The least similar candidate has no score, and is a match all the same.
        .filter(|(f, _)| f.score > 0.0 || (f.meaning.is_some() && fusion.meaning > 0.0))
        .collect();
    fused.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
    if fusion.named > 0.0 && candidates.iter().any(|candidate| candidate.named) {
        return with_others(fused);
    }
    fused.into_iter().map(|(fused, _)| fused).collect()
}

/// Every third place is for the best without the bonus for names: a question may name one person and ask
/// for what another one said. Those that rise get the score of the place.
fn with_others<K: Copy>(named: Vec<(Fused<K>, f32)>) -> Vec<Fused<K>> {
    let mut plain: Vec<usize> = (0..named.len()).collect();
    plain.sort_by(|a, b| named[*b].1.total_cmp(&named[*a].1));
    let mut is_taken = vec![false; named.len()];
    let (mut plain, mut boosted) = (plain.into_iter(), 0);
    let mut order = Vec::with_capacity(named.len());
    while order.len() < named.len() {
        while is_taken.get(boosted).is_some_and(|taken| *taken) {
            boosted += 1;
        }
        let other = ((order.len() + 1).is_multiple_of(OTHERS))
            .then(|| plain.by_ref().find(|n| !is_taken[*n]))
            .flatten();
        let n = other.unwrap_or(boosted);
        let Some((fused, _)) = named.get(n) else { break };
        let score = named.get(boosted).map_or(fused.score, |(best, _)| best.score);
        order.push(Fused { score: fused.score.max(score), ..*fused });
        is_taken[n] = true;
    }
    order
}

#[allow(clippy::cast_precision_loss, reason = "a rank is far below 2^24")]
fn rank(of: Ranked) -> f32 {
    of.rank as f32
}

/// The place of each candidate by one of its scores. Equal scores keep their order.
fn ranks<K>(
    candidates: &[Candidate<K>],
    score: impl Fn(&Candidate<K>) -> Option<f32>,
) -> Vec<Option<Ranked>> {
    let mut out = vec![None; candidates.len()];
    let mut order: Vec<(usize, f32)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(n, candidate)| Some((n, score(candidate)?)))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (rank, (n, score)) in (1..).zip(order) {
        if let Some(slot) = out.get_mut(n) {
            *slot = Some(Ranked { rank, score });
        }
    }
    out
}

/// Scores from 0 to 1, where 1 is the best.
fn from_zero(of: &[Option<Ranked>]) -> Vec<Option<f32>> {
    let best = of.iter().flatten().map(|r| r.score).fold(f32::MIN_POSITIVE, f32::max);
    of.iter().map(|r| r.map(|r| r.score / best)).collect()
}

/// Scores from 0 (the worst candidate) to 1 (the best): models differ in the range of their
/// similarities.
fn between(of: &[Option<Ranked>]) -> Vec<Option<f32>> {
    let scores = || of.iter().flatten().map(|r| r.score);
    let (best, worst) = (scores().fold(f32::MIN, f32::max), scores().fold(f32::MAX, f32::min));
    let range = best - worst;
    let normal = |r: &Ranked| if range > f32::EPSILON { (r.score - worst) / range } else { 1.0 };
    of.iter().map(|r| r.as_ref().map(normal)).collect()
}

fn reciprocal(of: &[Option<Ranked>]) -> Vec<Option<f32>> {
    of.iter().map(|r| r.map(|r| (1.0 + RANKS) / (rank(r) + RANKS))).collect()
}

/// Both scores of each candidate. What has no embedding yet gets the score that stands for it: with 0
/// it would lie behind all that have nothing to do with the question. That is its coverage, since the
/// best score of words is 1 even if it has one ordinary word of the question. Where nothing has an
/// embedding, words alone count.
fn mixed(
    words: &[Option<f32>],
    meaning: &[Option<f32>],
    missing: impl Iterator<Item = f32>,
    share: f32,
) -> Vec<f32> {
    let words = words.iter().map(|words| words.unwrap_or(0.0));
    if meaning.iter().all(Option::is_none) {
        return words.collect();
    }
    let of = |((words, meaning), missing): ((f32, &Option<f32>), f32)| {
        (1.0 - share) * words + share * meaning.unwrap_or(missing)
    };
    words.zip(meaning).zip(missing).map(of).collect()
}

#[allow(clippy::cast_precision_loss, reason = "an age of years needs no milliseconds")]
fn decay(age: i64, half_life: Duration) -> f32 {
    let half_lives = age.max(0) as f32 / 1e3 / half_life.as_secs_f32().max(f32::MIN_POSITIVE);
    0.5_f32.powf(half_lives)
}

#[cfg(test)]
mod tests;
