//! Effects: what actions and commands change when their turn commits. They reach only what belongs
//! to the turn's agent.

use galatea_core::{
    AgentId, EntityId, Error, ParticipantState, Result, RoomId, Timestamp, TurnId, World,
    store::RequestedChange, world::MOST_RETENTION_DAYS,
};
use serde_json::{Map, Value as Json, json};
use uuid::Uuid;

use crate::{
    change::{Change, Changed, Write},
    connect::merging,
    convert::name_of,
    dialect::{Dialects, Statement, values},
    doomed::{self, doom},
    neighbour, relationship, task,
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

// What a person wrote, and what the agent answered them: answers name their turn, which the
// person's inbox rows name too. Those rows stay, as with a deleted message: by them a replayed
// message is recognised, and the audit counts every message.
macro_rules! forgotten {
    (sqlite) => {
        "(SELECT id FROM memories WHERE entity_id = $2 AND agent_id = $1 \
          UNION SELECT id FROM memories WHERE entity_id = $1 AND agent_id = $1 AND replace(metadata ->> '$.turn', '-', '') IN ( \
            SELECT lower(hex(turn_id)) FROM inbox WHERE entity_id = $2 AND agent_id = $1 AND turn_id IS NOT NULL))"
    };
    // In a CASE the turns are looked up in a table that is made once.
    (postgres) => {
        "(SELECT id FROM memories WHERE entity_id = $2 AND agent_id = $1 \
          UNION SELECT id FROM memories WHERE entity_id = $1 AND agent_id = $1 AND CASE WHEN metadata ->> 'turn' IN ( \
            SELECT turn_id::text FROM inbox WHERE entity_id = $2 AND agent_id = $1 AND turn_id IS NOT NULL) THEN true END)"
    };
}

// Summaries of Worlds with a retention period. Such a summary may contain what a deleted message said,
// and its author is no longer stored. So all of them are deleted, and made again from the messages that
// still exist.
macro_rules! outlived {
    ($retention:literal) => {
        concat!(
            " UNION SELECT m.id FROM worlds w JOIN rooms r ON r.world_id = w.id \
             JOIN memories m ON m.room_id = r.id AND m.type = 'summaries' AND m.agent_id = $1 \
             WHERE w.agent_id = $1 AND ",
            $retention,
            " IS NOT NULL"
        )
    };
}
/// And what was made from it.
const FORGET_DOOMED: Dialects = Dialects {
    sqlite: doom!(concat!(
        "SELECT id FROM memories WHERE id IN ",
        forgotten!(sqlite),
        outlived!("w.metadata ->> '$.settings.retention_days'")
    )),
    postgres: doom!(concat!(
        "SELECT f.id FROM ",
        forgotten!(postgres),
        " f",
        outlived!("w.metadata -> 'settings' ->> 'retention_days'")
    )),
};
const FORGET_SENT: Dialects = Dialects {
    sqlite: "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') AND memory_id IN (SELECT id FROM doomed)",
    postgres: "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') \
               AND memory_id = ANY (ARRAY(SELECT id FROM doomed))",
};
macro_rules! in_turns_of_the_person {
    () => {
        "turn_id IN (SELECT turn_id FROM inbox WHERE entity_id = $2 AND agent_id = $1 AND turn_id IS NOT NULL)"
    };
}
/// Answers that have no memory: those to commands, exports, and notices elsewhere.
const FORGET_UNREMEMBERED: Dialects = Dialects::same(concat!(
    "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') AND ",
    in_turns_of_the_person!()
));
/// Of these, what is not sent yet is not sent any more, but for the answer of this turn. A part in
/// flight may arrive; its outcome is not stored.
const FORGET_UNSENT: Dialects = Dialects::same(concat!(
    "UPDATE outbox SET body = 'null', doubt = doubt OR state = 'sending', state = 'dead', error = 'the person had everything deleted' \
     WHERE agent_id = $1 AND state IN ('pending', 'sending') AND memory_id IS NULL AND turn_id <> $3 AND ",
    in_turns_of_the_person!()
));
macro_rules! forget_asked {
    ($envelope:literal, $verdict:literal) => {
        concat!(
            "UPDATE inbox SET envelope = ",
            $envelope,
            ", finished_at = coalesce(finished_at, $3), verdict = CASE state WHEN 'new' THEN ",
            $verdict,
            " ELSE verdict END, state = CASE state WHEN 'new' THEN 'skipped' ELSE state END WHERE entity_id = $2 AND agent_id = $1"
        )
    };
}
const FORGET_INBOX: Dialects = Dialects {
    sqlite: forget_asked!(
        "json_remove(envelope, '$.command', '$.pressed', '$.userName')",
        "json_object('decision', 'skip', 'steps', json_array(json_object(
            'rule', 'forgotten', 'outcome', 'skip', 'reason', 'the author had everything deleted')))"
    ),
    postgres: forget_asked!(
        "envelope - 'command' - 'pressed' - 'userName'",
        "json_build_object('decision', 'skip', 'steps', json_build_array(json_build_object(
            'rule', 'forgotten', 'outcome', 'skip', 'reason', 'the author had everything deleted')))"
    ),
};
const FORGET_TASKS: Dialects =
    Dialects::same("DELETE FROM tasks WHERE entity_id = $2 AND agent_id = $1");
const FORGET_NAMES: Dialects = Dialects::same(
    "UPDATE entities SET names = '[]', metadata = '{}' WHERE id = $2 AND agent_id = $1",
);

/// Tags of relationships are words that a model read out of the person's, too.
const FORGET_TIES: Dialects = Dialects::same(
    "DELETE FROM relationships WHERE id IN (SELECT s.id FROM relationships s WHERE s.agent_id = $1 AND s.source_entity_id = $2 \
        UNION ALL SELECT t.id FROM relationships t WHERE t.agent_id = $1 AND t.target_entity_id = $2)",
);
/// Rooms in which the person has written. Facts about them may lie in Rooms of others.
macro_rules! rooms {
    () => {
        "(SELECT room_id FROM memories WHERE entity_id = $2 AND agent_id = $1 AND type = 'messages')"
    };
}
/// The rest of an answer that was too long (the runtime's `HELD_KEY`), in each Room of the person:
/// the Room does not say for whom it is kept.
const FORGET_HELD: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE rooms SET metadata = json_remove(metadata, '$.continued') WHERE agent_id = $1 AND json_extract(metadata, '$.continued') IS NOT NULL AND id IN ",
        rooms!()
    ),
    postgres: concat!(
        "UPDATE rooms SET metadata = metadata - 'continued' WHERE agent_id = $1 AND metadata -> 'continued' IS NOT NULL AND id IN ",
        rooms!()
    ),
};
/// Direct Rooms are named after the person, and so are their Worlds unless they have other Rooms.
macro_rules! direct {
    () => {
        concat!("agent_id = $1 AND type IN ('DM', 'VOICE_DM') AND id IN ", rooms!())
    };
}
macro_rules! direct_worlds {
    () => {
        concat!(
            "agent_id = $1 AND id IN (SELECT world_id FROM rooms WHERE ",
            direct!(),
            ") AND NOT EXISTS (SELECT 1 FROM rooms o WHERE o.world_id = worlds.id AND o.type NOT IN ('DM', 'VOICE_DM'))"
        )
    };
}
const FORGET_WORLDS: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE worlds SET name = remote, metadata = json_remove(metadata, '$.username') WHERE ",
        direct_worlds!()
    ),
    postgres: concat!(
        "UPDATE worlds SET name = remote, metadata = metadata - 'username' WHERE ",
        direct_worlds!()
    ),
};
const FORGET_ROOMS: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE rooms SET name = remote, metadata = json_remove(metadata, '$.username') WHERE ",
        direct!()
    ),
    postgres: concat!(
        "UPDATE rooms SET name = remote, metadata = metadata - 'username' WHERE ",
        direct!()
    ),
};

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] = crate::dialect::listed![
    STATE,
    MERGE_ROOM,
    MERGE_ENTITY,
    MERGE_WORLD,
    FORGET_DOOMED,
    FORGET_SENT,
    FORGET_UNREMEMBERED,
    FORGET_UNSENT,
    FORGET_INBOX,
    FORGET_TASKS,
    FORGET_NAMES,
    FORGET_TIES,
    FORGET_HELD,
    FORGET_WORLDS,
    FORGET_ROOMS,
];

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

/// Adds the removal of all that a person wrote. The inbox rows come last but for the names: they
/// name the turns that answered the person.
fn push_forget(
    change: &mut Change,
    agent: AgentId,
    turn: TurnId,
    entity: EntityId,
    at: Timestamp,
) -> Result<()> {
    let values = values![agent.0, entity.0, at.0];
    let with = |step: Dialects| step.with(values.clone());
    // What is beside the messages goes first: it is found by them.
    let mut statements: Vec<Statement> =
        [FORGET_TIES, FORGET_HELD, FORGET_WORLDS, FORGET_ROOMS, FORGET_DOOMED].map(with).into();
    statements.extend(neighbour::forget_words());
    statements.extend(doomed::unindex());
    statements.extend([FORGET_SENT, FORGET_UNREMEMBERED].map(with));
    statements.push(FORGET_UNSENT.with(values![agent.0, entity.0, turn.0]));
    statements.extend(doomed::remove(None));
    statements.extend(crate::index::keep());
    statements.extend([FORGET_INBOX, FORGET_TASKS, FORGET_NAMES].map(with));
    statements.push(relationship::UNLINK.with(values![agent.0, entity.0]));
    change.scrub = true;
    change.changed = Changed::Any;
    change.push(Write::Other { statements, counted: None }).map(drop)
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
        RequestedChange::ForgetPerson { entity } => push_forget(change, agent, turn, *entity, at),
        RequestedChange::LinkPeople { question, entities } => {
            relationship::push_link(change, agent, *question, entities, at)
        }
        RequestedChange::Unlink { entity } => relationship::push_unlink(change, agent, *entity),
    }
}
