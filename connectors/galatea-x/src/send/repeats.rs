//! Detects a text that was posted within the last hour, such as an apology under every mention. X
//! treats accounts that repeat themselves as spam. The texts are state of the account, so that they
//! follow it to another machine.

use galatea_core::{Clock, Gateway, Result, StateKeeper, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

/// Period in which a text is not posted twice. A longer one would block the same answer to two
/// people on one day.
const WINDOW: Duration = Duration::from_secs(3600);
/// Most posts remembered; X permits 100 posts in 15 minutes.
const KEPT: usize = 500;
/// Key of the connector state that holds the posts.
const KEY: &str = "said";

/// Hashes of recent posts.
pub(crate) struct Repeats {
    clock: Arc<dyn Clock>,
    said: Mutex<VecDeque<SaidPost>>,
    keeper: StateKeeper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct SaidPost {
    words: u64,
    at: i64,
}

impl Repeats {
    /// Knows no posts until [`Self::restore`].
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, said: Mutex::default(), keeper: StateKeeper::new(KEY) }
    }

    /// Adds the posts of earlier runs and of other machines.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn restore(&self, gateway: &Gateway) -> Result<()> {
        let kept = self.keeper.restore::<VecDeque<SaidPost>>(gateway).await?.unwrap_or_default();
        let mut said = self.lock();
        // Of an earlier run of this process, the list has most of these already.
        let missing: Vec<SaidPost> = kept.into_iter().filter(|one| !said.contains(one)).collect();
        said.extend(missing);
        said.make_contiguous().sort_by_key(|said| said.at);
        self.trim(&mut said);
        drop(said);
        self.keeper.changed();
        Ok(())
    }

    /// Writes changes to the store for as long as the future is polled.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Infallible {
        self.keeper.keep(gateway, || Some(self.lock().clone())).await
    }

    /// Writes the current list to the store at once. If this fails, the next run may repeat a text.
    pub(crate) async fn keep_now(&self, gateway: &Gateway) {
        let said = self.lock().clone();
        self.keeper.keep_now(gateway, Some(said)).await;
    }

    /// True if this text was posted within the last hour.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let (words, now) = (hash(text), self.clock.now());
        self.lock().iter().any(|said| said.words == words && now.since(Timestamp(said.at)) < WINDOW)
    }

    /// Remembers a post.
    pub(crate) fn add(&self, text: &str) {
        let mut said = self.lock();
        said.push_back(SaidPost { words: hash(text), at: self.clock.now().0 });
        self.trim(&mut said);
        self.keeper.changed();
    }

    fn trim(&self, said: &mut VecDeque<SaidPost>) {
        let now = self.clock.now();
        said.retain(|said| now.since(Timestamp(said.at)) < WINDOW);
        let surplus = said.len().saturating_sub(KEPT);
        said.drain(..surplus);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SaidPost>> {
        self.said.lock()
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
    fn the_same_words_are_held_back_for_an_hour() {
        let clock = ManualClock::new();
        let repeats = Repeats::new(clock.shared());
        repeats.add("Sorry, I cannot think right now.");
        repeats.add("👍");
        assert!(repeats.holds("sorry – I cannot think right now!") && repeats.holds("👍"));
        assert!(!repeats.holds("Sorry, I can think right now.") && !repeats.holds("👎"));
        assert!(!serde_json::to_string(&*repeats.lock()).unwrap().contains("orry"));
        clock.advance(WINDOW);
        assert!(!repeats.holds("Sorry, I cannot think right now."));
    }

    #[test]
    fn the_list_is_bounded() {
        let repeats = Repeats::new(ManualClock::new().shared());
        (0..=KEPT).for_each(|n| repeats.add(&format!("word{n}")));
        assert_eq!(repeats.lock().len(), KEPT);
        assert!(!repeats.holds("word0") && repeats.holds("word1"));
    }
}
