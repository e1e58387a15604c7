//! Traces of turns. Their steps hold no words of people, their texts may: those are beside them, so that
//! they can go alone.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, MemoryId, Result, RoomId, Timestamp, TurnId,
    store::{PromptBlock, StepTexts, Trace, TraceBounds, TraceStore},
};
use serde_json::json;
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Statement, Value, values},
};

/// Traces deleted in one commit: some milliseconds of the writer.
const STEP: i64 = 500;
/// A turn that began shortly after the time of a deletion may have read what was deleted, by the
/// clock of another process. Texts of turns within this many milliseconds are left out as well.
const MARGIN: i64 = 10_000;
/// Traces of a turn: one, and those of its sends and evaluators. An answer has at most a few parts,
/// each with eight attempts.
const OF_ONE_TURN: i64 = 256;

macro_rules! add {
    ($list:literal, $nil:literal) => {
        concat!(
            "INSERT INTO traces (turn_id, agent_id, room_id, entity_id, at, since, late, bytes, steps, texts) \
             SELECT t.turn, t.agent, t.room, t.person, t.at, t.since, t.late, CASE WHEN t.gone THEN 0 ELSE t.bytes END, t.steps, \
             CASE WHEN t.gone THEN NULL ELSE t.texts END FROM (SELECT l.*, EXISTS (SELECT 1 FROM trace_bounds b WHERE b.agent_id = l.agent \
             AND b.room_id IN (l.room, ", $nil, ") AND b.at >= l.at) AS gone FROM (", $list, ") l) t ORDER BY t.n"
        )
    };
}
/// Adds traces; the texts of those before a bound are left out.
pub(crate) const ADD: Dialects = Dialects {
    sqlite: add!(
        "SELECT key AS n, unhex(value ->> '$.turn') AS turn, unhex(value ->> '$.agent') AS agent, unhex(value ->> '$.room') AS room, \
         unhex(value ->> '$.person') AS person, value ->> '$.at' AS at, value ->> '$.since' AS since, value ->> '$.late' AS late, \
         value ->> '$.bytes' AS bytes, value ->> '$.steps' AS steps, value ->> '$.texts' AS texts FROM json_each($1)",
        "zeroblob(16)"
    ),
    postgres: add!(
        "SELECT n, (e ->> 'turn')::uuid AS turn, (e ->> 'agent')::uuid AS agent, (e ->> 'room')::uuid AS room, (e ->> 'person')::uuid AS person, \
         (e ->> 'at')::bigint AS at, (e ->> 'since')::bigint AS since, (e ->> 'late')::bigint <> 0 AS late, (e ->> 'bytes')::bigint AS bytes, \
         e ->> 'steps' AS steps, e ->> 'texts' AS texts FROM jsonb_array_elements($1) WITH ORDINALITY list (e, n)",
        "'00000000-0000-0000-0000-000000000000'"
    ),
};
macro_rules! trace {
    ($texts:literal, $which:literal) => {
        concat!(
            "SELECT turn_id, agent_id, room_id, entity_id, at, since, late, steps, ",
            $texts,
            " AS texts FROM traces WHERE ",
            $which
        )
    };
}
pub(crate) const OF_TURN: Dialects =
    Dialects::same(trace!("texts", "turn_id = $1 ORDER BY seq LIMIT +$2"));
pub(crate) const OF_TURNS: Dialects = Dialects {
    sqlite: trace!(
        "CAST(NULL AS text)",
        "turn_id IN (SELECT unhex(value) FROM json_each($1)) ORDER BY seq LIMIT +$2"
    ),
    postgres: trace!("CAST(NULL AS text)", "turn_id = ANY ($1) ORDER BY seq LIMIT +$2"),
};
pub(crate) const OF_PERSON: Dialects =
    Dialects::same(trace!("CAST(NULL AS text)", "entity_id = $1 ORDER BY at DESC LIMIT +$2"));

/// The texts of all traces of an agent: its prompts show what it knows of a person, whoever asks.
pub(crate) const BLANK_AGENT: Dialects = Dialects::same(
    "UPDATE traces SET texts = NULL, bytes = 0 WHERE agent_id = $1 AND texts IS NOT NULL",
);
/// And of those that are still to be written.
pub(crate) const BOUND_AGENT: Dialects = Dialects {
    sqlite: "INSERT INTO trace_bounds (agent_id, room_id, at) VALUES ($1, zeroblob(16), $2) \
             ON CONFLICT (agent_id, room_id) DO UPDATE SET at = max(at, excluded.at)",
    postgres: "INSERT INTO trace_bounds (agent_id, room_id, at) VALUES ($1, '00000000-0000-0000-0000-000000000000', $2) \
               ON CONFLICT (agent_id, room_id) DO UPDATE SET at = greatest(trace_bounds.at, excluded.at)",
};
macro_rules! blank_room {
    ($which:literal) => {
        Dialects::same(concat!(
            "UPDATE traces SET texts = NULL, bytes = 0 WHERE room_id = (SELECT m.room_id FROM memories m WHERE m.id = $1 AND m.agent_id = $2) \
             AND texts IS NOT NULL AND ",
            $which
        ))
    };
}
/// The texts of traces in the Room of a memory from its time on: they may show it, or what was made of
/// it. The clocks of platform and machine differ by less than a minute.
pub(crate) const BLANK_ROOM: Dialects =
    blank_room!("at >= (SELECT m.created_at FROM memories m WHERE m.id = $1) - 60000");
/// The texts of traces whose conversation reached back to a memory.
pub(crate) const BLANK_REACHING: Dialects = blank_room!(
    "since <= (SELECT m.created_at FROM memories m WHERE m.id = $1) AND at >= (SELECT m.created_at FROM memories m WHERE m.id = $1) - 60000"
);
/// And of those that are still to be written.
pub(crate) const BOUND_ROOM: Dialects = Dialects {
    sqlite: "INSERT INTO trace_bounds (agent_id, room_id, at) SELECT m.agent_id, m.room_id, $3 FROM memories m WHERE m.id = $1 AND m.agent_id = $2 \
             ON CONFLICT (agent_id, room_id) DO UPDATE SET at = max(at, excluded.at)",
    postgres: "INSERT INTO trace_bounds (agent_id, room_id, at) SELECT m.agent_id, m.room_id, $3 FROM memories m WHERE m.id = $1 AND m.agent_id = $2 \
               ON CONFLICT (agent_id, room_id) DO UPDATE SET at = greatest(trace_bounds.at, excluded.at)",
};
pub(crate) const EXPIRE: Dialects = Dialects::same(
    "DELETE FROM traces WHERE seq IN (SELECT t.seq FROM traces t WHERE t.agent_id = $1 AND t.at < $2 ORDER BY t.at LIMIT +$3)",
);
pub(crate) const EXPIRE_BOUNDS: Dialects =
    Dialects::same("DELETE FROM trace_bounds WHERE agent_id = $1 AND at < $2");
/// The newest text that is too much.
pub(crate) const TOO_MUCH: Dialects = Dialects::same(
    "SELECT max(x.seq) FROM (SELECT t.seq, sum(t.bytes) OVER (ORDER BY t.seq DESC) AS total FROM traces t WHERE t.agent_id = $1 AND t.bytes > 0) x \
     WHERE x.total > $2",
);
pub(crate) const BLANK_OLD: Dialects = Dialects::same(
    "UPDATE traces SET texts = NULL, bytes = 0 WHERE agent_id = $1 AND seq <= $2 AND texts IS NOT NULL",
);

#[derive(FromRow)]
struct Stored {
    turn_id: Uuid,
    agent_id: Uuid,
    room_id: Uuid,
    entity_id: Uuid,
    at: i64,
    since: i64,
    late: bool,
    steps: String,
    texts: Option<String>,
}

impl Stored {
    fn decode(self) -> Result<Trace> {
        Ok(Trace {
            turn: TurnId(self.turn_id),
            agent: AgentId(self.agent_id),
            room: RoomId(self.room_id),
            person: EntityId(self.entity_id),
            at: Timestamp(self.at),
            since: Timestamp(self.since),
            late: self.late,
            steps: from_json("steps of a trace", &self.steps)?,
            texts: self
                .texts
                .as_deref()
                .map(|text| from_json::<Vec<StepTexts>>("texts of a trace", text))
                .transpose()?,
        })
    }
}

impl Database {
    /// Texts with secrets masked, each by itself: a mask over a whole document could break it.
    fn cleaned(&self, texts: &[StepTexts]) -> Vec<StepTexts> {
        let clean = |text: &Option<String>| text.clone().map(|text| self.clean(text));
        let cleaned = |texts: &StepTexts| StepTexts {
            step: texts.step,
            input: clean(&texts.input),
            prompt: texts
                .prompt
                .iter()
                .map(|block| PromptBlock { text: self.clean(block.text.clone()), ..block.clone() })
                .collect(),
            output: clean(&texts.output),
        };
        texts.iter().map(cleaned).collect()
    }
}

/// Blanks all texts of an agent's traces: a person is forgotten at this time.
pub(crate) fn forget(agent: AgentId, at: Timestamp) -> [Statement; 2] {
    let until = at.0.saturating_add(MARGIN);
    [BLANK_AGENT.with(values![agent.0]), BOUND_AGENT.with(values![agent.0, until])]
}

/// Blanks the texts of traces that may show a memory, which is about to be deleted. Of one whose
/// retention period has ended, what was made of it stays, and so do the traces that show only that.
pub(crate) fn forget_memory(
    id: MemoryId,
    agent: AgentId,
    at: Timestamp,
    has_expired: bool,
) -> [Statement; 2] {
    let until = at.0.saturating_add(MARGIN);
    let blank = if has_expired { BLANK_REACHING } else { BLANK_ROOM };
    [blank.with(values![id.0, agent.0]), BOUND_ROOM.with(values![id.0, agent.0, until])]
}

#[async_trait]
impl TraceStore for Database {
    async fn add_traces(&self, traces: &[Trace]) -> Result<()> {
        if traces.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(traces.len());
        for trace in traces {
            let texts =
                trace.texts.as_ref().map(|texts| to_json(&self.cleaned(texts))).transpose()?;
            let mut steps = trace.steps.clone();
            for note in steps.iter_mut().filter_map(|step| step.note.as_mut()) {
                *note = self.clean(std::mem::take(note));
            }
            let id = |id: Uuid| id.simple().to_string();
            rows.push(json!({
                "turn": id(trace.turn.0),
                "agent": id(trace.agent.0),
                "room": id(trace.room.0),
                "person": id(trace.person.0),
                "at": trace.at.0,
                "since": trace.since.0,
                "late": i32::from(trace.late),
                "bytes": texts.as_ref().map_or(0, String::len),
                "steps": to_json(&steps)?,
                "texts": texts,
            }));
        }
        let add = ADD.with(vec![Value::Jsonb(to_json(&rows)?)]);
        let mut change = Change { can_wait: true, ..Change::default() };
        change.push(Write::statement(add))?;
        self.write(change).await.map(drop)
    }

    async fn traces_of(&self, turn: TurnId) -> Result<Vec<Trace>> {
        let rows = self.all::<Stored>(OF_TURN.with(values![turn.0, OF_ONE_TURN])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn trace_steps(&self, turns: &[TurnId]) -> Result<Vec<Trace>> {
        let most = OF_ONE_TURN.saturating_mul(i64::try_from(turns.len()).unwrap_or(i64::MAX));
        let ids = Value::Ids(turns.iter().map(|turn| turn.0).collect());
        let rows = self.all::<Stored>(OF_TURNS.with(vec![ids, most.into()])).await?;
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn traces_of_person(
        &self,
        agent: AgentId,
        person: EntityId,
        limit: u32,
    ) -> Result<Vec<Trace>> {
        // Ids of people are made for one agent, so no rows of others are read.
        let rows = self.all::<Stored>(OF_PERSON.with(values![person.0, limit])).await?;
        let own = rows.into_iter().filter(|row| row.agent_id == agent.0);
        own.map(Stored::decode).collect()
    }

    async fn prune_traces(&self, agent: AgentId, bounds: &TraceBounds) -> Result<u64> {
        let mut gone = 0;
        loop {
            let old = EXPIRE.with(values![agent.0, bounds.before.0, STEP]);
            let some = self.write_one(old).await?;
            gone += some;
            if some < STEP.unsigned_abs() {
                break;
            }
        }
        self.write_one(EXPIRE_BOUNDS.with(values![agent.0, bounds.before.0])).await?;
        let most = i64::try_from(bounds.bytes).unwrap_or(i64::MAX);
        let newest =
            self.fetch_one::<(Option<i64>,)>(TOO_MUCH.with(values![agent.0, most])).await?;
        if let Some((Some(seq),)) = newest {
            self.write_one(BLANK_OLD.with(values![agent.0, seq])).await?;
        }
        Ok(gone)
    }
}
