//! Messages beside messages. The embedding of a message has words of the message before it
//! (`fusion::embedded_text`), so it goes with that message, too.

use crate::dialect::{Dialects, Statement, values};

// One range of an index in PostgreSQL. In SQLite messages of the same time have a condition of their
// own: with one condition on time and number it reads all messages of that time, and platforms with
// whole seconds have many.
/// The message before (`<`, `DESC`) or after (`>`, `ASC`) the message `m` in its Room.
macro_rules! beside {
    (sqlite, $comparison:literal, $order:literal) => {
        concat!(
            "coalesce((SELECT b.seq FROM memories b WHERE b.room_id = m.room_id AND b.type = 'messages' AND ",
            crate::plan::no_index!("b.agent_id"), " = m.agent_id AND b.created_at = m.created_at AND b.seq ", $comparison,
            " m.seq ORDER BY b.seq ", $order, " LIMIT 1), \
             (SELECT b.seq FROM memories b WHERE b.room_id = m.room_id AND b.type = 'messages' AND ",
            crate::plan::no_index!("b.agent_id"), " = m.agent_id AND b.created_at ", $comparison,
            " m.created_at ORDER BY b.created_at ", $order, ", b.seq ", $order, " LIMIT 1))"
        )
    };
    (postgres, $comparison:literal, $order:literal) => {
        concat!(
            "(SELECT b.seq FROM memories b WHERE b.room_id = m.room_id AND b.type = 'messages' AND b.agent_id = m.agent_id \
             AND (b.created_at, b.seq) ", $comparison, " (m.created_at, m.seq) ORDER BY b.created_at ", $order, ", b.seq ", $order, " LIMIT 1)"
        )
    };
}
pub(crate) use beside;

// Messages whose embeddings have words of the doomed: those that were embedded with one of them, and
// those that come after one of them now. The first are exact, since a message with an older time
// may have come between the two meanwhile. The second stand for rows of versions that did not store
// with what they embedded. The difference is a set operation, because the planner knows nothing of
// the size of `doomed`.
macro_rules! followers {
    (sqlite) => {
        concat!(
            "(SELECT ", beside!(sqlite, ">", "ASC"),
            " FROM memories m WHERE m.id IN (SELECT id FROM doomed) AND m.type = 'messages' \
             UNION SELECT e.seq FROM embeddings e WHERE e.before_seq IN (SELECT m.seq FROM memories m WHERE m.id IN (SELECT id FROM doomed)) \
             EXCEPT SELECT m.seq FROM memories m WHERE m.id IN (SELECT id FROM doomed))"
        )
    };
    (postgres) => {
        concat!(
            "(ARRAY(SELECT ", beside!(postgres, ">", "ASC"),
            " FROM memories m WHERE m.id = ANY (ARRAY(SELECT id FROM doomed)) AND m.type = 'messages' \
             UNION SELECT e.seq FROM embeddings e WHERE e.before_seq = ANY (ARRAY( \
                SELECT m.seq FROM memories m WHERE m.id = ANY (ARRAY(SELECT id FROM doomed)))) \
             EXCEPT SELECT m.seq FROM memories m WHERE m.id = ANY (ARRAY(SELECT id FROM doomed))))"
        )
    };
}
/// A process that stores an embedding with words of the doomed does so before or after
/// (`embedding::SAVE`).
const LOCK: Dialects = Dialects {
    sqlite: "",
    postgres: "SELECT count(*) FROM (SELECT id FROM memories WHERE id = ANY (ARRAY(SELECT id FROM doomed)) FOR UPDATE) locked",
};
macro_rules! again {
    ($which:expr, $has_text:literal) => {
        concat!(
            "INSERT INTO embedding_due (seq, agent_id, type, claimed_until) SELECT m.seq, m.agent_id, m.type, 0 FROM memories m WHERE m.seq ",
            $which, " AND ", $has_text,
            " AND (EXISTS (SELECT 1 FROM embedding_marks k WHERE k.agent_id = m.agent_id AND k.seq >= m.seq) \
             OR EXISTS (SELECT 1 FROM embedding_due d WHERE d.seq = m.seq)) \
             ON CONFLICT (seq) DO UPDATE SET claimed_until = 0"
        )
    };
}
/// If the queue has come to them, they wait again, even those that a process has claimed or that
/// the model refused: their embedded text changes.
const AGAIN: Dialects = Dialects {
    sqlite: again!(
        concat!("IN ", followers!(sqlite)),
        "coalesce(m.content ->> '$.text', '') <> ''"
    ),
    postgres: again!(
        concat!("= ANY ", followers!(postgres)),
        "CASE WHEN m.content::text LIKE '%\\u0000%' THEN true ELSE coalesce(m.content ->> 'text', '') <> '' END"
    ),
};
const FORGET: Dialects = Dialects {
    sqlite: concat!("DELETE FROM embeddings WHERE seq IN ", followers!(sqlite)),
    postgres: concat!("DELETE FROM embeddings WHERE seq = ANY ", followers!(postgres)),
};

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] = crate::dialect::listed![LOCK, AGAIN, FORGET];

/// Removes the embeddings of messages that have words of the doomed, so that they are made again
/// without these. Called while the doomed are still there.
pub(crate) fn forget_words() -> impl Iterator<Item = Statement> {
    [LOCK, AGAIN, FORGET].into_iter().map(|step| step.with(values![]))
}
