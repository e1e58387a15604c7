//! The index of terms, kept with its rows. SQLite's full-text index needs the old terms before they
//! go, and only if it has them. PostgreSQL keeps terms in the row (`words`).

use crate::dialect::{Dialects, Statement, values};

/// Of the memories that a condition names: takes their terms out of SQLite's index.
macro_rules! unindex_terms {
    ($which:expr) => {
        concat!(
            "INSERT INTO recall_terms (recall_terms, rowid, terms) SELECT 'delete', t.seq, t.terms \
             FROM memories m JOIN memory_terms t ON t.seq = m.seq WHERE m.seq <= (SELECT seq FROM terms_progress) AND ",
            $which
        )
    };
}

/// The same memories: puts them back.
macro_rules! reindex_terms {
    ($which:expr) => {
        concat!(
            "INSERT INTO recall_terms (rowid, terms) SELECT t.seq, t.terms \
             FROM memories m JOIN memory_terms t ON t.seq = m.seq WHERE m.seq <= (SELECT seq FROM terms_progress) AND ",
            $which
        )
    };
}

/// PostgreSQL: the word for sort and place of a row of `memories` without an alias, as
/// `terms::place` makes it, for the validity given.
macro_rules! place {
    ($valid_until:literal) => {
        concat!(
            "(CASE WHEN ", $valid_until, " IS NULL THEN '' ELSE 'x' END || replace(type, '_', '') || CASE scope \
             WHEN 'room' THEN 'r' || replace(room_id::text, '-', '') WHEN 'world' THEN 'w' || replace(world_id::text, '-', '') \
             WHEN 'agent' THEN 'a' || replace(agent_id::text, '-', '') ELSE 'p' || replace(entity_id::text, '-', '') END)"
        )
    };
}

pub(crate) use {place, reindex_terms, unindex_terms};

/// Numbers of deleted rows are given again, so the index of terms is not ahead of them.
pub(crate) const KEEP_TERMS: Dialects = Dialects {
    sqlite: "UPDATE terms_progress SET seq = min(seq, coalesce((SELECT max(seq) FROM memories), 0))",
    postgres: "",
};
/// The same for what waits for an embedding.
pub(crate) const KEEP_MARKS: Dialects = Dialects {
    sqlite: "UPDATE embedding_marks SET seq = min(seq, coalesce((SELECT max(seq) FROM memories), 0))",
    postgres: "",
};

/// What may be behind after rows were deleted.
pub(crate) fn keep() -> impl Iterator<Item = Statement> {
    [KEEP_TERMS, KEEP_MARKS].into_iter().map(|step| step.with(values![]))
}
