//! Cursors: how far a stream of a platform has been read.

use galatea_core::{Account, AgentId, Cursor, Result, Source};
use serde::Serialize;
use uuid::Uuid;

use crate::{
    apply::Step,
    change::{Change, uuid},
};

pub(crate) const STEPS: &[Step] = &[(
    "cursor",
    "INSERT INTO cursors (agent_id, source, account, stream, position) VALUES (
        (b ->> 'agent')::uuid, b ->> 'source', b ->> 'account', b ->> 'stream', b ->> 'position')
     ON CONFLICT (agent_id, source, account, stream) DO UPDATE SET position = excluded.position;",
)];

pub(crate) const CURSOR: &str = "SELECT position FROM cursors WHERE agent_id = $1 AND source = $2 AND account = $3 AND stream = $4";

#[derive(Serialize)]
struct CursorRow<'a> {
    agent: Uuid,
    source: &'a str,
    account: &'a str,
    stream: &'a str,
    position: &'a str,
}

/// Adds a cursor to a change.
pub(crate) fn push(change: &mut Change, (agent, source, account, cursor): &(AgentId, Source, Account, Cursor)) -> Result<()> {
    let row = CursorRow { agent: uuid(*agent), source: source.as_str(), account: &account.0, stream: &cursor.stream, position: &cursor.position };
    change.push("cursor", &row)
}
