//! Forgets a person: what they wrote, what was made of it, what the agent answered, and their names.
//! One change does all of it, in the commit of the turn that says so. Before that most of it goes in
//! small changes ([`ForgetStore::forget_ahead`]), so that others do not wait long for this one.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, MemoryId, Result, Timestamp, TurnId, kill_point, store::ForgetStore,
};
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    channel, deleted,
    dialect::{Dialects, Statement, Value, values},
    doomed::{self, doom},
    forgotten::{JOINED, alone, forgotten},
    neighbour,
    plan::no_index,
    record, relationship, trace,
};

/// Memories of one change that goes ahead: some 10 ms of the writer.
const STEP: usize = 100;

// Summaries of Worlds with a retention period. A summary may contain text of deleted messages, whose
// authors are no longer stored. So every summary is deleted and made again from the remaining
// messages.
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
const DOOMED: Dialects = Dialects {
    sqlite: doom!(concat!(
        "SELECT id FROM memories WHERE id IN (SELECT id FROM ",
        forgotten!(sqlite),
        ")",
        outlived!("w.metadata ->> '$.settings.retention_days'")
    )),
    postgres: doom!(concat!(
        "SELECT f.id FROM ",
        forgotten!(postgres),
        " f",
        outlived!("w.metadata -> 'settings' ->> 'retention_days'")
    )),
};
const SENT: Dialects = Dialects {
    sqlite: "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') AND memory_id IN (SELECT id FROM doomed)",
    postgres: "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') \
               AND memory_id = ANY (ARRAY(SELECT id FROM doomed))",
};
/// An answer that is not sent yet is not sent any more. A part in flight may arrive; its outcome is not
/// stored.
macro_rules! unsent {
    ($which:expr) => {
        concat!(
            "UPDATE outbox SET body = 'null', outcome_unknown = outcome_unknown OR state = 'sending', state = 'dead', error = 'the person had everything deleted' \
             WHERE agent_id = $1 AND state IN ('pending', 'sending') AND ",
            $which
        )
    };
}
const UNSENT: Dialects = Dialects {
    sqlite: unsent!("memory_id IN (SELECT id FROM doomed)"),
    postgres: unsent!("memory_id = ANY (ARRAY(SELECT id FROM doomed))"),
};
macro_rules! in_turns_of_the_person {
    () => {
        "turn_id IN (SELECT turn_id FROM inbox WHERE entity_id = $2 AND agent_id = $1 AND turn_id IS NOT NULL)"
    };
}
/// Answers that have no memory: those to commands, exports, and notices elsewhere. An empty body is
/// not written again.
const UNREMEMBERED: Dialects = Dialects::same(concat!(
    "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') AND CAST(body AS text) <> 'null' AND ",
    in_turns_of_the_person!()
));
/// Of these, what is not sent yet, but for the answer of this turn.
const UNREMEMBERED_UNSENT: Dialects = Dialects::same(unsent!(concat!(
    "memory_id IS NULL AND turn_id <> $3 AND ",
    in_turns_of_the_person!()
)));
/// What is typed into an inbox row, the person's handle and id on the platform, and the verdict of a
/// row that waits. Rows without are not written. The ids of Rooms and messages stay: an answer needs
/// the one, and a message that is delivered again is known by the other.
macro_rules! inbox_rows {
    ($envelope:literal, $verdict:literal, $has_words:literal) => {
        concat!(
            "UPDATE inbox SET envelope = ",
            $envelope,
            ", finished_at = coalesce(finished_at, $3), verdict = CASE state WHEN 'new' THEN ",
            $verdict,
            " ELSE verdict END, state = CASE state WHEN 'new' THEN 'skipped' ELSE state END WHERE entity_id = $2 AND agent_id = $1 \
             AND (state = 'new' OR ",
            $has_words,
            ")"
        )
    };
}
const INBOX: Dialects = Dialects {
    // Whether a word stands in the text is faster than reading it; a row too many does no harm.
    sqlite: inbox_rows!(
        "json_remove(envelope, '$.command', '$.pressed', '$.userName', '$.entityRemote')",
        "json_object('decision', 'skip', 'steps', json_array(json_object(
            'rule', 'forgotten', 'outcome', 'skip', 'reason', 'the author had everything deleted')))",
        "instr(envelope, '\"command\"') OR instr(envelope, '\"pressed\"') OR instr(envelope, '\"userName\"') OR instr(envelope, '\"entityRemote\"')"
    ),
    postgres: inbox_rows!(
        "(envelope - 'command' - 'pressed' - 'userName' - 'entityRemote')",
        "json_build_object('decision', 'skip', 'steps', json_build_array(json_build_object(
            'rule', 'forgotten', 'outcome', 'skip', 'reason', 'the author had everything deleted')))",
        "envelope <> (envelope - 'command' - 'pressed' - 'userName' - 'entityRemote')"
    ),
};
/// Tasks that concern the person. Words about one who has left a Room name them by the key `person`: such a
/// task concerns no one who is there.
const TASKS: Dialects = Dialects::same(
    "DELETE FROM tasks WHERE agent_id = $1 AND (entity_id = $2 OR CAST(metadata AS text) LIKE $3)",
);
/// What the person allowed tools to do without a question.
const GRANTS: Dialects =
    Dialects::same("DELETE FROM grants WHERE entity_id = $2 AND agent_id = $1");
const NAMES: Dialects = Dialects::same(
    "UPDATE entities SET names = '[]', metadata = '{}' WHERE id = $2 AND agent_id = $1",
);

/// The person's name in the approval of their pairing (the runtime's `approved_key`). The approval
/// stays, as the owner's decision.
const APPROVED: Dialects =
    Dialects::same("UPDATE cache SET value = '{}' WHERE agent_id = $1 AND key = $2");

/// Tags of relationships are words that a model read out of the person's, too.
const TIES: Dialects = Dialects::same(
    "DELETE FROM relationships WHERE id IN (SELECT s.id FROM relationships s WHERE s.agent_id = $1 AND s.source_entity_id = $2 \
        UNION ALL SELECT t.id FROM relationships t WHERE t.agent_id = $1 AND t.target_entity_id = $2)",
);
/// Rooms in which the person has written. Facts about them may lie in Rooms of others.
macro_rules! rooms {
    () => {
        "(SELECT room_id FROM memories WHERE entity_id = $2 AND agent_id = $1 AND type = 'messages')"
    };
}
/// The held-back rest of a long answer (the runtime's `HELD_KEY`), in each Room of the person: the
/// Room does not store who asked.
const HELD: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE rooms SET metadata = json_remove(metadata, '$.continued') WHERE agent_id = $1 AND json_extract(metadata, '$.continued') IS NOT NULL AND id IN ",
        rooms!()
    ),
    postgres: concat!(
        "UPDATE rooms SET metadata = metadata - 'continued' WHERE agent_id = $1 AND metadata -> 'continued' IS NOT NULL AND id IN ",
        rooms!()
    ),
};
/// Direct Rooms without other people are named after the person, and so are their Worlds unless they
/// have other Rooms.
macro_rules! direct {
    () => {
        concat!(
            "agent_id = $1 AND type IN ('DM', 'VOICE_DM') AND id IN ",
            rooms!(),
            " AND ",
            alone!("rooms.id")
        )
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
const WORLDS: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE worlds SET name = remote, metadata = json_remove(metadata, '$.username') WHERE ",
        direct_worlds!()
    ),
    postgres: concat!(
        "UPDATE worlds SET name = remote, metadata = metadata - 'username' WHERE ",
        direct_worlds!()
    ),
};
const ROOMS: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE rooms SET name = remote, metadata = json_remove(metadata, '$.username') WHERE ",
        direct!()
    ),
    postgres: concat!(
        "UPDATE rooms SET name = remote, metadata = metadata - 'username' WHERE ",
        direct!()
    ),
};

/// Ids of what a person wrote and what the agent answered them, but for messages that wait: these are
/// skipped by the change that forgets the person. Answers go before what they answer, and those that
/// are found by another answer go first: without it they would not be found again if the process ends
/// in between. Then the newest first: what replaced a fact goes before the fact, as if all went at
/// once.
macro_rules! memories_of_person {
    ($forgotten:expr) => {
        concat!(
            "SELECT m.id FROM ",
            $forgotten,
            " f JOIN memories m ON m.id = f.id WHERE m.id NOT IN (SELECT id FROM inbox WHERE entity_id = $2 AND agent_id = $1 AND state = 'new') \
             ORDER BY f.place, m.created_at DESC, m.seq DESC"
        )
    };
}
pub(crate) const MEMORIES: Dialects = Dialects {
    sqlite: memories_of_person!(forgotten!(sqlite)),
    postgres: memories_of_person!(forgotten!(postgres)),
};
/// These and what was made from them.
const SOME_DOOMED: Dialects = Dialects {
    sqlite: doom!(concat!(
        "SELECT id FROM memories WHERE id IN (SELECT unhex(value) FROM json_each($2)) AND ",
        no_index!("agent_id"),
        " = $1"
    )),
    postgres: doom!("SELECT id FROM memories WHERE id = ANY ($2) AND agent_id = $1"),
};
/// Answers in the turns of these messages that have no memory.
const SOME_UNREMEMBERED: Dialects = Dialects {
    sqlite: "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') \
             AND turn_id IN (SELECT turn_id FROM inbox WHERE id IN (SELECT unhex(value) FROM json_each($2)) AND agent_id = $1 AND turn_id IS NOT NULL)",
    postgres: "UPDATE outbox SET body = 'null' WHERE agent_id = $1 AND state NOT IN ('pending', 'sending') \
               AND turn_id = ANY (ARRAY(SELECT turn_id FROM inbox WHERE id = ANY ($2) AND agent_id = $1 AND turn_id IS NOT NULL))",
};
const SOME_INBOX: Dialects = Dialects {
    sqlite: "UPDATE inbox SET envelope = json_remove(envelope, '$.command', '$.pressed', '$.userName', '$.entityRemote') \
             WHERE id IN (SELECT unhex(value) FROM json_each($2)) AND agent_id = $1 AND state <> 'new'",
    postgres: "UPDATE inbox SET envelope = envelope - 'command' - 'pressed' - 'userName' - 'entityRemote' WHERE id = ANY ($2) AND agent_id = $1 AND state <> 'new'",
};

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] = crate::dialect::listed![
    DOOMED,
    SENT,
    UNREMEMBERED,
    UNSENT,
    UNREMEMBERED_UNSENT,
    INBOX,
    TASKS,
    GRANTS,
    NAMES,
    APPROVED,
    TIES,
    HELD,
    WORLDS,
    ROOMS,
    SOME_DOOMED,
    SOME_UNREMEMBERED,
    SOME_INBOX,
];

/// Adds the removal of all that a person wrote. The inbox rows come last but for the names: they
/// name the turns that answered the person.
pub(crate) fn push(
    change: &mut Change,
    agent: AgentId,
    turn: TurnId,
    entity: EntityId,
    at: Timestamp,
) -> Result<()> {
    let values = values![agent.0, entity.0, at.0];
    let with = |step: Dialects| step.with(values.clone());
    // What is beside the messages goes first: it is found by them.
    let mut statements: Vec<Statement> = [TIES, HELD, WORLDS, ROOMS, DOOMED].map(with).into();
    statements.push(deleted::NOTE.with(values![]));
    statements.extend(neighbour::forget_words());
    statements.extend(doomed::unindex());
    // What was sent first: what is not sent any more is empty already.
    statements.extend([SENT, UNREMEMBERED, UNSENT].map(with));
    statements.push(UNREMEMBERED_UNSENT.with(values![agent.0, entity.0, turn.0]));
    statements.extend(doomed::remove(None));
    statements.extend(crate::index::keep());
    statements.extend([INBOX, GRANTS].map(with));
    let named = format!("%\"person\":%{entity}%");
    statements.push(TASKS.with(values![agent.0, entity.0, named]));
    // Found by the id among the names.
    statements.extend(channel::forget().map(|step| step.with(values![agent.0, entity.0])));
    statements.push(with(NAMES));
    statements.push(APPROVED.with(values![agent.0, format!("pairing:approved:{entity}")]));
    statements.push(relationship::UNLINK.with(values![agent.0, entity.0]));
    statements.extend(trace::forget(agent, at));
    statements.push(record::BLANK.with(values![]));
    change.scrub = true;
    change.changed = true;
    change.push(Write::Other { statements, counted: None }).map(drop)
}

/// Adds the names of a person in the Rooms in which they wrote, and their relationships.
fn push_places(change: &mut Change, agent: AgentId, entity: EntityId) -> Result<()> {
    let with = |step: Dialects| step.with(values![agent.0, entity.0]);
    let statements = [JOINED, TIES, HELD, WORLDS, ROOMS].map(with).into();
    change.push(Write::Other { statements, counted: None }).map(drop)
}

/// Adds the removal of some memories of a person, or of answers to them.
fn push_some(change: &mut Change, agent: AgentId, ids: &[MemoryId]) -> Result<()> {
    let listed = || Value::Ids(ids.iter().map(|id| id.0).collect());
    let with = |step: Dialects| {
        let mut values = values![agent.0];
        values.push(listed());
        step.with(values)
    };
    let mut statements = vec![with(SOME_DOOMED), deleted::NOTE.with(values![])];
    statements.extend(neighbour::forget_words());
    statements.extend(doomed::unindex());
    statements.extend([SENT, UNSENT].map(|step| step.with(values![agent.0])));
    statements.extend([SOME_UNREMEMBERED, SOME_INBOX].map(with));
    statements.extend(doomed::remove(None));
    statements.extend(crate::index::keep());
    change.scrub = true;
    change.changed = true;
    change.push(Write::Other { statements, counted: None }).map(drop)
}

#[async_trait]
impl ForgetStore for Database {
    async fn deleted(&self, ids: &[MemoryId]) -> Result<Vec<MemoryId>> {
        let ids = Value::Ids(ids.iter().map(|id| id.0).collect());
        let rows: Vec<(Uuid,)> = self.all(deleted::GONE.with(vec![ids])).await?;
        Ok(rows.into_iter().map(|(id,)| MemoryId(id)).collect())
    }

    async fn forget_ahead(&self, agent: AgentId, entity: EntityId) -> Result<u64> {
        let listed: Vec<(Uuid,)> = self.all(MEMORIES.with(values![agent.0, entity.0])).await?;
        if listed.len() <= STEP {
            return Ok(0);
        }
        // What is found by the messages goes before them.
        let mut change = Change::default();
        push_places(&mut change, agent, entity)?;
        self.write(change).await?;
        let ids: Vec<MemoryId> = listed.into_iter().map(|(id,)| MemoryId(id)).collect();
        for some in ids.chunks(STEP) {
            kill_point("forget.some");
            let mut change = Change::default();
            push_some(&mut change, agent, some)?;
            self.write(change).await?;
        }
        Ok(u64::try_from(ids.len()).unwrap_or(u64::MAX))
    }
}
