//! Entity and Participant: anyone who speaks, and an entity in a room.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{AgentId, EntityId, RoomId};

/// Anyone who speaks, as one agent knows them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    /// Derived from the platform's id.
    pub id: EntityId,
    /// The agent that knows them.
    pub agent_id: AgentId,
    /// Display name first, then handle and older names.
    pub names: Vec<String>,
    /// Per platform: `{"telegram": {"id", "name", "userName"}}`, and free keys.
    pub metadata: Map<String, Value>,
}

impl Entity {
    /// The name to show: the first known, or a short form of the id.
    pub fn display_name(&self) -> String {
        self.names
            .iter()
            .find(|n| !n.is_empty())
            .cloned()
            .unwrap_or_else(|| format!("someone-{}", &self.id.to_string()[..8]))
    }

    /// The names by which others ask for it now: what is shown, and the handle on its platform. Older
    /// names are left out, since another person may have them by now.
    pub fn called(&self) -> impl Iterator<Item = (EntityId, &str)> {
        let shown = self.names.iter().map(String::as_str).find(|name| !name.is_empty());
        let handles =
            self.metadata.values().filter_map(|platform| platform.get("userName")?.as_str());
        let handles = handles.filter(move |handle| !handle.is_empty() && Some(*handle) != shown);
        shown.into_iter().chain(handles).map(|name| (self.id, name))
    }
}

/// An entity in a room. Unique per (entity, room).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Participant {
    /// The person who takes part.
    pub entity_id: EntityId,
    /// The Room they take part in.
    pub room_id: RoomId,
    /// Followed or muted; the agent's own participant carries the room's switch.
    pub state: Option<ParticipantState>,
}

/// State of the agent in a Room: it follows or is muted (elizaOS participant state).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ParticipantState {
    /// The agent answers here without being addressed.
    Followed,
    /// The agent is silent here.
    Muted,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn others_ask_for_a_person_by_the_shown_name_and_the_handle_and_by_no_older_name() {
        let entity = |names: &[&str], metadata: Value| Entity {
            id: EntityId(Uuid::from_u128(1)),
            agent_id: AgentId(Uuid::from_u128(2)),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            metadata: metadata.as_object().cloned().unwrap_or_default(),
        };
        let on = |user_name: Value| json!({ "telegram": { "id": "7", "userName": user_name }, "note": "x" });
        for (names, metadata, expected) in [
            (vec!["Mallory", "mal"], on(json!("mal")), vec!["Mallory", "mal"]),
            (vec!["Mallory", "Cleo"], on(Value::Null), vec!["Mallory"]),
            (vec!["mal", "Cleo"], on(json!("mal")), vec!["mal"]),
            (vec!["", "Mallory"], on(json!("")), vec!["Mallory"]),
            (vec![], json!({}), vec![]),
        ] {
            let entity = entity(&names, metadata);
            let called: Vec<&str> = entity.called().map(|(_, name)| name).collect();
            assert_eq!(called, expected, "{names:?}");
        }
    }
}
