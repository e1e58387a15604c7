//! Which memories go with a person: what they wrote, what the agent answered them, and what the agent
//! said in their direct Rooms.

use crate::dialect::Dialects;

/// Whether only a person ($2) and the agent ($1) take part in a Room.
macro_rules! alone {
    ($room:literal) => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM participants p WHERE p.room_id = ",
            $room,
            " AND p.entity_id NOT IN ($1, $2))"
        )
    };
}
pub(crate) use alone;

/// The text of a field of a JSON column in PostgreSQL. JSON with U+0000 cannot be looked into: there
/// it is the first field of this name at any depth.
macro_rules! text_of {
    ($column:literal, $field:literal) => {
        concat!(
            "CASE WHEN position('\\u0000' IN ",
            $column,
            "::text) = 0 THEN ",
            $column,
            " ->> '",
            $field,
            "' ELSE substring(",
            $column,
            "::text FROM '\"",
            $field,
            "\":[[:space:]]*\"([^\"]*)\"') END"
        )
    };
}
pub(crate) use text_of;

/// The memories of a person ($2) of an agent ($1), each with its place in the order in which they go.
///
/// Answers are found in four ways: by their turn, which the person's inbox rows name; by the message
/// of the person that they name (`inReplyTo`); by the turn of such an answer, since results of actions
/// and messages for other Rooms name no message; and by the Room in which the person and the agent are
/// alone. A direct Room may have several people (Discord's group DMs): there the answers to the others
/// stay. Imported memories have no inbox rows. These rows stay, as with a deleted message: by them a
/// replayed message is recognised, and the audit counts every message. Documents of a direct Room are
/// the operator's.
macro_rules! forgotten {
    (sqlite) => {
        crate::forgotten::forgotten!(
            "m.metadata ->> '$.turn'",
            "unhex(replace(m.content ->> '$.inReplyTo', '-', ''))",
            "replace(mine.turn, '-', '')",
            "lower(hex(turn_id))"
        )
    };
    (postgres) => {
        crate::forgotten::forgotten!(
            crate::forgotten::text_of!("m.metadata", "turn"),
            // The cast to a UUID fails on other text, so a malformed id counts as none.
            concat!(
                "CASE WHEN m.content::text LIKE '%\"inReplyTo\"%' THEN substring(",
                crate::forgotten::text_of!("m.content", "inReplyTo"),
                " FROM '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$')::uuid END"
            ),
            "mine.turn",
            "turn_id::text"
        )
    };
    // Whom an answer answers is looked up row by row, and results of actions are few: no plan depends
    // on how many messages the server takes a person to have.
    ($turn:expr, $question:expr, $own_turn:literal, $inbox_turn:literal) => {
        concat!(
            "(WITH said (id, room_id, type) AS (SELECT id, room_id, type FROM memories WHERE entity_id = $2 AND agent_id = $1), \
             own (id, room_id, type, turn, answers) AS MATERIALIZED (SELECT m.id, m.room_id, m.type, ",
            $turn,
            ", coalesce((SELECT q.entity_id FROM memories q WHERE q.id = ",
            $question,
            ") = $2, false) FROM memories m WHERE m.entity_id = $1 AND m.agent_id = $1), \
             direct (id) AS (SELECT r.id FROM (SELECT DISTINCT room_id FROM own) d JOIN rooms r ON r.id = d.room_id \
               WHERE r.type IN ('DM', 'VOICE_DM', 'API') \
               AND (EXISTS (SELECT 1 FROM participants p WHERE p.room_id = r.id AND p.entity_id = $2) \
                 OR r.id IN (SELECT room_id FROM said WHERE type = 'messages')) \
               AND ", crate::forgotten::alone!("r.id"), ") \
             SELECT id, 2 AS place FROM said WHERE $1 <> $2 \
             UNION ALL SELECT mine.id, CASE WHEN mine.answers THEN 1 ELSE 0 END FROM own mine WHERE mine.answers \
               OR mine.turn IN (SELECT a.turn FROM own a WHERE a.answers) \
               OR (mine.type NOT IN ('documents', 'fragments') AND mine.room_id IN (SELECT id FROM direct)) \
               OR ",
            $own_turn,
            " IN (SELECT ",
            $inbox_turn,
            " FROM inbox WHERE entity_id = $2 AND agent_id = $1 AND turn_id IS NOT NULL))"
        )
    };
}
pub(crate) use forgotten;

/// Makes a person a participant of the direct Rooms in which they wrote: what the agent said there is
/// found by it when the messages are gone already.
pub(crate) const JOINED: Dialects = Dialects::same(
    "INSERT INTO participants (room_id, entity_id) SELECT r.id, $2 FROM rooms r \
     WHERE r.id IN (SELECT room_id FROM memories WHERE entity_id = $2 AND agent_id = $1 AND type = 'messages') \
     AND r.type IN ('DM', 'VOICE_DM', 'API') ON CONFLICT DO NOTHING",
);

#[cfg(test)]
pub(crate) const WRITES: &[crate::dialect::Listed] = crate::dialect::listed![JOINED];
