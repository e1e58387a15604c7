//! What one caller wants written, whole or not at all.

use galatea_core::{AgentId, Error, Memory, MemoryKind, Result, RoomId};
use uuid::Uuid;

use crate::{
    dialect::Statement,
    rows::{
        CursorRow, DeliveryRow, FenceRow, FinishRow, MemoryRow, MessageRow, SettleRow, UsageSum,
    },
};

/// Largest change in bytes: a group of changes is one transaction, so a single one stays well below
/// what memory holds.
const LARGEST: usize = 64 << 20;

/// One thing to write. All but the last are on the way of every message; PostgreSQL takes those of
/// a group together (`migrations/postgres/0001_tables.sql`), SQLite one after another.
#[derive(Debug)]
pub(crate) enum Write {
    /// Refuses the change when another process holds the partition by now.
    Fence(FenceRow),
    /// A message and its inbox row; hits show whether it is new.
    Message(Box<MessageRow>),
    /// Counts a begun turn.
    Begin(Uuid),
    /// Finishes an inbox row; refuses the change when it is finished already.
    Finish(FinishRow),
    /// A memory without an inbox row.
    Memory(Box<MemoryRow>),
    /// An outbox row; refuses the change when its turn has one of that number.
    Delivery(Box<DeliveryRow>),
    /// The outcome of a delivery. The number of changed rows shows whether it was stored.
    Settle(SettleRow),
    /// How far a stream has been read.
    Cursor(CursorRow),
    /// What a turn cost.
    Usage(UsageSum),
    /// Anything rarer: statements one after another.
    Other {
        statements: Vec<Statement>,
        /// The statement whose touched rows are the hits; the last one when none is named.
        counted: Option<usize>,
    },
    /// Statements of which the last has to touch a row; refuses the change otherwise.
    Required { statements: Vec<Statement> },
}

impl Write {
    /// A rare write of one statement.
    pub(crate) fn statement(statement: Statement) -> Self {
        Self::Other { statements: vec![statement], counted: None }
    }

    /// Bytes, about.
    fn size(&self) -> usize {
        const ROW: usize = 256;
        ROW + match self {
            Self::Message(row) => row.memory.size() + row.envelope.0.len(),
            Self::Memory(row) => row.size(),
            Self::Delivery(row) => row.body.0.len(),
            Self::Finish(row) => row.verdict.0.len(),
            Self::Other { statements, .. } | Self::Required { statements } => {
                statements.iter().map(Statement::size).sum()
            }
            Self::Fence(_)
            | Self::Begin(_)
            | Self::Settle(_)
            | Self::Cursor(_)
            | Self::Usage(_) => 0,
        }
    }
}

/// One caller's change. Its writes take effect together, in their order, or not at all; each
/// returns the number of rows it touched.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) writes: Vec<Write>,
    /// Bytes, about.
    pub(crate) bytes: usize,
    /// Text has been removed that must not stay in SQLite's write-ahead log.
    pub(crate) scrub: bool,
    /// Messages that are new if the write of this number says so.
    pub(crate) messages: Vec<(usize, Memory)>,
    /// Memories that it stores beside messages: the index of words has to be brought up for them, too.
    pub(crate) others: usize,
    /// Rooms whose summaries are stored.
    pub(crate) summarised: Vec<(AgentId, RoomId)>,
    /// Whether stored memories are changed, removed or moved.
    pub(crate) changed: bool,
    /// No caller needs the result soon: SQLite's writer may hold the change back briefly and commit
    /// it with the next one.
    pub(crate) can_wait: bool,
}

impl Change {
    /// True when there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Adds a write. Gives its number.
    ///
    /// # Errors
    /// `Invalid` when the change becomes too large.
    pub(crate) fn push(&mut self, write: Write) -> Result<usize> {
        self.bytes += write.size();
        if self.bytes > LARGEST {
            return Err(Error::invalid("this change is too large to be stored")
                .with_fix("Hand it over in smaller parts.")
                .with("limit_bytes", LARGEST));
        }
        self.writes.push(write);
        Ok(self.writes.len() - 1)
    }

    /// A write stores this memory, which may be a summary.
    pub(crate) fn summarises(&mut self, memory: &Memory) {
        if memory.kind == MemoryKind::Summaries {
            self.summarised.push((memory.agent_id, memory.room_id));
        }
    }

    /// The last write stores this memory, unless it is there already.
    pub(crate) fn stores(&mut self, memory: Memory) {
        self.summarises(&memory);
        if memory.kind != MemoryKind::Messages {
            self.others += 1;
        } else if let Some(last) = self.writes.len().checked_sub(1) {
            self.messages.push((last, memory));
        }
    }
}
