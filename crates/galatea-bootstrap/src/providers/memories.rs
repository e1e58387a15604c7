//! MEMORIES: earlier messages of this room that the prompt no longer shows and that fit what is
//! asked now, each with its speaker and the messages around it, and with the time after a pause.

use async_trait::async_trait;
use galatea_core::{
    EntityId, Fragment, Memory, MemoryId, MemoryKind, Provider, ProviderUse, Result, Speakers,
    Timestamp, Turn,
    fusion::Fusion,
    rights::Authorship,
    sections::Section,
    speakers, standing,
    store::{RecallQuery, Recalled},
    tokens::Family,
};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    asked_people,
    fact::view,
    meaning::{self, PromptMeaning},
    summary, words,
};

pub(crate) struct Memories(pub(crate) Arc<PromptMeaning>);

/// Maximum number of messages that are looked for.
const MOST: u32 = 12;
/// Results of a search by words alone, each with enough of the question's words.
const BY_WORDS: u32 = 4;
/// Tokens of the time before a group of messages.
const TIME: u64 = 12;
/// Longest message shown, and longest of those around it, in graphemes.
const LONGEST: usize = 300;
const AROUND: usize = 120;
/// Words of a message that means something only with the one before it ("on Friday, at eight").
const SHORT: usize = 8;
/// Least share of the question's words, by their rarity, of a hit of such a search. The store's test
/// `the_coverage_of_a_hit_tells_evidence_from_other_talk` prints what that leaves.
const COVERAGE: f32 = 0.35;
/// A hit counts if its score is at least this part of the best one's, which a name in the question may
/// have doubled.
const NEAR_BEST: f32 = 0.3;
/// Results of a search by words alone, in which the evidence is nearly always the best hit.
const NEAR_BEST_BY_WORDS: f32 = 0.6;
/// A message shows its time if so much lies between it and the one before it.
const PAUSE: Duration = Duration::from_secs(600);
/// Two messages say the same if so many of all their words stand in both. A changed name or number
/// in a short sentence is less.
const SAME: (usize, usize) = (4, 5);

#[async_trait]
impl Provider for Memories {
    fn name(&self) -> &'static str {
        "MEMORIES"
    }
    fn description(&self) -> &'static str {
        "Earlier messages that fit what is asked"
    }
    fn position(&self) -> i32 {
        97
    }
    fn when(&self) -> ProviderUse {
        // A conversation that the prompt shows as a whole needs no query.
        ProviderUse::Always
    }
    fn patience(&self, usual: Duration) -> Duration {
        usual + meaning::LONGEST
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let (Some(oldest), Some(_)) = (turn.recent.first(), turn.earlier) else {
            return Ok(Fragment::default());
        };
        let (said, note) = match self.0.embed_question(turn).await {
            Ok(said) => {
                let note = said.as_ref().map(|said| {
                    let waited = format!("the embedding model was waited for: {} ms", said.millis);
                    said.note
                        .as_ref()
                        .map_or_else(|| waited.clone(), |missing| format!("{waited}; {missing}"))
                });
                (said, note)
            }
            Err(error) => (
                None,
                Some(format!("earlier messages are found by words, not by meaning: {error}")),
            ),
        };
        let question = meaning::question(turn);
        let named = asked_people::named(turn, &question, &[]);
        let (most, coverage, near) = match said {
            Some(_) => (MOST, 0.0, NEAR_BEST),
            None => (BY_WORDS, COVERAGE, NEAR_BEST_BY_WORDS),
        };
        let query = RecallQuery {
            room: Some(turn.room.id),
            since: summary::reset(turn),
            before: Some(shown_from(oldest, turn.message)),
            meanings: said.map(meaning::QuestionMeaning::into_meanings).unwrap_or_default(),
            neighbours: true,
            coverage,
            fusion: Fusion::of(&turn.agent.settings)?,
            ..RecallQuery::new(view::of_room(turn), question, most, turn.now())
                .kind(MemoryKind::Messages)
                .naming(named)
        };
        let found = turn.store.recall(&query).await?;
        let others = |hit: &Recalled| {
            [Some(&hit.memory), hit.before.as_ref(), hit.after.as_ref()]
                .into_iter()
                .flatten()
                .any(|memory| standing::holds_others(turn, memory))
        };
        let own = turn.room.kind.is_direct() && !found.iter().any(others);
        let authorship = if own { Authorship::Own } else { Authorship::Others };
        let text = render(turn, &found, near);
        if text.is_empty() {
            return Ok(Fragment::default().noted(note));
        }
        let text = format!("Earlier here, and perhaps of use now:{text}");
        let fragment = Fragment { authorship, ..Fragment::text(text.clone()) };
        Ok(fragment.value("memories", text).noted(note))
    }
}

/// The time from which on no message is searched. An answer has the time of its question: where the
/// oldest message shown is one, its question is not shown, so messages of that time are searched.
fn shown_from(oldest: &Memory, asked: &Memory) -> Timestamp {
    let also = i64::from(oldest.created_at < asked.created_at);
    Timestamp(oldest.created_at.0.saturating_add(also))
}

/// The best hits that fit, with the messages around them that they need, in the order in which they were
/// written.
fn render(turn: &Turn<'_>, found: &[Recalled], near: f32) -> String {
    if found.is_empty() {
        return String::new();
    }
    let shown: HashSet<MemoryId> = turn.recent.iter().map(|memory| memory.id).collect();
    let names = names(turn, found);
    let found: Vec<&Recalled> =
        found.iter().filter(|hit| !shown.contains(&hit.memory.id)).collect();
    let least = found.first().map_or(0.0, |best| best.score * near);
    let mut left = turn.budget(Section::Memories);
    let mut told: Vec<&Memory> = turn.recent.iter().map(AsRef::as_ref).collect();
    let mut lines: BTreeMap<OrderKey, String> = BTreeMap::new();
    let mut add = |memory, most: usize, more: u64| {
        let (key, gist) = (order_key(memory), Gist::of(memory));
        if lines.contains_key(&key) || told.iter().any(|told| gist.is_in(told)) {
            return false;
        }
        let line = line(turn, &names, memory, most);
        let tokens = more + Family::Other.text(&line) + 1;
        if tokens > left {
            return false;
        }
        left -= tokens;
        told.push(memory);
        lines.insert(key, line);
        true
    };
    // The hits first, and what they need of the messages around them with what is left.
    let hits = found.into_iter().filter(|hit| hit.score >= least);
    let added: Vec<&Recalled> = hits.filter(|hit| add(&hit.memory, LONGEST, TIME)).collect();
    for near in added.iter().flat_map(|hit| needed(hit)) {
        if near.room_id == turn.room.id && !shown.contains(&near.id) {
            add(near, AROUND, 0);
        }
    }
    let mut before: Option<Timestamp> = None;
    let mut text = String::new();
    for ((at, ..), line) in lines {
        let at = Timestamp(at);
        if before.is_none_or(|before| at.since(before) > PAUSE) {
            let local = turn.agent.zone.local(at);
            text.push_str(&format!("\nOn {} at {}", local.date(), local.clock()));
        } else {
            text.push_str(" Then");
        }
        text.push(' ');
        text.push_str(&line);
        before = Some(at);
    }
    text
}

/// The messages around a hit that it needs: what a short message follows, and the answer to a question.
fn needed(hit: &Recalled) -> impl Iterator<Item = &Memory> {
    let is_short = hashes(&hit.memory).take(SHORT).count() < SHORT;
    let answers = hit.before.as_ref().is_some_and(asks);
    let before = hit.before.as_ref().filter(|_| is_short || answers);
    let after = hit.after.as_ref().filter(|_| asks(&hit.memory));
    before.into_iter().chain(after)
}

/// True if a message ends with a question.
fn asks(memory: &Memory) -> bool {
    memory.content.text.trim_end().ends_with(['?', '？'])
}

/// Words of a message, to compare it with others.
struct Gist {
    by: Option<EntityId>,
    /// Hashes of its words in lower case, each once, in order: a prompt compares some 1,000 words.
    words: Vec<u64>,
}

impl Gist {
    fn of(memory: &Memory) -> Self {
        let mut words: Vec<u64> = hashes(memory).collect();
        words.sort_unstable();
        words.dedup();
        Self { by: speaker(memory), words }
    }

    /// True if it adds nothing to another message.
    fn is_in(&self, told: &Memory) -> bool {
        if self.by != speaker(told) {
            return false;
        }
        // If the other message has more words than this that are not here, less than 4/5 of all are in
        // both.
        let most = self.words.len() * (SAME.1 - SAME.0) / SAME.0;
        let (mut both, mut others) = (vec![false; self.words.len()], Vec::new());
        for word in hashes(told) {
            match self.words.binary_search(&word) {
                Ok(place) => both[place] = true,
                Err(_) if others.contains(&word) => {}
                Err(_) if others.len() == most => return false,
                Err(_) => others.push(word),
            }
        }
        let both = both.into_iter().filter(|is_in_both| *is_in_both).count();
        both * SAME.1 >= (self.words.len() + others.len()) * SAME.0
    }
}

/// Speaker of a message. `None` for a question: it says nothing of the person who asks.
fn speaker(memory: &Memory) -> Option<EntityId> {
    (!asks(memory)).then_some(memory.entity_id)
}

/// Hashes of a message's words.
fn hashes(memory: &Memory) -> impl Iterator<Item = u64> {
    let words = memory.content.text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(hash)
}

/// FNV-1a over the characters in lower case. The words of a prompt are only compared with each other.
fn hash(word: &str) -> u64 {
    let add = |hash: u64, c: u64| (hash ^ c).wrapping_mul(0x0100_0000_01b3);
    let none = 0xcbf2_9ce4_8422_2325;
    if word.is_ascii() {
        return word.bytes().fold(none, |hash, byte| add(hash, byte.to_ascii_lowercase().into()));
    }
    word.chars().flat_map(char::to_lowercase).fold(none, |hash, c| add(hash, c.into()))
}

/// The order in which messages were written: an answer has the time of its question.
type OrderKey = (i64, bool, MemoryId);

fn order_key(memory: &Memory) -> OrderKey {
    (memory.created_at.0, memory.entity_id.0 == memory.agent_id.0, memory.id)
}

fn names(turn: &Turn<'_>, found: &[Recalled]) -> Speakers {
    let found =
        found.iter().flat_map(|hit| [Some(&hit.memory), hit.before.as_ref(), hit.after.as_ref()]);
    let people = found.flatten().map(|memory| (memory.entity_id, speakers::name_in(memory)));
    Speakers::beside(turn, people)
}

fn line(turn: &Turn<'_>, names: &Speakers, memory: &Memory, most: usize) -> String {
    let by = if memory.entity_id == turn.agent.identity.entity() {
        "you".to_owned()
    } else {
        names.of_memory(memory)
    };
    let text = words::quoted(&words::line(&memory.content.text, most));
    words::ended(&format!("{by} wrote {text}"))
}
