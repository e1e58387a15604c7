//! Effects: what actions and commands change when their turn commits. They reach only what belongs to the turn's agent.

use galatea_core::{AgentId, ParticipantState, Result, store::Effect};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    apply::Step,
    change::{Change, uuid},
    convert::name_of,
};

pub(crate) const STEPS: &[Step] = &[
    (
        "participant_state",
        "INSERT INTO participants (room_id, entity_id, state)
            SELECT (b ->> 'room')::uuid, (b ->> 'entity')::uuid, b ->> 'state'
            WHERE b ->> 'agent' IS NULL OR NOT EXISTS (
                SELECT 1 FROM rooms WHERE id = (b ->> 'room')::uuid AND agent_id <> (b ->> 'agent')::uuid)
         ON CONFLICT (room_id, entity_id) DO UPDATE SET state = excluded.state;",
    ),
    (
        "room_metadata",
        "UPDATE rooms SET metadata = pg_temp.merged(metadata, b -> 'metadata')
         WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid;",
    ),
    (
        "entity_metadata",
        "UPDATE entities SET metadata = pg_temp.merged(metadata, b -> 'metadata')
         WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid;",
    ),
    (
        "world_metadata",
        "UPDATE worlds SET metadata = pg_temp.merged(metadata, b -> 'metadata')
         WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid;",
    ),
];

#[derive(Serialize)]
struct StateRow {
    room: Uuid,
    entity: Uuid,
    state: Option<String>,
    agent: Option<Uuid>,
}

#[derive(Serialize)]
struct MetadataRow<'a> {
    id: Uuid,
    agent: Uuid,
    metadata: &'a Map<String, Value>,
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
    change.push("participant_state", &StateRow { room: uuid(room), entity: uuid(entity), state, agent: agent.map(uuid) })
}

/// Adds an effect of a turn of `agent`.
pub(crate) fn push(change: &mut Change, agent: AgentId, effect: &Effect) -> Result<()> {
    match effect {
        Effect::SetParticipantState { room, entity, state } => push_state(change, Some(agent), *room, *entity, *state),
        Effect::MergeRoomMetadata { room, metadata } => change.push("room_metadata", &MetadataRow { id: uuid(*room), agent: uuid(agent), metadata }),
        Effect::MergeEntityMetadata { entity, metadata } => change.push("entity_metadata", &MetadataRow { id: uuid(*entity), agent: uuid(agent), metadata }),
        Effect::SetRole { world, entity, role } => {
            let mut metadata = Map::new();
            metadata.insert("roles".to_owned(), json!({ entity.to_string(): role }));
            change.push("world_metadata", &MetadataRow { id: uuid(*world), agent: uuid(agent), metadata: &metadata })
        }
    }
}
