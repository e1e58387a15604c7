//! What waits for an embedding: a queue that is filled behind the messages. A mark for each model
//! says up to where the store has looked, so no search for what is missing reads everything.

use galatea_core::{
    AgentId, MemoryId, MemoryKind, Result,
    store::{EmbeddingClaim, OlderEmbeddings, Unembedded},
};
use std::time::{Duration, Instant};
use uuid::Uuid;

use crate::{
    Backend, Database,
    change::{Change, Write},
    dialect::{Dialects, Statement, Value, values},
};

/// Memories looked at in one commit: some 10 ms, so that messages are not held up.
const STEP: u32 = 2_000;
/// Steps in one claim. A large backlog fills the queue bit by bit.
const STEPS: usize = 4;
/// Older models of one search: each costs a call.
const MOST_OLDER: usize = 2;
/// How far PostgreSQL looks back behind the mark: a row of a slower process may be committed after
/// later ones.
const BACK: u32 = 500;
/// For how long after the mark moved it does so: longer than a write may last. A silent agent then
/// writes nothing.
const LATE: Duration = Duration::from_secs(120);

macro_rules! mark {
    () => {
        "coalesce((SELECT k.seq FROM embedding_marks k WHERE k.agent_id = $1 AND k.model = $2), 0)"
    };
}
macro_rules! looked_at {
    ($columns:literal) => {
        concat!(
            "(SELECT ",
            $columns,
            " FROM memories m WHERE m.seq > ",
            mark!(),
            " - $3 ORDER BY m.seq LIMIT +$4)"
        )
    };
}
macro_rules! enqueue {
    ($has_text:literal) => {
        concat!(
            "INSERT INTO embedding_due (seq, agent_id, type, claimed_until) SELECT n.seq, n.agent_id, n.type, 0 FROM ",
            looked_at!("m.seq, m.agent_id, m.type, m.content"),
            " n WHERE n.agent_id = $1 AND n.type <> 'action_result' AND ", $has_text,
            // A value is looked up for each row; for NOT EXISTS PostgreSQL reads all embeddings.
            " AND (SELECT true FROM embeddings e WHERE e.seq = n.seq AND e.model = $2 AND e.owner IS NOT NULL) IS NULL \
             ON CONFLICT (seq) DO UPDATE SET claimed_until = 0 WHERE embedding_due.claimed_until = 9223372036854775807 AND excluded.seq > ",
            mark!()
        )
    };
}
pub(crate) const ENQUEUE: Dialects = Dialects {
    sqlite: enqueue!("coalesce(n.content ->> '$.text', '') <> ''"),
    postgres: enqueue!(
        "CASE WHEN n.content::text LIKE '%\\u0000%' THEN true ELSE coalesce(n.content ->> 'text', '') <> '' END"
    ),
};
macro_rules! move_mark {
    ($cast:literal, $greater:literal) => {
        concat!(
            "INSERT INTO embedding_marks (agent_id, model, seq) SELECT $1",
            $cast,
            ", $2, coalesce(max(n.seq), 0) FROM ",
            looked_at!("m.seq"),
            " n WHERE true ON CONFLICT (agent_id, model) DO UPDATE SET seq = ",
            $greater,
            "(embedding_marks.seq, excluded.seq)"
        )
    };
}
pub(crate) const MARK: Dialects =
    Dialects { sqlite: move_mark!("", "max"), postgres: move_mark!("::uuid", "greatest") };
pub(crate) const BEHIND: Dialects =
    Dialects::same(concat!("SELECT coalesce((SELECT max(seq) FROM memories), 0) > ", mark!()));

pub(crate) const WAITING: Dialects = Dialects {
    sqlite: "SELECT seq FROM embedding_due WHERE agent_id = $1 AND type IN (SELECT value FROM json_each($2)) \
             AND claimed_until <= $3 AND claimed_until < 9223372036854775807 ORDER BY seq DESC LIMIT +$4",
    postgres: "",
};
pub(crate) const CLAIM: Dialects = Dialects {
    sqlite: "UPDATE embedding_due SET claimed_until = $2 WHERE seq IN (SELECT value FROM json_each($1))",
    // Other processes take other rows.
    postgres: "UPDATE embedding_due SET claimed_until = $5 WHERE seq = ANY (ARRAY(SELECT d.seq FROM embedding_due d WHERE d.agent_id = $1 AND d.type = ANY ($2) \
               AND d.claimed_until <= $3 AND d.claimed_until < 9223372036854775807 ORDER BY d.seq DESC LIMIT $4 FOR UPDATE SKIP LOCKED)) RETURNING seq",
};
/// Its embedding is stored.
pub(crate) const DONE: Dialects = Dialects::same(
    "DELETE FROM embedding_due WHERE seq = (SELECT m.seq FROM memories m JOIN embeddings e ON e.seq = m.seq \
     WHERE m.id = $1 AND m.agent_id = $2 AND e.model = $3)",
);
/// What this model embeds is missing for the models before it: if one of them is used again, it
/// begins from the first memory.
pub(crate) const FORGET_MARKS: Dialects =
    Dialects::same("DELETE FROM embedding_marks WHERE agent_id = $1 AND model <> $2");
/// The models whose embeddings wait to be replaced: those of memories in the queue, and of memories
/// that the store has not looked at for this model. Rows are looked up as values: for a join
/// PostgreSQL may read all embeddings first.
macro_rules! older {
    ($sorts:literal) => {
        concat!(
            "SELECT o.model, CAST(o.width AS BIGINT) AS width FROM (SELECT (SELECT e.model FROM embeddings e WHERE e.seq = n.seq) AS model, \
             (SELECT e.width FROM embeddings e WHERE e.seq = n.seq) AS width FROM (SELECT * FROM (SELECT s.seq FROM embeddings s WHERE s.seq > ",
            mark!(),
            " ORDER BY s.seq LIMIT +$4) x UNION SELECT * FROM (SELECT d.seq FROM embedding_due d WHERE d.agent_id = $1 AND d.type ",
            $sorts,
            " AND d.claimed_until < 9223372036854775807 LIMIT +$4) y) n \
             WHERE (SELECT m.agent_id = $1 AND m.type ",
            $sorts,
            " FROM memories m WHERE m.seq = n.seq)) o \
             WHERE o.model <> $2 GROUP BY o.model, o.width ORDER BY count(*) DESC LIMIT 2"
        )
    };
}
pub(crate) const OLDER: Dialects = Dialects {
    sqlite: older!("IN (SELECT value FROM json_each($3))"),
    postgres: older!("= ANY ($3)"),
};
/// The same of pieces of documents, whose owner is the agent and which no queue has. PostgreSQL reads
/// those first that were written first, which are an older model's while there are any.
macro_rules! older_pieces {
    ($order:literal) => {
        concat!(
            "SELECT o.model, CAST(o.width AS BIGINT) AS width FROM (SELECT e.model, e.width FROM embeddings e \
             WHERE e.owner = $1 AND e.type = 'fragments'",
            $order,
            " LIMIT +$3) o WHERE o.model <> $2 GROUP BY o.model, o.width ORDER BY count(*) DESC LIMIT 2"
        )
    };
}
pub(crate) const OLDER_PIECES: Dialects =
    Dialects { sqlite: older_pieces!(""), postgres: older_pieces!(" ORDER BY e.changed") };
/// The model refuses it. The queue may not have come to it yet; it then offers it once more.
pub(crate) const GIVE_UP: Dialects = Dialects::same(
    "INSERT INTO embedding_due (seq, agent_id, type, claimed_until) SELECT m.seq, m.agent_id, m.type, 9223372036854775807 FROM memories m \
     WHERE m.id = $1 AND m.agent_id = $2 ON CONFLICT (seq) DO UPDATE SET claimed_until = 9223372036854775807",
);
/// Its text was replaced. If the queue has not come to it yet and it was not given up, it will.
pub(crate) const AGAIN: Dialects = Dialects {
    sqlite: "INSERT INTO embedding_due (seq, agent_id, type, claimed_until) SELECT m.seq, m.agent_id, m.type, 0 FROM memories m \
             WHERE m.id = $1 AND m.agent_id = $2 AND m.type <> 'action_result' AND coalesce(m.content ->> '$.text', '') <> '' \
             AND (EXISTS (SELECT 1 FROM embedding_marks k WHERE k.agent_id = $2 AND k.seq >= m.seq) \
             OR EXISTS (SELECT 1 FROM embedding_due d WHERE d.seq = m.seq)) \
             ON CONFLICT (seq) DO UPDATE SET claimed_until = 0",
    postgres: "INSERT INTO embedding_due (seq, agent_id, type, claimed_until) SELECT m.seq, m.agent_id, m.type, 0 FROM memories m \
               WHERE m.id = $1 AND m.agent_id = $2 AND m.type <> 'action_result' \
               AND CASE WHEN m.content::text LIKE '%\\u0000%' THEN true ELSE coalesce(m.content ->> 'text', '') <> '' END \
               AND (EXISTS (SELECT 1 FROM embedding_marks k WHERE k.agent_id = $2 AND k.seq >= m.seq) \
             OR EXISTS (SELECT 1 FROM embedding_due d WHERE d.seq = m.seq)) \
               ON CONFLICT (seq) DO UPDATE SET claimed_until = 0",
};

/// The end of the wait of one memory, in the commit that stores its embedding.
pub(crate) fn done(id: MemoryId, agent: AgentId, model: &str) -> Statement {
    DONE.with(values![id.0, agent.0, model])
}

fn kinds(of: &[MemoryKind]) -> Value {
    const ALL: [MemoryKind; 7] = [
        MemoryKind::Messages,
        MemoryKind::Facts,
        MemoryKind::Documents,
        MemoryKind::Fragments,
        MemoryKind::Summaries,
        MemoryKind::Profiles,
        MemoryKind::Custom,
    ];
    let of = if of.is_empty() { &ALL } else { of };
    Value::Texts(of.iter().map(|kind| kind.as_str().to_owned()).collect())
}

impl Database {
    /// Memories that wait, claimed.
    pub(crate) async fn claim_waiting(&self, claim: &EmbeddingClaim) -> Result<Vec<Unembedded>> {
        let mut seqs = self.take(claim).await?;
        let wanted = usize::try_from(claim.limit).unwrap_or(usize::MAX);
        for _ in 0..STEPS {
            if seqs.len() >= wanted || !self.enqueue(claim.agent, &claim.model).await? {
                break;
            }
            let rest = u32::try_from(wanted - seqs.len()).unwrap_or(u32::MAX);
            let taken = self.take(&EmbeddingClaim { limit: rest, ..claim.clone() }).await?;
            // Those that this very claim took are not given twice.
            seqs.extend(taken);
        }
        seqs.sort_unstable_by_key(|seq| std::cmp::Reverse(*seq));
        seqs.dedup();
        self.unembedded(&seqs).await
    }

    /// Puts the next memories into the queue; false if there was nothing to look at.
    async fn enqueue(&self, agent: AgentId, model: &str) -> Result<bool> {
        let back = match &self.0.backend {
            Backend::Sqlite(_) => 0,
            Backend::Postgres(_) => BACK,
        };
        let behind = self.fetch_one::<(bool,)>(BEHIND.with(values![agent.0, model])).await?;
        let behind = behind.is_some_and(|(behind,)| behind);
        let late = back > 0 && self.may_be_late(agent, model, behind);
        if !behind && !late {
            return Ok(false);
        }
        let values = values![agent.0, model, back, STEP + back];
        let statements = [ENQUEUE, MARK].map(|step| step.with(values.clone())).into();
        let mut change = Change::default();
        change.push(Write::Other { statements, counted: Some(0) })?;
        let found = self.write(change).await?.iter().sum::<u64>() > 0;
        Ok(behind || found)
    }

    /// Whether a slower process may still commit an older row than the last one looked at.
    fn may_be_late(&self, agent: AgentId, model: &str, behind: bool) -> bool {
        let mut marked = self.0.marked.lock();
        let key = (agent, model.to_owned());
        let late = marked.get(&key).is_none_or(|at| at.elapsed() < LATE);
        if behind || !marked.contains_key(&key) {
            marked.insert(key, Instant::now());
        }
        late
    }

    async fn take(&self, claim: &EmbeddingClaim) -> Result<Vec<i64>> {
        let mut values = values![claim.agent.0];
        values.push(kinds(&claim.kinds));
        values.extend(values![claim.now.0, claim.limit]);
        let numbers = |rows: Vec<(i64,)>| rows.into_iter().map(|(seq,)| seq).collect();
        match &self.0.backend {
            Backend::Postgres(_) => {
                values.push(claim.until.0.into());
                Ok(numbers(self.all(CLAIM.with(values)).await?))
            }
            Backend::Sqlite(_) => {
                let seqs: Vec<i64> = numbers(self.all(WAITING.with(values)).await?);
                if !seqs.is_empty() {
                    let taken = vec![Value::Ints(seqs.clone()), claim.until.0.into()];
                    self.write_one(CLAIM.with(taken)).await?;
                }
                Ok(seqs)
            }
        }
    }

    /// Models before this one whose embeddings wait to be replaced.
    pub(crate) async fn older(
        &self,
        agent: AgentId,
        sorts: &[MemoryKind],
        model: &str,
    ) -> Result<Vec<OlderEmbeddings>> {
        let queued: Vec<MemoryKind> =
            sorts.iter().copied().filter(|kind| *kind != MemoryKind::Fragments).collect();
        let mut rows: Vec<(String, i64)> = Vec::new();
        if !queued.is_empty() {
            let mut values = values![agent.0, model];
            values.push(kinds(&queued));
            values.push(STEP.into());
            rows = self.all(OLDER.with(values)).await?;
        }
        if sorts.contains(&MemoryKind::Fragments) {
            rows.extend(
                self.all::<(String, i64)>(OLDER_PIECES.with(values![agent.0, model, STEP])).await?,
            );
        }
        rows.dedup();
        rows.truncate(MOST_OLDER);
        let older = |(model, width)| OlderEmbeddings {
            model,
            width: usize::try_from(width).unwrap_or_default(),
        };
        Ok(rows.into_iter().map(older).collect())
    }

    async fn unembedded(&self, seqs: &[i64]) -> Result<Vec<Unembedded>> {
        let beside = self.beside(seqs).await?;
        let mut all = seqs.to_vec();
        all.extend(beside.values().filter_map(|[before, _]| *before));
        let rows = self.rows_of(&all).await?;
        let memory = |seq: i64| rows.get(&seq).map(|row| row.memory.clone());
        Ok(seqs
            .iter()
            .filter_map(|seq| {
                let before = beside.get(seq).and_then(|[before, _]| *before).and_then(memory);
                Some(Unembedded { memory: memory(*seq)?, before })
            })
            .collect())
    }

    /// Takes memories off the queue.
    pub(crate) async fn give_up(&self, agent: AgentId, ids: &[MemoryId]) -> Result<()> {
        let mut change = Change::default();
        for id in ids {
            let id: Uuid = id.0;
            change.push(Write::statement(GIVE_UP.with(values![id, agent.0])))?;
        }
        self.write(change).await.map(drop)
    }
}
