//! REFLECTION: learns facts and relationships from a conversation, when the room is quiet and
//! enough was said since the last time.

use async_trait::async_trait;
use galatea_core::{
    Evaluator, EvaluatorUse, FinishedTurn, Memory, MemoryId, MemoryKind, Relationship,
    RelationshipId, Result, Timestamp, Turn, Variable,
    fact::is_merged,
    kill_point,
    model::Tier,
    store::{DerivedChange, MemoryQuery},
};
use serde_json::{Map, json};
use std::{sync::Arc, time::Duration};

use super::{
    apply, known,
    lesson::Tie,
    people::TalkPeople,
    question,
    talk::{self, MESSAGES, Talk},
};
use crate::{
    evaluators::consolidate::consolidate, learning_cache::LearningCache,
    reflection_cursor::ReflectionCursor, ties, words,
};

/// Interval of reflections, in messages.
pub(crate) const INTERVAL: Variable =
    Variable::new("REFLECTION_INTERVAL", "Messages in a room between two reflections that learn facts and relationships; 0 switches them off.").or("8");

pub(crate) struct Reflection(pub(crate) Arc<LearningCache>);

/// From this interval on, reflections become rarer in a room that teaches nothing.
const PATIENT_FROM: u64 = 4;
/// Maximum number of relationships per reflection.
const MOST_TIES: usize = 10;
/// Code of an answer that cannot be read.
const UNUSABLE: &str = "GAL-MODEL-UNUSABLE";
/// Why a model is not asked for a while.
const UNREADABLE: &str = "its answers are no JSON";
const DROPPED: &str = "its facts stand in none of the messages";
/// Timeout of the model call. A little less than the limit of an evaluator, so that a model that
/// does not answer is detected.
const PATIENCE: Duration = Duration::from_secs(110);

#[async_trait]
impl Evaluator for Reflection {
    fn name(&self) -> &'static str {
        "REFLECTION"
    }
    fn description(&self) -> &'static str {
        "Learns facts and relationships from the conversation"
    }
    fn when(&self) -> EvaluatorUse {
        EvaluatorUse::WhenQuiet
    }
    async fn validate(&self, finished: &FinishedTurn<'_>) -> Result<bool> {
        let turn = finished.turn;
        let Some(interval) = interval(turn)? else { return Ok(false) };
        if self.0.is_unable(turn).await? {
            return Ok(false);
        }
        // The cached time may be too old if another process handled the room meanwhile. A negative
        // answer is therefore certain; a positive one is checked in the store.
        match self.0.reflected(turn) {
            Some(last) => is_enough(turn, last.as_deref(), interval).await,
            None => Ok(true),
        }
    }
    async fn evaluate(&self, finished: &FinishedTurn<'_>) -> Result<()> {
        let turn = finished.turn;
        let Some(interval) = interval(turn)? else { return Ok(()) };
        let Some((mut talk, cursor)) = due(&self.0, turn, interval).await? else { return Ok(()) };
        let until = turn.now().plus(PATIENCE);
        let learnt = match self.learn(turn, &mut talk, &cursor, until).await {
            Ok(learnt) => learnt,
            Err(error) => {
                if error.code() == Some(UNUSABLE) {
                    self.0.note_unable(turn, UNREADABLE).await?;
                }
                if let Some(cursor) = cursor.uncounted(&error) {
                    store(&self.0, turn, cursor).await?;
                }
                return Err(error);
            }
        };
        // The rest is done at most once: the messages are offered to no further reflection.
        if learnt.facts {
            consolidate(&self.0, turn, until).await?;
        }
        for tie in learnt.ties.iter().take(MOST_TIES) {
            relate(turn, &talk, tie, &self.0).await?;
        }
        Ok(())
    }
}

/// Result of a reflection.
struct LearntFacts {
    /// True if facts were stored or replaced.
    facts: bool,
    /// Not stored yet.
    ties: Vec<Tie>,
}

impl Reflection {
    /// Learns from a conversation. Its messages are offered to no further reflection once the facts
    /// are stored.
    async fn learn(
        &self,
        turn: &Turn<'_>,
        talk: &mut Talk,
        cursor: &ReflectionCursor,
        until: Timestamp,
    ) -> Result<LearntFacts> {
        let model = turn.models.text(Tier::TextSmall);
        let agent = turn.agent.identity.id();
        let members = turn.store.entities_in_room(turn.room.id).await?;
        let known = known::known(&self.0, turn, talk, &members).await?;
        talk.know(&turn.agent.character.name, &known);
        let started = turn.now();
        let asked = question::ask(talk, model.as_ref(), &known, &turn.agent.zone, until);
        let (asked, shown_from) = asked.await?;
        let (info, took) = (model.info(), turn.now().since(started));
        turn.events.model_used(turn.id, &info.provider, &info.model, asked.usage, took);
        let lesson = asked.value;
        let people = TalkPeople::new(turn, talk, &members);
        let applied = apply::change(turn, talk, &people, &known, shown_from, &lesson.facts);
        let apply::Applied { mut change, dropped } = applied;
        if let Some(id) = cursor.first_fact() {
            apply::name_first(&mut change, id);
        }
        change.restored = parts_of_replaced(turn, &known, &change).await?;
        let facts = change != DerivedChange::default();
        if facts {
            self.0.learn(turn);
            turn.store.change_derived(agent, &change).await?;
        }
        kill_point("reflection.after");
        let empty = if facts || !lesson.ties.is_empty() { 0 } else { cursor.empty() + 1 };
        store(&self.0, turn, cursor.clone().learnt().after_empty(empty)).await?;
        match (facts, dropped) {
            (true, _) => self.0.note_able(turn).await?,
            (false, 1..) => self.0.note_unable(turn, DROPPED).await?,
            (false, 0) => {}
        }
        Ok(LearntFacts { facts, ties: lesson.ties })
    }
}

/// The facts from which replaced ones were merged. What replaces a merged fact speaks of one of its
/// parts only; the others hold as before, and so does that part until the next reflection sees it.
async fn parts_of_replaced(
    turn: &Turn<'_>,
    known: &[Memory],
    change: &DerivedChange,
) -> Result<Vec<MemoryId>> {
    let is_replaced = |fact: &&Memory| change.superseded.iter().any(|gone| gone.id == fact.id);
    let merged: Vec<MemoryId> = known
        .iter()
        .filter(|fact| is_merged(fact))
        .filter(is_replaced)
        .map(|fact| fact.id)
        .collect();
    if merged.is_empty() {
        return Ok(merged);
    }
    let agent = turn.agent.identity.id();
    let facts = turn.store.derived(agent, &merged).await?;
    let sources: Vec<MemoryId> = facts.into_iter().flat_map(|fact| fact.sources).collect();
    let parts = turn.store.derived(agent, &sources).await?.into_iter();
    Ok(parts
        .filter(|part| part.superseded_by.is_some_and(|by| merged.contains(&by)))
        .map(|part| part.memory.id)
        .collect())
}

/// Messages between two reflections; `None` if the agent does not reflect.
fn interval(turn: &Turn<'_>) -> Result<Option<u64>> {
    let interval: u64 = turn.agent.settings.parse(&INTERVAL, "a whole number")?.unwrap_or(8);
    let scripted = turn.models.text(Tier::TextSmall).info().scripted;
    Ok((interval > 0 && !scripted).then_some(interval))
}

/// Messages since the last reflection, if that is enough for another one, and how far it
/// reads. The count starts again, also if the model fails, so that it is not called again for every
/// message: the next reflection reads these messages, too.
async fn due(
    cache: &LearningCache,
    turn: &Turn<'_>,
    interval: u64,
) -> Result<Option<(Talk, ReflectionCursor)>> {
    let stored = turn.cache.get(&key(turn), turn.now()).await?;
    let mut last = stored.as_ref().and_then(ReflectionCursor::from_stored);
    cache.note_reflected(turn, last.clone().map(Arc::new));
    if !is_enough(turn, last.as_ref(), interval).await? {
        return Ok(None);
    }
    if let Some(fact) = last.as_ref().and_then(ReflectionCursor::first_fact)
        && !turn.store.derived(turn.agent.identity.id(), &[fact]).await?.is_empty()
    {
        last = last.map(ReflectionCursor::learnt);
    }
    if last.as_ref().is_some_and(ReflectionCursor::is_hopeless) {
        tracing::warn!(room = %turn.room.id, "reflections on the same messages failed again and again; nothing is learnt from these messages");
        last = last.map(ReflectionCursor::learnt);
    }
    let begin = last.as_ref().and_then(ReflectionCursor::begin);
    // After a failure fewer are read: they may be too many for the time that the model takes.
    let most = MESSAGES >> last.as_ref().map_or(0, ReflectionCursor::attempts);
    let talk = Talk::since(turn, begin, most).await?;
    let messages = talk.messages.iter().map(AsRef::as_ref);
    let end = ReflectionCursor::of(messages, turn.agent.identity.entity());
    let empty = last.as_ref().map_or(0, ReflectionCursor::empty);
    let cursor = end.unlearnt(begin, last.as_ref(), MemoryId::fresh()).after_empty(empty);
    store(cache, turn, cursor.clone()).await?;
    Ok(Some((talk, cursor)))
}

fn key(turn: &Turn<'_>) -> String {
    format!("reflection:{}", turn.room.id)
}

async fn store(cache: &LearningCache, turn: &Turn<'_>, cursor: ReflectionCursor) -> Result<()> {
    turn.cache.set(&key(turn), &json!(cursor), None).await?;
    cache.note_reflected(turn, Some(Arc::new(cursor)));
    Ok(())
}

/// True if at least `interval` messages are newer than the last reflection.
async fn is_enough(
    turn: &Turn<'_>,
    last: Option<&ReflectionCursor>,
    interval: u64,
) -> Result<bool> {
    // A shorter interval than usual says that each few messages count.
    let patience =
        if interval < PATIENT_FROM { 1 } else { last.map_or(1, ReflectionCursor::patience) };
    let interval = interval * patience;
    let fresh = |memory: &&Memory| last.is_none_or(|last| last.is_new(memory));
    let mut new = talk::of_turn(turn).filter(fresh).count() as u64;
    let all_new = new > 0 && new == talk::of_turn(turn).count() as u64;
    if new < interval && all_new && turn.earlier.is_some() {
        // The interval may be longer than the part of the conversation in memory.
        new = turn
            .store
            .count_memories(&MemoryQuery {
                since: last.map(ReflectionCursor::since),
                ..MemoryQuery::new(turn.agent.identity.id(), 1)
                    .room(turn.room.id)
                    .kind(MemoryKind::Messages)
            })
            .await?
            .saturating_sub(last.map_or(0, ReflectionCursor::read));
    }
    Ok(new >= interval)
}

async fn relate(turn: &Turn<'_>, talk: &Talk, tie: &Tie, cache: &LearningCache) -> Result<()> {
    let (Some(source), Some(target)) = (talk.speaker_named(&tie.from), talk.speaker_named(&tie.to))
    else {
        return Ok(());
    };
    if source == target {
        return Ok(());
    }
    let agent = turn.agent.identity.id();
    let known = turn
        .store
        .relationships(agent, source)
        .await?
        .into_iter()
        .find(|r| r.source_entity_id == source && r.target_entity_id == target);
    let mut relationship = known.unwrap_or_else(|| Relationship {
        id: RelationshipId::fresh(),
        agent_id: agent,
        source_entity_id: source,
        target_entity_id: target,
        tags: Vec::new(),
        metadata: Map::new(),
    });
    ties::note(
        &mut relationship,
        turn.room.id,
        tie.tags.iter().take(5).map(|t| words::name(t)).filter(|t| !t.is_empty()),
    );
    cache.tie(turn).await?;
    turn.store.save_relationship(&relationship).await
}
