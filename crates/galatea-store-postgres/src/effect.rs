//! Effects: what actions and commands change when their turn commits. They reach only what belongs to the turn's agent.

use galatea_core::{AgentId, ParticipantState, Result, Timestamp, store::Effect};
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
    (
        // Answers are told by their turn, which the person's inbox rows name too. Those rows stay, as with a deleted message: they tell a
        // replayed message apart from a new one, and no message drops out of the count. In a CASE the turns are looked up in a table made once.
        "forget_person",
        "UPDATE inbox SET envelope = envelope - 'command' - 'pressed' - 'userName', finished_at = coalesce(finished_at, (b ->> 'at')::bigint),
            verdict = CASE state WHEN 'new' THEN json_build_object('decision', 'skip', 'steps', json_build_array(json_build_object(
                'rule', 'forgotten', 'outcome', 'skip', 'reason', 'whoever wrote it had everything deleted'))) ELSE verdict END,
            state = CASE state WHEN 'new' THEN 'skipped' ELSE state END
            WHERE entity_id = (b ->> 'entity')::uuid AND agent_id = (b ->> 'agent')::uuid;
         WITH forgotten AS (SELECT id FROM memories WHERE entity_id = (b ->> 'entity')::uuid AND agent_id = (b ->> 'agent')::uuid
            UNION SELECT id FROM memories WHERE entity_id = (b ->> 'agent')::uuid AND agent_id = (b ->> 'agent')::uuid
                AND CASE WHEN metadata ->> 'turn' IN (SELECT turn_id::text FROM inbox
                    WHERE entity_id = (b ->> 'entity')::uuid AND agent_id = (b ->> 'agent')::uuid AND turn_id IS NOT NULL) THEN true END),
            said AS (UPDATE outbox SET body = 'null' WHERE memory_id IN (SELECT id FROM forgotten) AND agent_id = (b ->> 'agent')::uuid
                AND state NOT IN ('pending', 'sending'))
         DELETE FROM memories WHERE id IN (SELECT id FROM forgotten);
         UPDATE entities SET names = '[]', metadata = '{}' WHERE id = (b ->> 'entity')::uuid AND agent_id = (b ->> 'agent')::uuid;",
    ),
];

#[derive(Serialize)]
struct ForgetRow {
    agent: Uuid,
    entity: Uuid,
    at: i64,
}

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
pub(crate) fn push(change: &mut Change, agent: AgentId, effect: &Effect, at: Timestamp) -> Result<()> {
    match effect {
        Effect::SetParticipantState { room, entity, state } => push_state(change, Some(agent), *room, *entity, *state),
        Effect::MergeRoomMetadata { room, metadata } => change.push("room_metadata", &MetadataRow { id: uuid(*room), agent: uuid(agent), metadata }),
        Effect::MergeEntityMetadata { entity, metadata } => change.push("entity_metadata", &MetadataRow { id: uuid(*entity), agent: uuid(agent), metadata }),
        Effect::ForgetPerson { entity } => change.push("forget_person", &ForgetRow { agent: uuid(agent), entity: uuid(*entity), at: at.0 }),
        Effect::SetRole { world, entity, role } => {
            let mut metadata = Map::new();
            metadata.insert("roles".to_owned(), json!({ entity.to_string(): role }));
            change.push("world_metadata", &MetadataRow { id: uuid(*world), agent: uuid(agent), metadata: &metadata })
        }
    }
}
