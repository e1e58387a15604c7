//! A server, workspace or chat container.

pub mod room;
pub mod world_settings;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::{
    ids::{AgentId, EntityId, RemoteId, Source, WorldId},
    world_settings::WORLD_SETTINGS,
};

/// A server, workspace or chat container as one agent sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct World {
    /// Derived from the platform's id.
    pub id: WorldId,
    /// The agent it belongs to.
    pub agent_id: AgentId,
    /// The platform that the World is on.
    pub source: Source,
    /// The platform's id of it.
    pub remote: RemoteId,
    /// The name that people see on the platform.
    pub name: String,
    /// Owner, roles and the rest.
    pub metadata: WorldMetadata,
}

/// Longest time in days that a World may keep its messages: ten years. Longer is for ever.
pub const MOST_RETENTION_DAYS: u32 = 3_650;
/// Keys of [`WorldMetadata::extra`].
const SETTINGS: &str = "settings";
const RETENTION: &str = "retention_days";

/// A number of days in words.
#[doc(hidden)]
pub fn days(days: u32) -> String {
    if days == 1 { "1 day".to_owned() } else { format!("{days} days") }
}

impl World {
    /// After how many days its messages are deleted. None: they are kept. A stored value out of
    /// bounds deletes nothing.
    pub fn retention_days(&self) -> Option<u32> {
        let days = self.metadata.extra.get(SETTINGS)?.get(RETENTION)?.as_u64()?;
        u32::try_from(days).ok().filter(|days| (1..=MOST_RETENTION_DAYS).contains(days))
    }

    /// The metadata that sets it; 0 keeps them.
    #[doc(hidden)]
    pub fn with_retention(days: u32) -> Map<String, Value> {
        let settings = Map::from_iter([(RETENTION.to_owned(), days.into())]);
        Map::from_iter([(SETTINGS.to_owned(), Value::Object(settings))])
    }

    /// Answers of its owner or an admin to a declared setting
    /// ([`crate::world_settings::WorldSetting`]).
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.metadata.extra.get(WORLD_SETTINGS)?.get(key)?.as_str()
    }

    /// The metadata that sets it, or removes it.
    #[doc(hidden)]
    pub fn with_setting(key: &str, value: Option<&str>) -> Map<String, Value> {
        let settings = Map::from_iter([(key.to_owned(), value.map_or(Value::Null, Value::from))]);
        Map::from_iter([(WORLD_SETTINGS.to_owned(), Value::Object(settings))])
    }

    /// elizaOS `messageServerId`: the plain, unswizzled hash of the platform's id.
    pub fn message_server_id(&self) -> uuid::Uuid {
        crate::ids::uuid_of(self.remote.as_str())
    }
}

/// elizaOS world metadata: `ownership.ownerId`, `roles`, and free keys.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorldMetadata {
    /// Its owner, as the platform or a setting names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
    /// Roles of entities that have one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<EntityId, Role>,
    /// Keys of connectors, plugins and World settings.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The owner of a World (elizaOS `ownership`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ownership {
    /// The person who owns it.
    pub owner_id: EntityId,
}

/// A right within a World, from most to least.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Role {
    /// Takes part, without any right to manage the place.
    None,
    /// May change settings and mute.
    Admin,
    /// Owns the place, as the platform says.
    Owner,
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_retention_out_of_bounds_deletes_nothing() {
        let world = |extra| World {
            id: WorldId(Uuid::from_u128(1)),
            agent_id: AgentId(Uuid::from_u128(2)),
            source: Source::new("test"),
            remote: RemoteId::new("1"),
            name: String::new(),
            metadata: WorldMetadata { extra, ..WorldMetadata::default() },
        };
        for (days, kept) in [(0, None), (1, Some(1)), (3_650, Some(3_650)), (3_651, None)] {
            assert_eq!(world(World::with_retention(days)).retention_days(), kept);
        }
        for wrong in ["30", "-1", "1.5", "\"30\"", "null", "{}"] {
            let value = serde_json::from_str(wrong).unwrap();
            let settings = Map::from_iter([(RETENTION.to_owned(), value)]);
            let extra = Map::from_iter([(SETTINGS.to_owned(), Value::Object(settings))]);
            let expected = (wrong == "30").then_some(30);
            assert_eq!(world(extra).retention_days(), expected, "{wrong}");
        }
        assert_eq!(world(Map::new()).retention_days(), None);
    }
}
