//! MEMORY_SUMMARIZATION (as in elizaOS): summarises what leaves the prompt, before it leaves, when
//! the room is quiet.

use async_trait::async_trait;
use galatea_core::{
    Content, Derived, ErrorKind, Evaluator, EvaluatorUse, FinishedTurn, Memory, MemoryId,
    MemoryKind, MemoryScope, Result, RoomId, TextModel, Timestamp, Turn, kill_point,
    model::{TextAnswer, Tier},
    standing,
    store::{DerivedChange, MemoryQuery, Superseded},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::summary::{self, Summary, question};

/// Summarises rooms.
#[derive(Default)]
pub(crate) struct Summarization {
    /// Up to when rooms are summarised, as far as this process knows.
    rooms: Mutex<HashMap<RoomId, Timestamp>>,
    /// Answers of the model without words, one after another.
    empty: AtomicU32,
}

/// Messages that have left and are worth a call of the model. Fewer wait for more, and are found by
/// searches: long messages fill a prompt in a few turns.
const WORTH_IT: u64 = 4;
/// Number of times that this number doubles while the model's answers have no words: up to
/// [`SLICE`] messages.
const DOUBLED: u32 = 4;
/// Messages per question.
const SLICE: usize = 64;
/// Questions of one run. A room that is further behind goes on with its next turn.
const SLICES: usize = 4;
/// Number of times that a slice is halved if the model finds it too long.
const HALVINGS: u32 = 4;
/// Messages read back at most, if a room has no summary. Older ones are found by a search.
const READ: u32 = 256;
/// Entries in the cache before it is cleared: some hundred kilobytes.
const ROOMS: usize = 10_000;
/// Time of all questions. A little less than the limit of an evaluator.
const PATIENCE: Duration = Duration::from_secs(110);

#[async_trait]
impl Evaluator for Summarization {
    fn name(&self) -> &'static str {
        "MEMORY_SUMMARIZATION"
    }
    fn description(&self) -> &'static str {
        "Summarises what leaves the prompt"
    }
    fn when(&self) -> EvaluatorUse {
        EvaluatorUse::WhenQuiet
    }
    async fn validate(&self, finished: &FinishedTurn<'_>) -> Result<bool> {
        let turn = finished.turn;
        if turn.models.text(Tier::TextSmall).info().scripted {
            return Ok(false);
        }
        let known = self.lock().get(&turn.room.id).copied();
        match (next(turn, known), known) {
            (None, _) => Ok(false),
            // Until when the room is summarised is in its newest summary, which `evaluate` reads. What
            // leaves because of its number is worth a call unless the model says nothing of it.
            (Some(_), None) => Ok(true),
            (Some(NextSummary::Leaving(_)), _) if self.empty.load(Relaxed) == 0 => Ok(true),
            (Some(NextSummary::Left(end) | NextSummary::Leaving(end)), Some(until)) => {
                let query = between(turn, Some(after(until)), end);
                Ok(turn.store.count_memories(&query).await? >= self.worth_it())
            }
        }
    }
    async fn evaluate(&self, finished: &FinishedTurn<'_>) -> Result<()> {
        let turn = finished.turn;
        let mut last = summary::newest(turn, None).await?;
        let until = last.as_ref().map(|last| last.until);
        let Some(NextSummary::Left(end) | NextSummary::Leaving(end)) = next(turn, until) else {
            until.into_iter().for_each(|until| self.note(turn.room.id, until));
            return Ok(());
        };
        let mut messages = turn.store.memories(&between(turn, until.map(after), end)).await?;
        messages.reverse();
        if self.empty.load(Relaxed) > 0 && (messages.len() as u64) < self.worth_it() {
            until.into_iter().for_each(|until| self.note(turn.room.id, until));
            return Ok(());
        }
        let model = turn.models.text(Tier::TextSmall);
        let deadline = turn.now().plus(PATIENCE);
        let mut rest = messages.as_slice();
        for _ in 0..SLICES {
            if rest.is_empty() {
                break;
            }
            let old = last.as_ref().map_or("", |last| last.text.as_str());
            let (text, taken) = ask(turn, model, old, rest, deadline).await?;
            self.count(text.is_some());
            let (slice, left) = rest.split_at(taken);
            rest = left;
            let until = slice.last().map_or(end, |memory| memory.created_at);
            // Without words the slice had nothing to keep: the old summary goes on.
            let Some(text) = text.or_else(|| last.as_ref().map(|last| last.text.clone())) else {
                self.note(turn.room.id, until);
                continue;
            };
            let stored = store(turn, last.as_ref(), slice, text, until).await?;
            // A message was deleted meanwhile: the next turn begins again from what is left.
            let Some(stored) = stored else { return Ok(()) };
            self.note(turn.room.id, until);
            last = Some(stored);
        }
        if rest.is_empty() {
            self.note(turn.room.id, end);
        }
        Ok(())
    }
}

impl Summarization {
    /// Messages that have left and are worth a call of this model.
    fn worth_it(&self) -> u64 {
        WORTH_IT << self.empty.load(Relaxed).min(DOUBLED)
    }

    /// Counts an answer, with words or without.
    fn count(&self, has_words: bool) {
        if has_words {
            self.empty.store(0, Relaxed);
        } else {
            self.empty.fetch_add(1, Relaxed);
        }
    }

    fn note(&self, room: RoomId, until: Timestamp) {
        let mut rooms = self.lock();
        if rooms.len() >= ROOMS {
            rooms.clear();
        }
        rooms.insert(room, until);
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<RoomId, Timestamp>> {
        self.rooms.lock()
    }
}

/// Up to which time messages are summarised next.
enum NextSummary {
    /// Prompts no longer show the messages up to this one. A summary that ends here is shown at once.
    Left(Timestamp),
    /// Prompts show them, and soon lose them all at once.
    Leaving(Timestamp),
}

/// Messages that are summarised next in a room that is summarised until then.
fn next(turn: &Turn<'_>, until: Option<Timestamp>) -> Option<NextSummary> {
    let new = |at: &Timestamp| until.is_none_or(|until| until < *at);
    let left = turn.earlier.filter(new).map(NextSummary::Left);
    left.or_else(|| summary::leaving(turn).filter(new).map(NextSummary::Leaving))
}

fn after(until: Timestamp) -> Timestamp {
    Timestamp(until.0.saturating_add(1))
}

/// The room's messages from `since` to `end`.
fn between(turn: &Turn<'_>, since: Option<Timestamp>, end: Timestamp) -> MemoryQuery {
    MemoryQuery {
        since: since.max(summary::reset(turn)),
        before: Some(after(end)),
        ..MemoryQuery::new(turn.agent.identity.id(), READ)
            .room(turn.room.id)
            .kind(MemoryKind::Messages)
    }
}

/// Asks about as many of the messages as the model takes: the new text, and how many they are.
async fn ask(
    turn: &Turn<'_>,
    model: &Arc<dyn TextModel>,
    old: &str,
    messages: &[Memory],
    deadline: Timestamp,
) -> Result<(Option<String>, usize)> {
    let mut most = SLICE.min(messages.len());
    for _ in 0..HALVINGS {
        let taken = whole(messages, most);
        let started = turn.now();
        match question::ask(turn, model.as_ref(), old, &messages[..taken], deadline).await {
            Err(error) if error.kind() == ErrorKind::TooLong && most > 1 => most /= 2,
            Err(error) => return Err(error),
            Ok((text, answers)) => {
                answers.iter().for_each(|answer| used(turn, model.as_ref(), answer, started));
                return Ok((text, taken));
            }
        }
    }
    Err(question::too_little())
}

/// Takes `most` messages, and those of the same time as the last: a summary ends between two
/// times.
fn whole(messages: &[Memory], most: usize) -> usize {
    let Some(last) = most.checked_sub(1).and_then(|at| messages.get(at)) else {
        return messages.len();
    };
    let behind = messages[most..].iter().take_while(|m| m.created_at == last.created_at).count();
    most + behind
}

pub(super) fn used(
    turn: &Turn<'_>,
    model: &dyn TextModel,
    answer: &TextAnswer,
    started: Timestamp,
) {
    let (info, took) = (model.info(), turn.now().since(started));
    turn.events.model_used(turn.id, &info.provider, &info.model, answer.usage, took);
}

/// Stores the summary in place of the one before it. It goes with each of its messages, and then
/// the one before holds again. `None` if one of them is gone already.
async fn store(
    turn: &Turn<'_>,
    last: Option<&Summary>,
    slice: &[Memory],
    text: String,
    until: Timestamp,
) -> Result<Option<Summary>> {
    let (agent, now) = (turn.agent.identity.id(), turn.now());
    let summary = Summary {
        id: MemoryId::fresh(),
        text: text.clone(),
        until,
        others_words: last.is_some_and(|last| last.others_words)
            || !turn.room.kind.is_direct()
            || slice.iter().any(|memory| standing::holds_others(turn, memory)),
    };
    let memory = Memory {
        id: summary.id,
        kind: MemoryKind::Summaries,
        agent_id: agent,
        entity_id: turn.agent.identity.entity(),
        room_id: turn.room.id,
        world_id: Some(turn.room.world_id),
        content: Content::text(text),
        metadata: summary.metadata(),
        created_at: now,
    };
    let id = memory.id;
    let sources = last.map(|last| last.id).into_iter().chain(slice.iter().map(|m| m.id)).collect();
    let superseded =
        last.map(|last| Superseded { id: last.id, at: now, by: Some(id) }).into_iter().collect();
    let new = vec![Derived::new(memory, MemoryScope::Room, sources)];
    let change = DerivedChange { new, superseded, ..DerivedChange::default() };
    kill_point("summary.before");
    let stored = turn.store.change_derived(agent, &change).await?;
    kill_point("summary.after");
    Ok((stored > 0).then_some(summary))
}
