//! Detects original posts that are nearly the same as a recent one. X forbids such posts. The posts
//! are state of the account, so that they follow it to another machine.

use galatea_core::{Gateway, Result, StateKeeper};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, VecDeque},
    convert::Infallible,
};

/// Most posts remembered.
const KEPT: usize = 50;
/// Similarity (common trigrams divided by all trigrams) from which two posts count as nearly the
/// same.
const TOO_MUCH: f64 = 0.7;
/// Key of the connector state that holds the posts: at most 50 of 280 hashes, 150 kB.
const KEY: &str = "recent";

/// Hashed trigrams of a post. They suffice for a comparison, and the text cannot be read from the
/// state.
type Pieces = BTreeSet<u32>;

/// The recent original posts of one account.
pub(crate) struct Recent {
    posts: Mutex<KeptPosts>,
    keeper: StateKeeper,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct KeptPosts(VecDeque<Pieces>);

impl Recent {
    /// Knows no posts until [`Self::restore`].
    pub(crate) fn new() -> Self {
        Self { posts: Mutex::default(), keeper: StateKeeper::new(KEY) }
    }

    /// Adds the posts of earlier runs and of other machines.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn restore(&self, gateway: &Gateway) -> Result<()> {
        let mut kept = self.keeper.restore::<KeptPosts>(gateway).await?.unwrap_or_default();
        let mut posts = self.posts();
        // Posts of this process that were not stored are newer than the stored ones.
        let unstored = std::mem::take(&mut posts.0).into_iter().filter(|one| !kept.0.contains(one));
        let unstored: Vec<Pieces> = unstored.collect();
        kept.0.extend(unstored);
        *posts = kept;
        posts.trim();
        drop(posts);
        self.keeper.changed();
        Ok(())
    }

    /// Writes changes to the store for as long as the future is polled.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Infallible {
        self.keeper.keep(gateway, || Some(self.posts().clone())).await
    }

    /// Writes the current list to the store at once. If this fails, the next run may post something
    /// similar.
    pub(crate) async fn keep_now(&self, gateway: &Gateway) {
        let posts = self.posts().clone();
        self.keeper.keep_now(gateway, Some(posts)).await;
    }

    /// True if a recent post is nearly the same as `text`.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let new = pieces(text);
        self.posts().0.iter().any(|old| similarity(old, &new) >= TOO_MUCH)
    }

    /// Remembers a post.
    pub(crate) fn add(&self, text: &str) {
        let mut posts = self.posts();
        posts.0.push_back(pieces(text));
        posts.trim();
        self.keeper.changed();
    }

    fn posts(&self) -> MutexGuard<'_, KeptPosts> {
        self.posts.lock()
    }
}

impl KeptPosts {
    fn trim(&mut self) {
        let surplus = self.0.len().saturating_sub(KEPT);
        self.0.drain(..surplus);
    }
}

fn pieces(text: &str) -> Pieces {
    let letters: Vec<char> = text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    if letters.len() < 3 {
        return [hash(&letters)].into();
    }
    letters.windows(3).map(hash).collect()
}

/// FNV-1a: stable across versions, unlike the standard hasher.
fn hash(letters: &[char]) -> u32 {
    letters.iter().fold(0x811c_9dc5, |hash, c| (hash ^ u32::from(*c)).wrapping_mul(0x0100_0193))
}

#[allow(clippy::cast_precision_loss, reason = "a few hundred pieces")]
fn similarity(one: &Pieces, other: &Pieces) -> f64 {
    let common = one.intersection(other).count();
    let all = one.len() + other.len() - common;
    if all == 0 { 1.0 } else { common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_duplicates_are_known_and_new_thoughts_are_not() {
        let recent = Recent::new();
        recent.add("Eleven left-hand gloves since Sunday. No right ones.");
        assert!(recent.holds("Eleven left-hand gloves since Sunday! no right ones"));
        assert!(recent.holds("Twelve left-hand gloves since Sunday. No right ones."));
        assert!(!recent.holds("Fog until ten. You hear the curlews decide where to stand."));
        assert!(!serde_json::to_string(&*recent.posts()).unwrap().contains("glove"));
    }

    #[test]
    fn only_the_recent_ones_count() {
        let recent = Recent::new();
        recent.add("the first of many posts");
        for n in 0..KEPT {
            recent.add(&format!("{}{}", "xyz".repeat(n), n));
        }
        assert!(!recent.holds("the first of many posts"));
    }
}
