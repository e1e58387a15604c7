//! A page of memories as one value. The driver copies every column of every row and hands each row
//! over by itself; a conversation of thirty messages, read for every answer, cost more that way
//! than all else together.

use galatea_core::{
    AgentId, EntityId, Memory, MemoryId, MemoryKind, Result, RoomId, Timestamp, WorldId,
};
use uuid::Uuid;

use crate::{convert::from_json, error};

/// Between columns (ASCII unit separator). JSON escapes it (RFC 8259 §7), and nothing else here is
/// free text.
const COLUMN: char = '\u{1f}';
/// Between rows (ASCII record separator).
const ROW: char = '\u{1e}';

const COLUMNS: [&str; 9] = [
    "hex(m.id)",
    "m.type",
    "hex(m.agent_id)",
    "hex(m.entity_id)",
    "hex(m.room_id)",
    "hex(m.world_id)",
    "m.created_at",
    "m.metadata",
    "m.content",
];

/// A memory `m` as one text.
pub(super) fn line() -> String {
    COLUMNS.join(&format!(" || char({}) || ", COLUMN as u8))
}

/// A statement that joins the lines of another one to a page, in their order.
pub(super) fn aggregate(lines: &str) -> String {
    format!("SELECT group_concat(line, char({})) FROM ({lines})", ROW as u8)
}

/// Reads a page.
pub(crate) fn read(page: &str) -> Result<Vec<Memory>> {
    page.split(ROW).filter(|row| !row.is_empty()).map(memory).collect()
}

fn memory(row: &str) -> Result<Memory> {
    let mut columns = row.splitn(COLUMNS.len(), COLUMN);
    let mut next =
        || columns.next().ok_or_else(|| error::unreadable("memory", "a column is missing"));
    let (id, kind, agent, entity, room, world, at) =
        (next()?, next()?, next()?, next()?, next()?, next()?, next()?);
    let (metadata, content) = (next()?, next()?);
    Ok(Memory {
        id: MemoryId(uuid(id)?),
        kind: MemoryKind::from_stored(kind),
        agent_id: AgentId(uuid(agent)?),
        entity_id: EntityId(uuid(entity)?),
        room_id: RoomId(uuid(room)?),
        world_id: if world.is_empty() { None } else { Some(WorldId(uuid(world)?)) },
        content: from_json("memory content", content)?,
        metadata: from_json("memory metadata", metadata)?,
        created_at: Timestamp(at.parse().map_err(|e| error::unreadable("memory time", e))?),
    })
}

fn uuid(hex: &str) -> Result<Uuid> {
    Uuid::try_parse(hex).map_err(|e| error::unreadable("memory id", e))
}
