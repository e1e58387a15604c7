//! A message of the past as it would be stored.

use galatea_core::{Memory, store::ConnectionChange};

/// A message that was read from an export.
pub(super) struct Read {
    pub(super) change: ConnectionChange,
    /// `None` if it is stored under elizaOS's id.
    pub(super) memory: Option<Memory>,
    /// True if its Room is a direct one.
    pub(super) is_direct: bool,
}
