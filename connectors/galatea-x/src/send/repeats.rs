//! Detects a text that was posted within the last hour, such as an apology under every mention. X
//! treats accounts that repeat themselves as spam.

use galatea_core::{Clock, Timestamp, private_file};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Period in which a text is not posted twice. A longer one would block the same answer to two
/// people on one day.
const WINDOW: Duration = Duration::from_secs(3600);
/// Most posts remembered; X permits 100 posts in 15 minutes.
const KEPT: usize = 500;

/// Hashes of recent posts.
pub(crate) struct Repeats {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    said: Mutex<VecDeque<Said>>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Said {
    words: u64,
    at: i64,
}

impl Repeats {
    /// Reads the posts of earlier runs from `path`.
    pub(crate) fn open(path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        let said = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self { path, clock, said: Mutex::new(said) }
    }

    /// Whether this text was posted within the last hour.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let (words, now) = (hash(text), self.clock.now());
        self.said().iter().any(|said| said.words == words && now.since(Timestamp(said.at)) < WINDOW)
    }

    /// Remembers a post.
    pub(crate) fn add(&self, text: &str) {
        let now = self.clock.now();
        let mut said = self.said();
        said.retain(|said| now.since(Timestamp(said.at)) < WINDOW);
        said.push_back(Said { words: hash(text), at: now.0 });
        while said.len() > KEPT {
            said.pop_front();
        }
        let bytes = serde_json::to_vec(&*said).unwrap_or_default();
        if let Err(error) = private_file::replace(&self.path, &bytes) {
            tracing::warn!(error = %error, "failed to save the list of posted texts; after a restart the same text may be posted again");
        }
    }

    fn said(&self) -> MutexGuard<'_, VecDeque<Said>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// FNV-1a over letters and digits, ignoring case, or over the whole text if it has none. Stable
/// across versions, unlike the standard hasher.
fn hash(text: &str) -> u64 {
    let letters = || text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let add = |hash: u64, c: char| (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3);
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    if letters().next().is_some() {
        letters().fold(BASIS, add)
    } else {
        text.trim().chars().fold(BASIS, add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_testkit::clock::ManualClock;

    #[test]
    fn the_same_words_are_held_back_for_an_hour_and_over_a_restart() {
        let (folder, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
        let open = || Repeats::open(folder.path().join("said.json"), clock.shared());
        let repeats = open();
        repeats.add("Sorry, I cannot think right now.");
        repeats.add("👍");
        assert!(open().holds("sorry – I cannot think right now!") && open().holds("👍"));
        assert!(!open().holds("Sorry, I can think right now.") && !open().holds("👎"));
        clock.advance(WINDOW);
        assert!(!repeats.holds("Sorry, I cannot think right now."));
        assert!(
            !std::fs::read_to_string(folder.path().join("said.json")).unwrap().contains("orry")
        );
    }
}
