//! Effects: what actions and commands change when their turn commits. They reach only what belongs to the turn's agent.

use galatea_core::{AgentId, ParticipantState, Result, store::Effect};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    apply::Trigger,
    change::{Change, Hex, hex},
    convert::{name_of, replaced},
};

pub(crate) const TRIGGERS: &[Trigger] = &[
    (
        "participant_state",
        "INSERT INTO participants (room_id, entity_id, state)
            SELECT unhex(NEW.body ->> 'room'), unhex(NEW.body ->> 'entity'), NEW.body ->> 'state'
            WHERE NEW.body ->> 'agent' IS NULL OR NOT EXISTS (
                SELECT 1 FROM rooms WHERE id = unhex(NEW.body ->> 'room') AND agent_id <> unhex(NEW.body ->> 'agent'))
         ON CONFLICT (room_id, entity_id) DO UPDATE SET state = excluded.state;",
    ),
    (
        "room_metadata",
        "UPDATE rooms SET metadata = json_patch(json_patch(metadata, coalesce(NEW.body -> 'drop', '{}')), NEW.body -> 'metadata')
         WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent');",
    ),
    (
        "entity_metadata",
        "UPDATE entities SET metadata = json_patch(json_patch(metadata, coalesce(NEW.body -> 'drop', '{}')), NEW.body -> 'metadata')
         WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent');",
    ),
    (
        "world_metadata",
        "UPDATE worlds SET metadata = json_patch(json_patch(metadata, coalesce(NEW.body -> 'drop', '{}')), NEW.body -> 'metadata')
         WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent');",
    ),
];

#[derive(Serialize)]
struct StateRow {
    room: Hex,
    entity: Hex,
    state: Option<String>,
    agent: Option<Hex>,
}

#[derive(Serialize)]
struct MetadataRow<'a> {
    id: Hex,
    agent: Hex,
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drop: Option<Map<String, Value>>,
}

/// Adds a participant's new state; with an agent only in rooms that are not another agent's.
pub(crate) fn push_state(
    change: &mut Change,
    agent: Option<AgentId>,
    room: galatea_core::RoomId,
    entity: galatea_core::EntityId,
    state: Option<ParticipantState>,
) -> Result<()> {
    let state = state.map(|s| name_of(&s)).transpose()?;
    change.push("participant_state", &StateRow { room: hex(room), entity: hex(entity), state, agent: agent.map(hex) })
}

/// Adds an effect of a turn of `agent`.
pub(crate) fn push(change: &mut Change, agent: AgentId, effect: &Effect) -> Result<()> {
    match effect {
        Effect::SetParticipantState { room, entity, state } => push_state(change, Some(agent), *room, *entity, *state),
        Effect::MergeRoomMetadata { room, metadata } => {
            change.push("room_metadata", &MetadataRow { id: hex(*room), agent: hex(agent), metadata, drop: replaced(metadata) })
        }
        Effect::MergeEntityMetadata { entity, metadata } => {
            change.push("entity_metadata", &MetadataRow { id: hex(*entity), agent: hex(agent), metadata, drop: replaced(metadata) })
        }
        Effect::SetRole { world, entity, role } => {
            let mut metadata = Map::new();
            metadata.insert("roles".to_owned(), json!({ entity.to_string(): role }));
            change.push("world_metadata", &MetadataRow { id: hex(*world), agent: hex(agent), metadata: &metadata, drop: None })
        }
    }
}
