//! Caches which rooms see facts and relationships, and when each was last reflected on. An ordinary
//! turn then needs no query for them. Counts how often each fact is shown.

use galatea_core::{
    AgentId, EntityId, Finding, Memory, MemoryId, MemoryKind, Result, RoomId, Severity, Timestamp,
    Turn, WorldId,
    fact::Origin,
    mentioned::Mentioned,
    model::Tier,
    speakers,
    store::{MOST_RECALLED, MemoryQuery, PluginCache, RecallQuery, Recalled},
};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    fact::{plain, view},
    reflection_cursor::ReflectionCursor,
};

/// Entries in a cache before it is cleared and filled again: about a megabyte.
const ROOMS: usize = 20_000;
/// Time for which a room is taken to see no facts. Another process may learn a fact of its World.
const UNKNOWN: Duration = Duration::from_secs(60);
/// Newest facts of a room that are read for the names of their people: as many as a search returns.
const SUBJECTS: u32 = MOST_RECALLED;
/// Time for which these names are kept. Facts that another process learns count with this delay.
const NAMED: Duration = Duration::from_secs(300);
/// Rooms whose names are kept before they are cleared: 16 MiB at most.
const NAMED_ROOMS: usize = 1_000;
/// Names of people of all Worlds that are kept before they are cleared: some 10 MiB.
const MENTIONED: usize = 50_000;
/// Time for which profiles are taken to be as new as their facts.
const PROFILED: Duration = Duration::from_secs(3_600);

/// Key of the store's note that an agent has relationships.
const TIED: &str = "relationships";

/// The cursor of a room's last reflection; none if there was none.
type LastCursor = Option<Arc<ReflectionCursor>>;
/// The people of whom a room sees facts, with their names.
type Subjects = Arc<Vec<(EntityId, String)>>;
/// Time at which the people of a room's facts were read, the ids of its person then, and the
/// people.
type SubjectsAt = (Timestamp, Vec<EntityId>, Subjects);

/// Time at which the names of a World were read, and the people that they mean.
type MentionedAt = (Timestamp, Arc<Mentioned>);

/// Key of the store's note that a model learns nothing usable.
pub(crate) const UNABLE: &str = "reflection-unable";
/// Unusable answers one after another after which a model is left alone, and for how long.
const MOST_UNUSABLE: u32 = 3;
const LEFT_ALONE: Duration = Duration::from_secs(6 * 3_600);

/// Code of the finding about such a model.
const LEARNS_NOTHING: &str = "GAL-MODEL-FACTS";

/// Success of a model in the last reflections of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Unable {
    model: String,
    /// Unusable answers one after another.
    answers: u32,
    /// Until when it is not asked.
    until: Option<Timestamp>,
    /// Fault of the last of them, for people.
    #[serde(default)]
    why: String,
}

/// The finding about a model that is left alone at this time.
///
/// # Errors
/// Those of the store.
pub(crate) async fn learns_nothing(cache: &PluginCache, now: Timestamp) -> Result<Option<Finding>> {
    let stored = cache.get(UNABLE, now).await?;
    let known: Unable =
        stored.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
    let Some(until) = known.until.filter(|until| now < *until) else { return Ok(None) };
    let hours = until.since(now).as_secs().div_ceil(3_600);
    let message = format!(
        "{} cannot derive facts from conversations: it is not asked for them for {hours} more hours",
        known.model
    );
    let finding = Finding::new(Severity::Warning, LEARNS_NOTHING, "model", message).with_fix(
        "set another small model (SMALL_MODEL, or that of its provider, such as \
         OPENAI_SMALL_MODEL), or switch facts off with REFLECTION_INTERVAL=0",
    );
    Ok(Some(if known.why.is_empty() { finding } else { finding.with_cause(known.why) }))
}

/// Agents and rooms with facts. Each agent is looked up, and then each of its rooms if the
/// agent has any facts; what has none is looked up again after [`UNKNOWN`].
#[derive(Default)]
pub(crate) struct LearningCache {
    /// Agents that have facts (`None`), or had none at a time.
    agents: Mutex<HashMap<AgentId, Option<Timestamp>>>,
    /// Rooms that see facts (`None`), or saw none at a time.
    rooms: Mutex<HashMap<(AgentId, RoomId), Option<Timestamp>>>,
    reflected: Mutex<HashMap<(AgentId, RoomId), LastCursor>>,
    tied: Mutex<HashMap<AgentId, Option<Timestamp>>>,
    /// Time at which the profiles of a room's people were last compared with their facts.
    profiled: Mutex<HashMap<(AgentId, RoomId), Timestamp>>,
    subjects: Mutex<HashMap<(AgentId, RoomId), SubjectsAt>>,
    /// Counts facts that were learnt in this process.
    learnt: AtomicU64,
    mentioned: Mutex<HashMap<(AgentId, WorldId), MentionedAt>>,
    /// Agents whose models learn nothing usable. None: not read yet.
    unable: Mutex<HashMap<AgentId, Unable>>,
    /// Number of times that facts were shown since they were last counted in the store.
    shown: Mutex<HashMap<MemoryId, u64>>,
}

impl LearningCache {
    /// True if this room may see facts. `person` is the one it is direct with ([`view::person`]).
    pub(crate) async fn may_have_facts(
        &self,
        turn: &Turn<'_>,
        person: &[EntityId],
    ) -> Result<bool> {
        let agent = turn.agent.identity.id();
        // Facts that a linked person tells elsewhere are seen here at once.
        if person.len() > 1 {
            return Ok(true);
        }
        let (room, now) = ((agent, turn.room.id), turn.now());
        match get(&self.rooms, &room) {
            Some(None) => return Ok(true),
            Some(Some(at)) if now.since(at) < UNKNOWN => return Ok(false),
            Some(Some(_)) | None => {}
        }
        let query =
            RecallQuery::new(view::of_person(turn, person), "", 1, now).kind(MemoryKind::Facts);
        let found = !turn.store.recall(&query).await?.is_empty();
        Ok(note_found(&self.rooms, room, found, now))
    }

    /// The people of whom this room sees facts, each with the names that stand in its newest
    /// [`SUBJECTS`] facts. Read once in [`NAMED`], after a fact was learnt, and if the ids of the
    /// person changed whose direct room it is: what is no longer seen gives no names.
    pub(crate) async fn subjects(&self, turn: &Turn<'_>, person: &[EntityId]) -> Result<Subjects> {
        let (room, now) = ((turn.agent.identity.id(), turn.room.id), turn.now());
        if let Some((at, of, subjects)) = get(&self.subjects, &room)
            && now.since(at) < NAMED
            && of == person
        {
            return Ok(subjects);
        }
        let query = RecallQuery::new(view::of_person(turn, person), "", SUBJECTS, now)
            .kind(MemoryKind::Facts);
        let mut seen = HashSet::new();
        let before = self.learnt.load(Ordering::Relaxed);
        let facts = turn.store.recall(&query).await?;
        let subject = |hit: &Recalled| {
            let name = speakers::display(plain(&Origin::of(&hit.memory).subject_name));
            (hit.memory.entity_id, name)
        };
        let subjects = facts.iter().map(subject).filter(|of| seen.insert(of.clone()));
        let subjects: Subjects = Arc::new(subjects.collect());
        let mut rooms = lock(&self.subjects);
        // A fact that was learnt meanwhile is not among these.
        if self.learnt.load(Ordering::Relaxed) == before {
            if rooms.len() >= NAMED_ROOMS {
                rooms.clear();
            }
            rooms.insert(room, (now, person.to_vec(), Arc::clone(&subjects)));
        }
        Ok(subjects)
    }

    /// Whom the names of the turn's World mean. Read once in [`NAMED`]: people who join or change their
    /// name count with this delay.
    pub(crate) async fn mentioned(&self, turn: &Turn<'_>) -> Result<Arc<Mentioned>> {
        let (world, now) = ((turn.agent.identity.id(), turn.room.world_id), turn.now());
        if let Some((at, mentioned)) = get(&self.mentioned, &world)
            && now.since(at) < NAMED
        {
            return Ok(mentioned);
        }
        let mentioned = Arc::new(Mentioned::read(turn.store.as_ref(), turn.room.world_id).await?);
        let mut worlds = lock(&self.mentioned);
        let names: usize = worlds.values().map(|(_, of)| of.count() + 1).sum();
        if names + mentioned.count() > MENTIONED {
            worlds.clear();
        }
        worlds.insert(world, (now, Arc::clone(&mentioned)));
        Ok(mentioned)
    }

    /// True if the small model of this agent is left alone, since it learnt nothing usable several times
    /// one after another. A model that was chosen since is asked.
    pub(crate) async fn is_unable(&self, turn: &Turn<'_>) -> Result<bool> {
        let known = self.unable(turn).await?;
        Ok(known.model == model(turn) && known.until.is_some_and(|until| turn.now() < until))
    }

    async fn unable(&self, turn: &Turn<'_>) -> Result<Unable> {
        let agent = turn.agent.identity.id();
        if let Some(known) = get(&self.unable, &agent) {
            return Ok(known);
        }
        let stored = turn.cache.get(UNABLE, turn.now()).await?;
        let known: Unable =
            stored.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default();
        Ok(lock(&self.unable).entry(agent).or_insert(known).clone())
    }

    /// Notes that the small model learnt something.
    pub(crate) async fn note_able(&self, turn: &Turn<'_>) -> Result<()> {
        if self.unable(turn).await? != Unable::default() {
            self.store_unable(turn, Unable::default()).await?;
        }
        Ok(())
    }

    /// Notes an answer of the small model that taught nothing usable, and why. After several the model
    /// is left alone for a while, which the log says once.
    pub(crate) async fn note_unable(&self, turn: &Turn<'_>, why: &str) -> Result<()> {
        let (known, model) = (self.unable(turn).await?, model(turn));
        let before = if known.model == model { known.answers } else { 0 };
        let (answers, mut until) = (before + 1, None);
        if answers >= MOST_UNUSABLE {
            until = Some(turn.now().plus(LEFT_ALONE));
            tracing::warn!(
                model,
                answers,
                why,
                "the small model cannot derive facts from conversations; it is not asked for them for six hours"
            );
        }
        self.store_unable(turn, Unable { model, answers, until, why: why.to_owned() }).await
    }

    async fn store_unable(&self, turn: &Turn<'_>, known: Unable) -> Result<()> {
        turn.cache.set(UNABLE, &serde_json::json!(known), None).await?;
        lock(&self.unable).insert(turn.agent.identity.id(), known);
        Ok(())
    }

    /// Counts facts that a prompt shows.
    pub(crate) fn note_shown<'a>(&self, facts: impl Iterator<Item = &'a Memory>) {
        let mut shown = lock(&self.shown);
        if shown.len() >= ROOMS {
            shown.clear();
        }
        facts.for_each(|fact| *shown.entry(fact.id).or_default() += 1);
    }

    /// Number of times that facts were shown since the last call, of those with these ids.
    pub(crate) fn take_shown(&self, ids: impl Iterator<Item = MemoryId>) -> HashMap<MemoryId, u64> {
        let mut shown = lock(&self.shown);
        ids.filter_map(|id| Some((id, shown.remove(&id)?))).collect()
    }

    /// True if this agent has ever learnt a fact.
    pub(crate) async fn has_facts(&self, turn: &Turn<'_>) -> Result<bool> {
        let (agent, now) = (turn.agent.identity.id(), turn.now());
        match get(&self.agents, &agent) {
            Some(None) => return Ok(true),
            Some(Some(at)) if now.since(at) < UNKNOWN => return Ok(false),
            Some(Some(_)) | None => {}
        }
        let found = !turn
            .store
            .memories(&MemoryQuery::new(agent, 1).kind(MemoryKind::Facts))
            .await?
            .is_empty();
        Ok(note_found(&self.agents, agent, found, now))
    }

    /// True if this room may have relationships. Only a reflection learns them, and notes in the
    /// store that the agent has some. For relationships learnt by versions without that note, the
    /// agent's facts are the sign.
    pub(crate) async fn may_have_ties(&self, turn: &Turn<'_>) -> Result<bool> {
        let agent = turn.agent.identity.id();
        let now = turn.now();
        let any = match get(&self.tied, &agent) {
            Some(None) => true,
            // Another process may have learnt some.
            Some(Some(at)) if now.since(at) < UNKNOWN => false,
            Some(Some(_)) | None => {
                let found =
                    turn.cache.get(TIED, now).await?.is_some() || self.has_facts(turn).await?;
                note_found(&self.tied, agent, found, now)
            }
        };
        Ok(any && !matches!(self.reflected(turn), Some(None)))
    }

    /// Notes that a relationship is about to be stored.
    pub(crate) async fn tie(&self, turn: &Turn<'_>) -> Result<()> {
        let agent = turn.agent.identity.id();
        turn.cache.set(TIED, &true.into(), None).await?;
        self.tied.lock().insert(agent, None);
        Ok(())
    }

    /// Read position of the last reflection on this room, as far as this process knows. Another
    /// process may have reflected since. The outer `None` means unknown.
    pub(crate) fn reflected(&self, turn: &Turn<'_>) -> Option<LastCursor> {
        get(&self.reflected, &(turn.agent.identity.id(), turn.room.id))
    }

    /// Caches the value that the store has, or is about to get.
    pub(crate) fn note_reflected(&self, turn: &Turn<'_>, cursor: LastCursor) {
        let mut map = self.reflected.lock();
        if map.len() >= ROOMS {
            map.clear();
        }
        map.insert((turn.agent.identity.id(), turn.room.id), cursor);
    }

    /// True if the profiles of this room's people may be older than their facts. Another process may
    /// have learnt some.
    pub(crate) fn are_profiles_due(&self, turn: &Turn<'_>) -> bool {
        let last = get(&self.profiled, &(turn.agent.identity.id(), turn.room.id));
        last.is_none_or(|last| turn.now().since(last) >= PROFILED)
    }

    /// Notes that they are compared now.
    pub(crate) fn note_profiles(&self, turn: &Turn<'_>) {
        let mut map = lock(&self.profiled);
        if map.len() >= ROOMS {
            map.clear();
        }
        map.insert((turn.agent.identity.id(), turn.room.id), turn.now());
    }

    /// Notes that a fact is about to be stored in this room. Other rooms may see it too.
    pub(crate) fn learn(&self, turn: &Turn<'_>) {
        let agent = turn.agent.identity.id();
        lock(&self.profiled).retain(|(of, _), _| *of != agent);
        self.learnt.fetch_add(1, Ordering::Relaxed);
        lock(&self.subjects).retain(|(of, _), _| *of != agent);
        lock(&self.agents).insert(agent, None);
        let mut rooms = lock(&self.rooms);
        rooms.retain(|(of, _), unknown| *of != agent || unknown.is_none());
        rooms.insert((agent, turn.room.id), None);
    }
}

fn model(turn: &Turn<'_>) -> String {
    turn.models.text(Tier::TextSmall).info().full_name()
}

fn lock<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock()
}

fn get<K: std::hash::Hash + Eq, V: Clone>(map: &Mutex<HashMap<K, V>>, key: &K) -> Option<V> {
    map.lock().get(key).cloned()
}

/// Notes whether facts were found now, unless another task has learnt one during the query; true if
/// there are some.
fn note_found<K: std::hash::Hash + Eq>(
    map: &Mutex<HashMap<K, Option<Timestamp>>>,
    key: K,
    found: bool,
    now: Timestamp,
) -> bool {
    let mut map = lock(map);
    if map.len() >= ROOMS {
        map.clear();
    }
    let state = map.entry(key).or_insert(Some(now));
    if found || state.is_some() {
        *state = (!found).then_some(now);
    }
    state.is_none()
}
