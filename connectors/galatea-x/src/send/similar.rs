//! Detects original posts that are nearly the same as a recent one. X forbids such posts.

use galatea_core::private_file;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// Most posts remembered.
const KEPT: usize = 50;
/// Similarity (common trigrams divided by all trigrams) from which two posts count as nearly the
/// same.
const TOO_MUCH: f64 = 0.7;

/// Hashed trigrams of a post. They suffice for a comparison, and the text cannot be read from the
/// file.
type Pieces = BTreeSet<u32>;

/// The recent original posts of one account.
pub(crate) struct Recent {
    path: PathBuf,
    posts: Mutex<Kept>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Kept(VecDeque<Pieces>);

impl Recent {
    /// Reads the posts of earlier runs from `path`.
    pub(crate) fn open(path: PathBuf) -> Self {
        let posts = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self { path, posts: Mutex::new(posts) }
    }

    /// Whether a recent post is nearly the same as `text`.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let new = pieces(text);
        self.posts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .iter()
            .any(|old| similarity(old, &new) >= TOO_MUCH)
    }

    /// Remembers a post.
    pub(crate) fn add(&self, text: &str) {
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        posts.0.push_back(pieces(text));
        while posts.0.len() > KEPT {
            posts.0.pop_front();
        }
        let bytes = serde_json::to_vec(&*posts).unwrap_or_default();
        if let Err(error) = private_file::replace(&self.path, &bytes) {
            tracing::warn!(error = %error, "failed to save the recent posts; after a restart a similar one may be posted");
        }
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
    fn near_duplicates_are_known_over_a_restart_and_new_thoughts_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recent.json");
        let recent = Recent::open(path.clone());
        recent.add("Eleven left-hand gloves since Sunday. No right ones.");
        let recent = Recent::open(path);
        assert!(recent.holds("Eleven left-hand gloves since Sunday! no right ones"));
        assert!(recent.holds("Twelve left-hand gloves since Sunday. No right ones."));
        assert!(!recent.holds("Fog until ten. You hear the curlews decide where to stand."));
        assert!(
            !std::fs::read_to_string(folder.path().join("recent.json")).unwrap().contains("glove")
        );
    }

    #[test]
    fn only_the_recent_ones_count() {
        let folder = tempfile::tempdir().unwrap();
        let recent = Recent::open(folder.path().join("recent.json"));
        recent.add("the first of many posts");
        for n in 0..KEPT {
            recent.add(&format!("{}{}", "xyz".repeat(n), n));
        }
        assert!(!recent.holds("the first of many posts"));
    }
}
