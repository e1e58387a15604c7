//! Derived memories: facts, summaries, profiles and pieces of documents. Each keeps the ids of what
//! it was made from, and who may see it.

use serde::{Deserialize, Serialize};

use crate::{clock::Timestamp, ids::MemoryId, memory::Memory};

/// Audience of a memory. Code sets it when the memory is written, never a model.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Only in direct rooms with its person (`entity_id`).
    Private,
    /// Only in its room. Messages have this scope.
    #[default]
    Room,
    /// In every room of its World.
    World,
    /// In every room of its agent.
    Agent,
}

impl MemoryScope {
    /// The spelling in the database and in exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Room => "room",
            Self::World => "world",
            Self::Agent => "agent",
        }
    }

    /// Reads the stored spelling. An unknown one is the narrowest scope.
    pub fn from_stored(text: &str) -> Self {
        match text {
            "room" => Self::Room,
            "world" => Self::World,
            "agent" => Self::Agent,
            _ => Self::Private,
        }
    }
}

/// A memory that was made from others. elizaOS's JSON of a memory reads as one without sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Derived {
    /// The row itself: text, place, time.
    #[serde(flatten)]
    pub memory: Memory,
    /// Audience.
    #[serde(default)]
    pub scope: MemoryScope,
    /// Time it ceased to be true, always in the past; none while it is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// The row that replaced it, if one did. When that row goes while it holds, this one is true
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<MemoryId>,
    /// Messages, documents or other derived memories it was made from.
    #[serde(default)]
    pub sources: Vec<MemoryId>,
}

impl Derived {
    /// A memory that is true, made from these sources.
    pub fn new(memory: Memory, scope: MemoryScope, sources: Vec<MemoryId>) -> Self {
        Self { memory, scope, valid_until: None, superseded_by: None, sources }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPES: [MemoryScope; 4] =
        [MemoryScope::Private, MemoryScope::Room, MemoryScope::World, MemoryScope::Agent];

    #[test]
    fn scopes_are_stored_by_name() {
        for scope in SCOPES {
            assert_eq!(MemoryScope::from_stored(scope.as_str()), scope);
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
        }
        assert_eq!(MemoryScope::from_stored("planet"), MemoryScope::Private);
    }

    #[test]
    fn a_memory_of_elizaos_reads_as_a_derived_one() {
        let id = "00000000-0000-0000-0000-000000000001";
        let json = serde_json::json!({
            "id": id, "type": "facts", "agentId": id, "entityId": id, "roomId": id, "worldId": null,
            "content": {"text": "Ada drinks tea"}, "createdAt": 5
        });
        let read: Derived = serde_json::from_value(json).unwrap();
        assert_eq!(read.memory.content.text, "Ada drinks tea");
        assert_eq!((read.scope, read.valid_until), (MemoryScope::Room, None));
        assert!(read.sources.is_empty());
        let again: Derived = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }
}
