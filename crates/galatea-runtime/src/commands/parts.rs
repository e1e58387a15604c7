//! The parts of an agent that commands use.

use galatea_core::Store;

use crate::{directory::Directory, outbox::Outbox};

/// The parts of an agent that commands use.
pub(crate) struct CommandParts<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) directory: &'a Directory,
    pub(crate) outbox: &'a Outbox,
    /// Most messages of a conversation that a prompt shows.
    pub(crate) conversation: u32,
}
