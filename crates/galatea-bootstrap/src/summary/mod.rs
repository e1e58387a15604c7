//! Summaries of a room before the messages that a prompt shows. Each is made of the one before
//! it and of the messages since, and keeps the ids of both.

pub(crate) mod check;
mod lexicon;
pub(crate) mod numbers;
pub(crate) mod question;

use galatea_core::{
    Memory, MemoryId, MemoryKind, Result, Timestamp, Turn, rights::TAINTED, sections::Section,
    store::MemoryQuery, tokens::Family,
};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;

use crate::words;

/// True if a folded word often begins a sentence and is no name.
pub(crate) fn is_opening(word: &str) -> bool {
    lexicon::lexicon().is_opening(word)
}

/// The number of a month by its folded name.
pub(crate) fn month(word: &str) -> Option<u32> {
    lexicon::lexicon().month(word)
}

/// What stands before a summary in a prompt.
pub(crate) const HEADING: &str = "Earlier in this conversation, as it was summed up: ";
/// Key of a summary's metadata: the time of the last message it covers, in milliseconds.
const UNTIL: &str = "coversUntil";
/// Summaries read to find the one that ends where the prompt begins: the newest is made before its
/// messages leave the prompt.
const READ: u32 = 4;

/// A stored summary.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    pub(crate) id: MemoryId,
    pub(crate) text: String,
    /// The time of the last message it covers.
    pub(crate) until: Timestamp,
    /// It was made of words of others than the agent and the one person of a direct room.
    pub(crate) others_words: bool,
}

impl Summary {
    fn of(memory: &Memory, until: Timestamp) -> Self {
        let others_words = memory.metadata.contains_key(TAINTED);
        Self { id: memory.id, text: memory.content.text.clone(), until, others_words }
    }

    /// Its metadata.
    pub(crate) fn metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert("type".into(), json!("summary"));
        metadata.insert("trust".into(), json!("untrusted"));
        metadata.insert(UNTIL.into(), json!(self.until));
        if self.others_words {
            metadata.insert(TAINTED.into(), json!(true));
        }
        metadata
    }
}

/// The tokens that a summary may take in this turn's prompt.
pub(crate) fn most(turn: &Turn<'_>) -> u64 {
    turn.budget(Section::Summary).saturating_sub(Family::Other.text(HEADING))
}

/// The last sentences of a summary, which say the newest, that take so many tokens at most.
pub(crate) fn newest_within(text: &str, most: u64) -> String {
    let mut rest = text;
    let mut sentences = check::sentences(text).into_iter();
    while Family::Other.text(rest) > most {
        match sentences.next() {
            Some(sentence) if sentence.len() < rest.len() => rest = &rest[sentence.len()..],
            _ => return words::within(rest.trim().to_owned(), most),
        }
    }
    rest.trim().to_owned()
}

/// The newest summary of the room, of those that end at the time given or before it; none from before
/// its conversation was reset.
pub(crate) async fn newest(turn: &Turn<'_>, ended: Option<Timestamp>) -> Result<Option<Summary>> {
    let query = MemoryQuery::new(turn.agent.identity.id(), READ)
        .room(turn.room.id)
        .kind(MemoryKind::Summaries);
    let stored = turn.store.shared_memories(&query).await?;
    let reset = reset(turn);
    // All are times of messages. When the summary was made is a time of another clock.
    let counts = |until: Timestamp| {
        reset.is_none_or(|reset| reset <= until) && ended.is_none_or(|ended| until <= ended)
    };
    let newest = stored
        .iter()
        .filter_map(|memory| {
            let until = memory.metadata.get(UNTIL).and_then(Value::as_i64).map(Timestamp)?;
            counts(until).then_some((memory, until))
        })
        .min_by_key(|(_, until)| Reverse(*until));
    Ok(newest.map(|(memory, until)| Summary::of(memory, until)))
}

/// Time at which the room's conversation was reset.
pub(crate) fn reset(turn: &Turn<'_>) -> Option<Timestamp> {
    turn.room.metadata.get("resetAt").and_then(Value::as_i64).map(Timestamp)
}

/// The time of the last message that prompts lose when they show as many as they may; none while
/// that is not near.
pub(crate) fn leaving(turn: &Turn<'_>) -> Option<Timestamp> {
    turn.recent.get(turn.leaving.checked_sub(1)?).map(|memory| memory.created_at)
}
