//! A change: rows of one JSON array that the [`crate::apply`] triggers carry out, written by the caller's task, not by the writer.

use galatea_core::{Error, Memory, MemoryKind, Result};
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::recent::CHANGING;

/// Largest change in bytes. SQLite takes at most 10^9 bytes in one value (<https://www.sqlite.org/limits.html>); a group of
/// changes is one value, so a single change stays well below.
const LARGEST: usize = 64 << 20;

/// One caller's change. Its rows take effect together with all others of its group, or not at all.
pub(crate) struct Change {
    /// Names it within the process, so that a conflict can be told to the right caller.
    pub(crate) id: i64,
    /// JSON objects joined by commas.
    pub(crate) rows: String,
    /// How many answers the caller waits for: answer `n` tells how many rows were touched.
    pub(crate) answers: usize,
    /// Text has been removed that must not stay in the write-ahead log.
    pub(crate) scrub: bool,
    /// Messages that are new, if the answer of this number says so.
    pub(crate) messages: Vec<(usize, Memory)>,
    /// Stored memories are changed or removed.
    pub(crate) changes_memories: bool,
}

#[derive(Serialize)]
struct Row<'a, T> {
    op: &'static str,
    c: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<usize>,
    #[serde(flatten)]
    body: &'a T,
}

impl Change {
    pub(crate) fn new(id: i64) -> Self {
        Self { id, rows: String::new(), answers: 0, scrub: false, messages: Vec::new(), changes_memories: false }
    }

    /// True when there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row for the trigger `op`.
    pub(crate) fn push(&mut self, op: &'static str, body: &impl Serialize) -> Result<()> {
        self.add(op, None, body)
    }

    /// Adds a row whose effect is to be told: answers are numbered in the order of these calls.
    pub(crate) fn push_answered(&mut self, op: &'static str, body: &impl Serialize) -> Result<()> {
        let n = self.answers;
        self.answers += 1;
        self.add(op, Some(n), body)
    }

    /// The last answered row stores this memory, unless it is there already.
    pub(crate) fn stores(&mut self, memory: Memory) {
        if memory.kind == MemoryKind::Messages
            && let Some(last) = self.answers.checked_sub(1)
        {
            self.messages.push((last, memory));
        }
    }

    fn add(&mut self, op: &'static str, n: Option<usize>, body: &impl Serialize) -> Result<()> {
        let row = serde_json::to_string(&Row { op, c: self.id, n, body }).map_err(|e| Error::invalid("this cannot be written as JSON").with_source(e))?;
        if self.rows.len() + row.len() > LARGEST {
            return Err(Error::invalid("this change is too large to be stored").with_fix("Hand it over in smaller parts.").with("limit_bytes", LARGEST));
        }
        self.changes_memories |= CHANGING.contains(&op);
        if !self.rows.is_empty() {
            self.rows.push(',');
        }
        self.rows.push_str(&row);
        Ok(())
    }
}

/// An id as the triggers read it: `unhex()` makes the 16 stored bytes of it.
pub(crate) struct Hex(Uuid);

/// Wraps an id for a row.
pub(crate) fn hex(id: impl Into<Uuid>) -> Hex {
    Hex(id.into())
}

/// A list of ids as a value: `SELECT unhex(value) FROM json_each(?)` reads it.
pub(crate) fn hexes<T: Copy + Into<Uuid>>(ids: &[T]) -> Result<String> {
    let ids: Vec<Hex> = ids.iter().map(|id| hex(*id)).collect();
    serde_json::to_string(&ids).map_err(|e| Error::unexpected("ids cannot be written as JSON").with_source(e))
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.simple().encode_lower(&mut Uuid::encode_buffer()))
    }
}
