//! How far a stream of a platform has been read.

use crate::dialect::Dialects;

pub(crate) const CURSOR: Dialects = Dialects::same(
    "SELECT position FROM cursors WHERE agent_id = $1 AND source = $2 AND account = $3 AND stream = $4",
);
