//! Effects: what actions and commands change when their turn commits. They reach only what belongs to the turn's agent.

use galatea_core::{AgentId, ParticipantState, Result, Timestamp, store::Effect};
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
    (
        // Answers are told by their turn, which the person's inbox rows name too. Those rows stay, as with a deleted message: they tell a
        // replayed message apart from a new one, and no message drops out of the count.
        "forget_person",
        "INSERT INTO forgotten (id) SELECT id FROM memories
            WHERE entity_id = unhex(NEW.body ->> 'entity') AND agent_id = unhex(NEW.body ->> 'agent');
         INSERT OR IGNORE INTO forgotten (id) SELECT id FROM memories
            WHERE entity_id = unhex(NEW.body ->> 'agent') AND agent_id = unhex(NEW.body ->> 'agent')
            AND replace(metadata ->> '$.turn', '-', '') IN (SELECT lower(hex(turn_id)) FROM inbox
                WHERE entity_id = unhex(NEW.body ->> 'entity') AND agent_id = unhex(NEW.body ->> 'agent') AND turn_id IS NOT NULL);
         INSERT INTO memories_fts (memories_fts, rowid, text) SELECT 'delete', t.seq, t.text FROM memories m JOIN memory_text t ON t.seq = m.seq
            WHERE m.id IN (SELECT id FROM forgotten) AND m.seq <= (SELECT seq FROM search_progress);
         UPDATE inbox SET envelope = json_remove(envelope, '$.command', '$.pressed', '$.userName'), finished_at = coalesce(finished_at, NEW.body ->> 'at'),
            verdict = CASE state WHEN 'new' THEN json_object('decision', 'skip', 'steps', json_array(json_object(
                'rule', 'forgotten', 'outcome', 'skip', 'reason', 'whoever wrote it had everything deleted'))) ELSE verdict END,
            state = CASE state WHEN 'new' THEN 'skipped' ELSE state END
            WHERE entity_id = unhex(NEW.body ->> 'entity') AND agent_id = unhex(NEW.body ->> 'agent');
         UPDATE outbox SET body = 'null' WHERE memory_id IN (SELECT id FROM forgotten) AND agent_id = unhex(NEW.body ->> 'agent')
            AND state NOT IN ('pending', 'sending');
         DELETE FROM memories WHERE id IN (SELECT id FROM forgotten);
         DELETE FROM forgotten;
         UPDATE search_progress SET seq = min(seq, coalesce((SELECT max(seq) FROM memories), 0));
         UPDATE entities SET names = '[]', metadata = '{}' WHERE id = unhex(NEW.body ->> 'entity') AND agent_id = unhex(NEW.body ->> 'agent');",
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

#[derive(Serialize)]
struct ForgetRow {
    agent: Hex,
    entity: Hex,
    at: i64,
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
pub(crate) fn push(change: &mut Change, agent: AgentId, effect: &Effect, at: Timestamp) -> Result<()> {
    match effect {
        Effect::SetParticipantState { room, entity, state } => push_state(change, Some(agent), *room, *entity, *state),
        Effect::MergeRoomMetadata { room, metadata } => {
            change.push("room_metadata", &MetadataRow { id: hex(*room), agent: hex(agent), metadata, drop: replaced(metadata) })
        }
        Effect::MergeEntityMetadata { entity, metadata } => {
            change.push("entity_metadata", &MetadataRow { id: hex(*entity), agent: hex(agent), metadata, drop: replaced(metadata) })
        }
        Effect::ForgetPerson { entity } => change.push("forget_person", &ForgetRow { agent: hex(agent), entity: hex(*entity), at: at.0 }),
        Effect::SetRole { world, entity, role } => {
            let mut metadata = Map::new();
            metadata.insert("roles".to_owned(), json!({ entity.to_string(): role }));
            change.push("world_metadata", &MetadataRow { id: hex(*world), agent: hex(agent), metadata: &metadata, drop: None })
        }
    }
}
