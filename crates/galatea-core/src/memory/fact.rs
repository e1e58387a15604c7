//! Origin and audience of a memory of kind [`crate::MemoryKind::Facts`]. The program
//! sets both from the message that the fact stands on; no model and no text has a say in it.

use serde_json::{Map, Value, json};

use crate::{
    derived::{Derived, MemoryScope},
    ids::EntityId,
    memory::{Memory, MemoryKind},
    room::{ChannelType, Room},
};

/// Confidence in what people say of themselves, and in what they say of others. Nothing is
/// measured: the order of the two decides which fact is shown and which one may replace the other.
const OWN: f64 = 0.9;
const HEARSAY: f64 = 0.5;
/// Each further message that says the same takes this part of the doubt away.
const CONFIRMATION: f64 = 0.5;

/// Keys of a fact's metadata.
const SAID_BY: &str = "saidBy";
const SAID_BY_NAME: &str = "saidByName";
/// Name of the person that a fact is about.
pub const SUBJECT: &str = "subjectName";
const CONFIDENCE: &str = "confidence";
/// Messages behind the least confirmed part of a merged fact.
const MERGED: &str = "mergedSources";

/// The origin of a fact, as it stands in its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Author of the message. `None` for facts of versions that did not note it.
    pub said_by: Option<EntityId>,
    /// The author's name at that time.
    pub said_by_name: String,
    /// Name of the person that the fact is about.
    pub subject_name: String,
}

impl Origin {
    /// Reads the origin of a stored fact.
    pub fn of(fact: &Memory) -> Self {
        let text = |key: &str| fact.metadata.get(key).and_then(Value::as_str).unwrap_or_default();
        Self {
            said_by: text(SAID_BY).parse().ok().map(EntityId),
            said_by_name: text(SAID_BY_NAME).to_owned(),
            subject_name: text(SUBJECT).to_owned(),
        }
    }

    /// The metadata of a fact about `subject`.
    pub fn metadata(&self, subject: EntityId) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert("type".into(), json!("fact"));
        // People's statements may influence the text of answers, never rights or arguments of
        // actions.
        metadata.insert("trust".into(), json!("untrusted"));
        metadata.insert(SUBJECT.into(), json!(self.subject_name));
        if let Some(author) = self.said_by {
            metadata.insert(SAID_BY.into(), json!(author));
            metadata.insert(SAID_BY_NAME.into(), json!(self.said_by_name));
        }
        metadata.insert(CONFIDENCE.into(), json!(self.confidence(subject, 1)));
        metadata
    }

    /// True if the person themselves said it.
    pub fn is_own(&self, subject: EntityId) -> bool {
        self.said_by == Some(subject)
    }

    /// From 0 to 1, for a fact that so many messages say.
    pub fn confidence(&self, subject: EntityId, sources: usize) -> f64 {
        let doubt = 1.0 - if self.is_own(subject) { OWN } else { HEARSAY };
        let confirmations = i32::try_from(sources.saturating_sub(1).min(16)).unwrap_or(16);
        let confidence = 1.0 - doubt * CONFIRMATION.powi(confirmations);
        (confidence * 1_000.0).round() / 1_000.0
    }
}

/// Reliability of a fact now, from 0 to 1, for people who look at it. What its metadata say
/// is from the time it was learnt: since then messages may have confirmed it, or were deleted. `None`
/// for other memories, and for facts whose author was not noted.
pub fn confidence(fact: &Derived) -> Option<f64> {
    let memory = &fact.memory;
    let origin = Origin::of(memory);
    let is_noted = memory.kind == MemoryKind::Facts && origin.said_by.is_some();
    is_noted.then(|| origin.confidence(memory.entity_id, backing(fact)))
}

/// Number of messages that say all of a fact: its sources, or those of the least confirmed part of
/// a merged fact.
fn backing(fact: &Derived) -> usize {
    let merged = fact.memory.metadata.get(MERGED).and_then(Value::as_u64);
    merged.map_or(fact.sources.len(), |least| usize::try_from(least).unwrap_or(usize::MAX))
}

/// True if a fact was merged from others. Its sources are then those facts and their messages.
pub fn is_merged(fact: &Memory) -> bool {
    fact.metadata.contains_key(MERGED)
}

/// Notes in the metadata of a fact how many messages say all of it, if it was made from these facts:
/// more sources than the least confirmed part has do not make it more certain.
pub fn note_merged(
    metadata: &mut Map<String, Value>,
    origin: &Origin,
    subject: EntityId,
    parts: &[&Derived],
) {
    let least = parts.iter().map(|part| backing(part)).min().unwrap_or(1);
    metadata.insert(MERGED.into(), json!(least));
    metadata.insert(CONFIDENCE.into(), json!(origin.confidence(subject, least)));
}

/// The scope of a fact about `subject` that was said in `room` by `author`.
///
/// What people say of themselves in a direct room belongs to their direct rooms. What they say of
/// others there stays in that very room: a private fact about the other person would be shown to
/// that person. Elsewhere a fact is known in the whole World only where the platform says that
/// every member of the World can read the room.
pub fn scope(room: &Room, subject: EntityId, author: EntityId) -> MemoryScope {
    if room.kind.is_direct() {
        let own = subject == author && room.kind != ChannelType::OneSelf;
        return if own { MemoryScope::Private } else { MemoryScope::Room };
    }
    if room.is_open() { MemoryScope::World } else { MemoryScope::Room }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Account, AgentId, RemoteId, RoomId, Source, WorldId};
    use uuid::Uuid;

    #[test]
    fn own_words_count_for_more_than_hearsay_and_confirmations_for_both() {
        let (maria, bob) = (EntityId(Uuid::from_u128(1)), EntityId(Uuid::from_u128(2)));
        let confidence = |by, sources| {
            let origin = Origin {
                said_by: Some(by),
                said_by_name: "x".into(),
                subject_name: "Maria".into(),
            };
            origin.confidence(maria, sources)
        };
        assert!(confidence(maria, 1) > confidence(bob, 1));
        assert!(confidence(bob, 2) > confidence(bob, 1));
        assert!(confidence(maria, usize::MAX) <= 1.0);
    }

    fn room(kind: ChannelType, open: Option<bool>) -> Room {
        let open = open.map(|open| ("openToWorld".to_owned(), Value::Bool(open)));
        Room {
            id: RoomId(Uuid::from_u128(1)),
            agent_id: AgentId(Uuid::from_u128(2)),
            world_id: WorldId(Uuid::from_u128(3)),
            parent_id: None,
            source: Source::new("test"),
            account: Account("1".into()),
            remote: RemoteId::new("1"),
            kind,
            name: String::new(),
            metadata: open.into_iter().collect::<Map<_, _>>(),
        }
    }

    #[test]
    fn the_room_decides_who_may_see_a_fact() {
        let (maria, bob) = (EntityId(Uuid::from_u128(1)), EntityId(Uuid::from_u128(2)));
        for (kind, open, own, of_another) in [
            (ChannelType::Dm, None, MemoryScope::Private, MemoryScope::Room),
            (ChannelType::Dm, Some(true), MemoryScope::Private, MemoryScope::Room),
            (ChannelType::Group, Some(true), MemoryScope::World, MemoryScope::World),
            (ChannelType::Group, Some(false), MemoryScope::Room, MemoryScope::Room),
            (ChannelType::Group, None, MemoryScope::Room, MemoryScope::Room),
            (ChannelType::Thread, None, MemoryScope::Room, MemoryScope::Room),
            (ChannelType::Feed, None, MemoryScope::World, MemoryScope::World),
            (ChannelType::OneSelf, None, MemoryScope::Room, MemoryScope::Room),
        ] {
            let room = room(kind, open);
            assert_eq!(scope(&room, maria, maria), own, "{kind:?} {open:?}");
            assert_eq!(scope(&room, bob, maria), of_another, "{kind:?} {open:?}");
        }
    }
}
