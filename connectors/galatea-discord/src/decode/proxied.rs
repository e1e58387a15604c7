//! Messages that an application deletes and posts again, under another name, for the person who wrote
//! them (PluralKit, Tupperbox). The repeated message holds the words of the original, without the marks
//! by which the application knew them.

use dashmap::DashMap;
use parking_lot::RwLock;
use std::{collections::VecDeque, time::Duration};

use crate::time_of;

/// Messages remembered in a channel, and channels. When full, all channels are forgotten.
const MESSAGES: usize = 16;
const CHANNELS: usize = 10_000;
/// Time within which such an application repeats a message.
const SOON: Duration = Duration::from_secs(30);

/// A message of a person.
#[derive(Debug)]
struct Original {
    id: u64,
    text: String,
}

/// Recent messages of people, and the applications that repeat them.
#[derive(Debug, Default)]
pub(super) struct Proxied {
    applications: RwLock<Vec<u64>>,
    recent: DashMap<u64, VecDeque<Original>>,
}

impl Proxied {
    pub(super) fn set_applications(&self, applications: Vec<u64>) {
        *self.applications.write() = applications;
    }

    pub(super) fn is_application(&self, application: u64) -> bool {
        self.applications.read().contains(&application)
    }

    pub(super) fn remember(&self, channel: u64, id: u64, text: &str) {
        if self.applications.read().is_empty() {
            return;
        }
        if self.recent.len() >= CHANNELS {
            self.recent.clear();
        }
        let mut recent = self.recent.entry(channel).or_default();
        recent.retain(|known| known.id != id);
        recent.push_back(Original { id, text: text.to_owned() });
        if recent.len() > MESSAGES {
            recent.pop_front();
        }
    }

    /// The newest message before `id` that has these words; it is taken out.
    pub(super) fn original(&self, channel: u64, id: u64, text: &str) -> Option<u64> {
        let mut recent = self.recent.get_mut(&channel)?;
        let text = text.trim();
        let repeats = |known: &Original| {
            known.id < id
                && time_of(id).since(time_of(known.id)) <= SOON
                && known.text.contains(text)
                // A file without words repeats a message without words, but for its marks.
                && (!text.is_empty() || known.text.trim().chars().count() <= 16)
        };
        let at = recent.iter().rposition(repeats)?;
        recent.remove(at).map(|known| known.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64, n: u64) -> u64 {
        millis << 22 | n
    }

    #[test]
    fn the_message_with_the_same_words_is_the_original_once() {
        let proxied = Proxied::default();
        proxied.remember(1, at(1_000, 0), "before any application is set");
        proxied.set_applications(vec![7]);
        assert!(proxied.is_application(7) && !proxied.is_application(8));
        proxied.remember(1, at(1_000, 1), "A: Nova, what is a loom?");
        proxied.remember(1, at(1_001, 2), "nice weather");
        proxied.remember(2, at(1_001, 3), "A: Nova, what is a loom?");
        let again = |channel, millis, text: &str| proxied.original(channel, at(millis, 9), text);
        assert_eq!(again(1, 900, "Nova, what is a loom?"), None, "it was before");
        assert_eq!(again(1, 40_000, "Nova, what is a loom?"), None, "too late");
        assert_eq!(again(1, 2_000, "something else"), None);
        assert_eq!(again(1, 2_000, "Nova, what is a loom?"), Some(at(1_000, 1)));
        assert_eq!(again(1, 2_000, "Nova, what is a loom?"), None, "only once");
        assert_eq!(again(1, 2_000, "before any application is set"), None);
        assert_eq!(again(1, 2_000, ""), Some(at(1_001, 2)), "a file alone");
    }

    #[test]
    fn little_is_remembered() {
        let proxied = Proxied::default();
        proxied.set_applications(vec![7]);
        for n in 0..100 {
            proxied.remember(1, at(1_000, n), &format!("words {n}"));
        }
        assert_eq!(proxied.recent.get(&1).unwrap().len(), MESSAGES);
    }
}
