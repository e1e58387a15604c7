//! Effects: what actions and commands change when their turn commits. They reach only what belongs
//! to the turn's agent.

use galatea_core::{
    AgentId, EntityId, Error, ParticipantState, Result, RoomId, Timestamp, TurnId, World,
    store::RequestedChange, world::MOST_RETENTION_DAYS,
};
use serde_json::{Map, Value as Json, json};
use uuid::Uuid;

use crate::{
    change::{Change, Write},
    connect::merging,
    convert::name_of,
    dialect::{Dialects, values},
    forget, relationship, task,
};

/// With an agent only in Rooms that are not another agent's.
const STATE: Dialects = Dialects {
    sqlite: "INSERT INTO participants (room_id, entity_id, state) SELECT $1, $2, $3 \
             WHERE $4 IS NULL OR NOT EXISTS (SELECT 1 FROM rooms WHERE id = $1 AND agent_id <> $4) \
             ON CONFLICT (room_id, entity_id) DO UPDATE SET state = excluded.state",
    postgres: "INSERT INTO participants (room_id, entity_id, state) SELECT $1::uuid, $2::uuid, $3::text \
               WHERE $4::uuid IS NULL OR NOT EXISTS (SELECT 1 FROM rooms WHERE id = $1 AND agent_id <> $4) \
               ON CONFLICT (room_id, entity_id) DO UPDATE SET state = excluded.state",
};

macro_rules! merge {
    ($table:literal) => {
        Dialects {
            sqlite: concat!(
                "UPDATE ",
                $table,
                " SET metadata = json_patch(json_patch(metadata, $4), $3) WHERE id = $1 AND agent_id = $2"
            ),
            postgres: concat!(
                "UPDATE ",
                $table,
                " SET metadata = merged(metadata, $3) WHERE id = $1 AND agent_id = $2"
            ),
        }
    };
}

const MERGE_ROOM: Dialects = merge!("rooms");
const MERGE_ENTITY: Dialects = merge!("entities");
const MERGE_WORLD: Dialects = merge!("worlds");

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] =
    crate::dialect::listed![STATE, MERGE_ROOM, MERGE_ENTITY, MERGE_WORLD,];

/// Adds a participant's new state, if the room is not another agent's.
fn push_state(
    change: &mut Change,
    agent: AgentId,
    room: RoomId,
    entity: EntityId,
    state: Option<ParticipantState>,
) -> Result<()> {
    let state = state.map(|s| name_of(&s)).transpose()?;
    let values = values![room.0, entity.0, state, agent.0];
    change.push(Write::statement(STATE.with(values))).map(drop)
}

fn push_merge(
    change: &mut Change,
    statement: Dialects,
    id: Uuid,
    agent: AgentId,
    metadata: &Map<String, Json>,
) -> Result<()> {
    let mut values = values![id, agent.0];
    values.extend(merging(metadata)?);
    change.push(Write::statement(statement.with(values))).map(drop)
}

/// Whether an effect changes who is one person.
pub(crate) fn changes_links(effect: &RequestedChange) -> bool {
    matches!(
        effect,
        RequestedChange::LinkPeople { .. }
            | RequestedChange::Unlink { .. }
            | RequestedChange::ForgetPerson { .. }
    )
}

/// Adds an effect of a turn of `agent`.
pub(crate) fn push(
    change: &mut Change,
    agent: AgentId,
    turn: TurnId,
    effect: &RequestedChange,
    at: Timestamp,
) -> Result<()> {
    match effect {
        RequestedChange::SetParticipantState { room, entity, state } => {
            push_state(change, agent, *room, *entity, *state)
        }
        RequestedChange::MergeRoomMetadata { room, metadata } => {
            push_merge(change, MERGE_ROOM, room.0, agent, metadata)
        }
        RequestedChange::MergeEntityMetadata { entity, metadata } => {
            push_merge(change, MERGE_ENTITY, entity.0, agent, metadata)
        }
        RequestedChange::SetRole { world, entity, role } => {
            let mut metadata = Map::new();
            metadata.insert("roles".to_owned(), json!({ entity.to_string(): role }));
            push_merge(change, MERGE_WORLD, world.0, agent, &metadata)
        }
        RequestedChange::SetRetention { world, days } => {
            if *days > MOST_RETENTION_DAYS {
                return Err(Error::invalid("messages cannot be kept for so many days")
                    .with("most", MOST_RETENTION_DAYS));
            }
            push_merge(change, MERGE_WORLD, world.0, agent, &World::with_retention(*days))
        }
        RequestedChange::SetWorldSetting { world, key, value } => {
            let metadata = World::with_setting(key, value.as_deref());
            push_merge(change, MERGE_WORLD, world.0, agent, &metadata)
        }
        RequestedChange::SaveTask { task } => task::push(change, agent, task),
        RequestedChange::DeleteTask { task } => task::push_delete(change, agent, *task),
        RequestedChange::ForgetPerson { entity } => forget::push(change, agent, turn, *entity, at),
        RequestedChange::LinkPeople { question, entities } => {
            relationship::push_link(change, agent, *question, entities, at)
        }
        RequestedChange::Unlink { entity } => relationship::push_unlink(change, agent, *entity),
    }
}
