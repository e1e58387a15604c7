//! Ids of memories that were deleted on purpose, so that an import does not bring them back.

use crate::dialect::Dialects;

/// Notes the doomed of a change. Documents are added again by their files, under the same ids.
pub(crate) const NOTE: Dialects = Dialects::same(
    "INSERT INTO deleted (id) SELECT m.id FROM memories m WHERE m.id IN (SELECT id FROM doomed) AND m.type NOT IN ('documents', 'fragments') \
     ON CONFLICT DO NOTHING",
);
/// Those of some ids that were deleted and are not stored again. Messages that were deleted before there
/// was a note of it have an inbox row still.
macro_rules! gone {
    ($ids:literal) => {
        concat!(
            "SELECT g.id FROM (SELECT d.id FROM deleted d WHERE d.id ",
            $ids,
            " UNION SELECT i.id FROM inbox i WHERE i.id ",
            $ids,
            ") g WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = g.id)"
        )
    };
}
pub(crate) const GONE: Dialects = Dialects {
    sqlite: gone!("IN (SELECT unhex(value) FROM json_each($1))"),
    postgres: gone!("= ANY ($1)"),
};
