//! The parts of an agent that commands use.

use galatea_core::Store;

use crate::{
    directory::Directory, grants::KnownGrants, outbox::Outbox, plugins::registry::Registry,
};

/// The parts of an agent that commands use.
pub(crate) struct CommandParts<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) directory: &'a Directory,
    pub(crate) outbox: &'a Outbox,
    /// The agent's plugins.
    pub(crate) registry: &'a Registry,
    /// Who may use which tool, as it was read last.
    pub(crate) grants: &'a KnownGrants,
    /// Most messages of a conversation that a prompt shows.
    pub(crate) conversation: u32,
}
