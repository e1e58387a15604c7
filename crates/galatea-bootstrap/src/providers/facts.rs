//! FACTS: facts learnt about the speakers in this room. If there are many, those most similar to
//! the message and the newest are shown.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Memory, MemoryKind, Provider, ProviderUse, Result, Speakers, Turn, store::MemoryQuery,
};
use std::{sync::Arc, time::Duration};

use crate::{
    known::Known,
    meaning::{self, Meaning},
    words,
};

pub(crate) struct Facts(pub(crate) Arc<Known>, pub(crate) Arc<Meaning>);

/// Maximum number of facts shown (elizaOS: two searches of 6).
const MOST: usize = 12;
/// How many of them are selected by similarity per speaker; the others are the newest.
const LIKEST: u32 = 6;
/// Number of the room's newest facts considered.
const LOOKED_AT: u32 = 200;
/// Longest fact shown, in graphemes.
const LONGEST: usize = 300;

#[async_trait]
impl Provider for Facts {
    fn name(&self) -> &'static str {
        "FACTS"
    }
    fn description(&self) -> &'static str {
        "What was learnt about the speaker in this room"
    }
    fn position(&self) -> i32 {
        35
    }
    fn when(&self) -> ProviderUse {
        // A room without facts needs no query, see `Known`.
        ProviderUse::Always
    }
    fn patience(&self, usual: Duration) -> Duration {
        // The provider itself stops waiting for the embedding model early enough to show facts by
        // age.
        usual + meaning::LONGEST
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        if !self.0.may_have_facts(turn).await? {
            return Ok(Fragment::default());
        }
        // Facts of other rooms must not appear here.
        let query = MemoryQuery::new(turn.agent.identity.id(), LOOKED_AT)
            .room(turn.room.id)
            .kind(MemoryKind::Facts);
        let facts = turn.store.memories(&query).await?;
        let mut speakers: Vec<&Memory> = Vec::new();
        for message in std::iter::once(turn.message).chain(turn.merged.iter().rev()) {
            if !speakers.iter().any(|known| known.entity_id == message.entity_id) {
                speakers.push(message);
            }
        }
        let of_speakers = facts
            .iter()
            .filter(|fact| speakers.iter().any(|speaker| speaker.entity_id == fact.entity_id))
            .count();
        // Only if facts must be selected, because an embedding is a call to a model.
        let older = facts.len() >= usize::try_from(LOOKED_AT).unwrap_or(usize::MAX);
        let (said, by_age) =
            match if of_speakers > MOST || older { self.1.said(turn).await } else { Ok(None) } {
                Ok(said) => (said, None),
                Err(error) => {
                    (None, Some(format!("what is known is shown by age, not by meaning: {error}")))
                }
            };
        let names = Speakers::of(turn);
        let mut text = String::new();
        let mut left = MOST;
        for speaker in speakers {
            let most_similar = match &said {
                Some(said) if left > 0 => said.facts_about(turn, speaker.entity_id, LIKEST).await,
                _ => Vec::new(),
            };
            let newest = facts.iter().filter(|fact| {
                fact.entity_id == speaker.entity_id
                    && !most_similar.iter().any(|known| known.id == fact.id)
            });
            let about: Vec<String> = most_similar
                .iter()
                .chain(newest)
                .take(left)
                .map(|f| format!("- {}", words::line(&f.content.text, LONGEST)))
                .collect();
            left -= about.len();
            if !about.is_empty() {
                text.push_str(&format!(
                    "{}# What is known about {} (hearsay, may be wrong)\n{}",
                    if text.is_empty() { "" } else { "\n\n" },
                    names.of_memory(speaker),
                    about.join("\n")
                ));
            }
        }
        if text.is_empty() {
            return Ok(Fragment::default().noted(by_age));
        }
        Ok(Fragment::text(text.clone()).value("facts", text).noted(by_age))
    }
}
