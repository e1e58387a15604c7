//! A poll as a value. Pure functions change it, so they are tested without an agent.

use galatea_core::{EntityId, Result, Turn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A poll of one Room.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Poll {
    pub(crate) question: String,
    pub(crate) options: Vec<String>,
    /// One vote for each person: the number of the option, from 0.
    votes: BTreeMap<EntityId, usize>,
}

impl Poll {
    pub(crate) fn new(question: String, options: Vec<String>) -> Self {
        Self { question, options, votes: BTreeMap::new() }
    }

    /// Counts a vote in place of the person's earlier one. None for a word that is no option.
    pub(crate) fn vote(&mut self, person: EntityId, word: &str) -> Option<&str> {
        let word = word.trim();
        let same = |option: &String| option.eq_ignore_ascii_case(word);
        let at = self.options.iter().position(same)?;
        self.votes.insert(person, at);
        self.options.get(at).map(String::as_str)
    }

    /// How it stands, a line for each option.
    pub(crate) fn describe(&self) -> String {
        let votes = |at: usize| self.votes.values().filter(|vote| **vote == at).count();
        let options = self.options.iter().enumerate();
        let lines: Vec<String> =
            options.map(|(at, option)| format!("- {option}: {}", votes(at))).collect();
        format!("{}\n{}", self.question, lines.join("\n"))
    }

    /// The poll of the Room of a turn.
    pub(crate) async fn load(turn: &Turn<'_>) -> Result<Option<Self>> {
        let stored = turn.cache.get(&key(turn), turn.now()).await?;
        Ok(stored.and_then(|stored| serde_json::from_value(stored).ok()))
    }

    /// Stores a poll in place of `seen`. False if another turn changed it meanwhile.
    pub(crate) async fn save(&self, turn: &Turn<'_>, seen: Option<&Self>) -> Result<bool> {
        let value = |poll: &Self| serde_json::json!(poll);
        let seen = seen.map(value);
        turn.cache.swap(&key(turn), seen.as_ref(), &value(self)).await
    }
}

/// The key of a Room's poll among the plugin's small values.
fn key(turn: &Turn<'_>) -> String {
    format!("poll:{}", turn.room.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_one_vote_and_may_change_it() {
        let mut poll = Poll::new("Lunch?".into(), vec!["Pizza".into(), "Soup".into()]);
        let (ada, bob) = (EntityId::fresh(), EntityId::fresh());
        assert_eq!(poll.vote(ada, " pizza "), Some("Pizza"));
        assert_eq!(poll.vote(bob, "soup"), Some("Soup"));
        assert_eq!(poll.vote(ada, "Soup"), Some("Soup"));
        assert_eq!(poll.vote(bob, "stones"), None);
        assert_eq!(poll.describe(), "Lunch?\n- Pizza: 0\n- Soup: 2");
    }
}
