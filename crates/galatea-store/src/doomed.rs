//! What goes with a memory: derived memories whose source is deleted, forgotten or rewritten. A
//! change collects them in the table `doomed`, removes them, and empties the table.

use crate::{
    deleted,
    dialect::{Dialects, Statement, Value, values},
    index::{reindex_terms, unindex_terms},
    neighbour,
};

/// Everything made from the memories of a base, step by step. A fact, or what else is named, stays as
/// long as another memory backs it. A fact that was made from facts goes with each of its sources,
/// since each of them says a part of it. What backs it is looked up as a value: for EXISTS PostgreSQL
/// may read all sources and memories first.
macro_rules! doom {
    ($base:expr) => {
        crate::doomed::doom!($base, "'facts'")
    };
    ($base:expr, $backed:literal) => {
        concat!(
            "INSERT INTO doomed (id) WITH RECURSIVE base (id) AS (", $base, "), gone (id) AS (SELECT id FROM base \
             UNION SELECT s.memory_id FROM gone g JOIN memory_sources s ON s.source_id = g.id \
             WHERE (SELECT m.type FROM memories m WHERE m.id = s.memory_id) NOT IN (", $backed, ") \
                OR ((SELECT m.type FROM memories m WHERE m.id = s.memory_id) = 'facts' \
                AND (SELECT true FROM memory_sources o JOIN memories b ON b.id = o.source_id WHERE o.memory_id = s.memory_id AND b.type = 'facts' LIMIT 1)) \
                OR (SELECT true FROM memory_sources o JOIN memories b ON b.id = o.source_id \
                WHERE o.memory_id = s.memory_id AND o.source_id <> g.id AND o.source_id NOT IN (SELECT id FROM base) LIMIT 1) IS NULL) \
             SELECT id FROM gone"
        )
    };
}
pub(crate) use doom;

/// One memory and what was made from it.
pub(crate) const ONE: Dialects =
    Dialects::same(doom!("SELECT id FROM memories WHERE id = $1 AND agent_id = $2"));
/// One memory whose retention period has ended, and the memories derived from it. A summary is kept
/// while another of its source messages, or a previous summary, exists.
pub(crate) const EXPIRED: Dialects = Dialects::same(doom!(
    "SELECT id FROM memories WHERE id = $1 AND agent_id = $2",
    "'facts', 'summaries'"
));
/// One memory and what was made from it, if its text becomes another one ($3). U+0000 cannot be compared
/// in PostgreSQL.
pub(crate) const REWRITTEN: Dialects = Dialects {
    sqlite: doom!(
        "SELECT id FROM memories WHERE id = $1 AND agent_id = $2 AND coalesce(content ->> '$.text', '') <> $3"
    ),
    postgres: doom!(
        "SELECT id FROM memories WHERE id = $1 AND agent_id = $2 \
         AND CASE WHEN content::text LIKE '%\\u0000%' THEN true ELSE coalesce(content ->> 'text', '') <> $3 END"
    ),
};

const UNINDEX_TERMS: Dialects =
    Dialects { sqlite: unindex_terms!("m.id IN (SELECT id FROM doomed)"), postgres: "" };

// What a removed row had superseded is true again. If it goes too, it is out of the index already
// and must not get into it again: no row would be left to take its words out.
macro_rules! superseded {
    () => {
        "m.superseded_by IN (SELECT id FROM doomed) AND m.id NOT IN (SELECT id FROM doomed)"
    };
}
const UNINDEX_SUPERSEDED: Dialects =
    Dialects { sqlite: unindex_terms!(superseded!()), postgres: "" };
/// The doomed that held, and those that these had replaced, and so on. What a doomed row had replaced
/// is not true again if that row was replaced itself by one that stays.
macro_rules! restored {
    () => {
        "WITH RECURSIVE held (id) AS (SELECT x.id FROM doomed x WHERE (SELECT b.valid_until IS NULL FROM memories b WHERE b.id = x.id) \
         UNION SELECT y.id FROM held h JOIN memories y ON y.superseded_by = h.id WHERE y.id IN (SELECT id FROM doomed)) SELECT id FROM held"
    };
}
const RESTORE: Dialects = Dialects {
    sqlite: concat!(
        "UPDATE memories SET valid_until = NULL WHERE superseded_by IN (",
        restored!(),
        ")"
    ),
    postgres: concat!(
        "UPDATE memories SET valid_until = NULL, superseded_by = NULL, words = ts_delete(words, ",
        crate::index::place!("valid_until"),
        ") || to_tsvector('simple', ",
        crate::index::place!("NULL"),
        ") WHERE superseded_by = ANY (ARRAY(",
        restored!(),
        "))"
    ),
};
const REINDEX_SUPERSEDED: Dialects =
    Dialects { sqlite: reindex_terms!(superseded!()), postgres: "" };
const UNLINK: Dialects = Dialects {
    sqlite: "UPDATE memories SET superseded_by = NULL WHERE superseded_by IN (SELECT id FROM doomed)",
    postgres: "UPDATE memories SET superseded_by = NULL WHERE superseded_by = ANY (ARRAY(SELECT id FROM doomed))",
};

const REMOVE: Dialects = Dialects {
    sqlite: "DELETE FROM memories WHERE id IN (SELECT id FROM doomed)",
    postgres: "DELETE FROM memories WHERE id = ANY (ARRAY(SELECT id FROM doomed))",
};
const REMOVE_OTHERS: Dialects = Dialects {
    sqlite: "DELETE FROM memories WHERE id IN (SELECT id FROM doomed) AND id <> $1",
    postgres: "DELETE FROM memories WHERE id = ANY (ARRAY(SELECT id FROM doomed)) AND id <> $1::uuid",
};
/// A fact that another memory backs no longer names the one that went.
const UNSOURCE: Dialects = Dialects {
    sqlite: "DELETE FROM memory_sources WHERE source_id IN (SELECT id FROM doomed)",
    postgres: "DELETE FROM memory_sources WHERE source_id = ANY (ARRAY(SELECT id FROM doomed))",
};
/// It is only rewritten.
const SPARE: Dialects = Dialects::same("DELETE FROM doomed WHERE id = $1");
const EMPTY: Dialects = Dialects::same("DELETE FROM doomed");

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] = crate::dialect::listed![
    ONE,
    EXPIRED,
    REWRITTEN,
    UNINDEX_TERMS,
    UNINDEX_SUPERSEDED,
    RESTORE,
    REINDEX_SUPERSEDED,
    UNLINK,
    REMOVE,
    REMOVE_OTHERS,
    UNSOURCE,
    SPARE,
    EMPTY,
];

/// Takes the doomed out of the indexes, and makes true again what they superseded.
pub(crate) fn unindex() -> impl Iterator<Item = Statement> {
    [UNINDEX_TERMS, UNINDEX_SUPERSEDED, RESTORE, REINDEX_SUPERSEDED, UNLINK]
        .into_iter()
        .map(|step| step.with(values![]))
}

/// Removes the doomed, but for the one that another statement removes and counts, and forgets the
/// list.
pub(crate) fn remove(but: Option<uuid::Uuid>) -> impl Iterator<Item = Statement> {
    let rows = match but {
        None => REMOVE.with(values![]),
        Some(id) => REMOVE_OTHERS.with(vec![Value::from(id)]),
    };
    [rows, UNSOURCE.with(values![]), EMPTY.with(values![])].into_iter()
}

/// Removes what was made from a memory whose text is about to be replaced, and embeddings with words
/// of it. An import of an export from before does not bring it back.
pub(crate) fn rewrite(
    id: uuid::Uuid,
    agent: uuid::Uuid,
    text: &str,
) -> impl Iterator<Item = Statement> {
    let spare = [UNSOURCE.with(values![]), SPARE.with(values![id]), deleted::NOTE.with(values![])];
    std::iter::once(REWRITTEN.with(values![id, agent, text]))
        .chain(neighbour::forget_words())
        .chain(spare)
        .chain(unindex())
        .chain(remove(None))
}
