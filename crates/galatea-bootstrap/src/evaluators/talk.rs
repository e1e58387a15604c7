//! The part of a conversation that a reflection reads, with its speakers.

use galatea_core::{
    EntityId, Memory, MemoryId, MemoryKind, Result, Speakers, Timestamp, Turn, fact::Origin,
    speakers, store::MemoryQuery,
};
use serde_json::Value;
use std::{collections::HashSet, sync::Arc};

use crate::{fact::plain, reflection_cursor::ReflectionCursor};

/// Maximum number of messages read. A busy room is reflected on after 24 turns
/// ([`galatea_core::EvaluatorUse::WhenQuiet`]).
pub(super) const MESSAGES: u32 = 96;
/// Messages of the last reflection that are shown again, so that the first new one is understood.
/// Nothing is learnt from them again.
const SHOWN_AGAIN: usize = 8;

/// The messages of a reflection.
pub(super) struct Talk {
    /// Oldest first.
    pub(super) messages: Vec<Arc<Memory>>,
    /// Messages that were not reflected on yet.
    new: HashSet<MemoryId>,
    others: Speakers,
    own: (EntityId, String),
}

impl Talk {
    /// Messages after `last`, the newest `most` messages of it, and a little before them.
    pub(super) async fn since(
        turn: &Turn<'_>,
        last: Option<&ReflectionCursor>,
        most: u32,
    ) -> Result<Self> {
        let at_hand = of_turn(turn).map(|memory| memory.created_at).min();
        let covered = last.is_some_and(|last| at_hand.is_some_and(|oldest| oldest <= last.since()));
        let mut messages: Vec<Arc<Memory>> = Vec::new();
        if !covered {
            let query = MemoryQuery {
                since: turn.room.metadata.get("resetAt").and_then(Value::as_i64).map(Timestamp),
                ..MemoryQuery::new(turn.agent.identity.id(), MESSAGES)
                    .room(turn.room.id)
                    .kind(MemoryKind::Messages)
            };
            let stored = turn.store.memories(&query).await?;
            messages.extend(stored.into_iter().rev().map(Arc::new));
        }
        let current = turn.merged.iter().chain([turn.message]).cloned().map(Arc::new);
        merge(&mut messages, turn.recent.iter().cloned().chain(current));
        let is_new = |memory: &Arc<Memory>| last.is_none_or(|last| last.is_new(memory));
        let fresh = messages.iter().enumerate().rev().filter(|(_, memory)| is_new(memory));
        let fresh = fresh.take(usize::try_from(most).unwrap_or(usize::MAX));
        let new: HashSet<MemoryId> = fresh.clone().map(|(_, memory)| memory.id).collect();
        let first_new = fresh.last().map_or(messages.len(), |(at, _)| at);
        messages.drain(..first_new.saturating_sub(SHOWN_AGAIN));
        let (name, own) = (&turn.agent.character.name, turn.agent.identity.entity());
        let people = messages.iter().rev().map(AsRef::as_ref);
        let others = Speakers::of_messages(name, people.filter(|memory| memory.entity_id != own));
        Ok(Self { messages, new, others, own: (own, speakers::display(name)) })
    }

    /// Tells the people whom known facts are about apart from the speakers.
    pub(super) fn know(&mut self, agent: &str, facts: &[Memory]) {
        let own = self.own.0;
        let people = self.messages.iter().rev().filter(|memory| memory.entity_id != own);
        let said =
            people.map(|memory| (memory.entity_id, speakers::name_in(memory).map(str::to_owned)));
        let known = facts.iter().map(|fact| {
            let name = Origin::of(fact).subject_name;
            (fact.entity_id, (!name.is_empty()).then(|| plain(&name).to_owned()))
        });
        let all: Vec<(EntityId, Option<String>)> = said.chain(known).collect();
        self.others =
            Speakers::new(agent, all.iter().map(|(entity, name)| (*entity, name.as_deref())));
    }

    /// Name of a speaker in the question.
    pub(super) fn name(&self, entity: EntityId) -> String {
        if self.is_agent(entity) { self.own.1.clone() } else { self.others.name(entity) }
    }

    /// True if this is the agent itself.
    pub(super) fn is_agent(&self, entity: EntityId) -> bool {
        entity == self.own.0
    }

    /// True if a message was not reflected on yet.
    pub(super) fn is_new(&self, message: &Memory) -> bool {
        self.new.contains(&message.id)
    }

    /// The message with this number, if people's statements in it can be learnt: it is new, and not
    /// the agent's own.
    pub(super) fn evidence(&self, number: usize) -> Option<&Arc<Memory>> {
        let message = self.messages.get(number.checked_sub(1)?)?;
        (self.is_new(message) && !self.is_agent(message.entity_id)).then_some(message)
    }

    /// The speaker with this name. Speakers with equal names are shown under distinct ones.
    pub(super) fn speaker_named(&self, name: &str) -> Option<EntityId> {
        let name = name.trim().to_lowercase();
        self.messages
            .iter()
            .map(|memory| memory.entity_id)
            .find(|entity| self.name(*entity).to_lowercase() == name)
    }
}

/// Adds messages at hand to stored ones. What is at hand may say more than what is stored, a
/// picture's description for example, and takes its place. So messages of one time keep the order of
/// the store, in which an answer stands behind its question.
fn merge(stored: &mut Vec<Arc<Memory>>, at_hand: impl Iterator<Item = Arc<Memory>>) {
    for memory in at_hand {
        match stored.iter_mut().find(|stored| stored.id == memory.id) {
            Some(stored) => *stored = memory,
            None => stored.push(memory),
        }
    }
    stored.sort_by_key(|memory| memory.created_at);
}

/// Messages that a turn has at hand, oldest first.
pub(super) fn of_turn<'a>(turn: &'a Turn<'_>) -> impl Iterator<Item = &'a Memory> {
    turn.recent.iter().map(AsRef::as_ref).chain(turn.merged).chain(std::iter::once(turn.message))
}
