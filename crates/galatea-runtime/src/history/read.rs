//! A message of the past as it would be stored.

use galatea_core::{Memory, MemoryId, store::ConnectionChange};

/// A message that was read from an export.
pub(super) struct Read {
    pub(super) change: ConnectionChange,
    /// `None` if it is stored under an earlier id.
    pub(super) memory: Option<Memory>,
    /// Its id in earlier versions, if that was another one and of this Room alone.
    pub(super) older: Option<MemoryId>,
    /// True if its Room is a direct one.
    pub(super) is_direct: bool,
}
