//! An import: its target and its options.

use galatea_core::{AgentId, RemoteId, Source, Store};

use crate::Place;

/// An import: its target and its options. `progress` gets how much was stored, and of how much.
pub struct Import<'a> {
    /// Where the rows go.
    pub store: &'a dyn Store,
    /// The agent whose memories they become.
    pub agent: AgentId,
    /// The agent's name: a speaker of a chat log with this name is the agent.
    pub name: &'a str,
    /// Names or platform ids that the agent has in the file.
    pub own: &'a [String],
    /// The agent's accounts on a platform that the settings configure.
    pub accounts: &'a dyn Fn(&Source) -> Vec<RemoteId>,
    /// The Room of a chat log. The file's name names it when unset.
    pub place: Option<Place>,
    /// Restores links of accounts, too.
    pub links: bool,
    /// Restores what was deleted here.
    pub deleted: bool,
    /// Reads and counts, and stores nothing.
    pub dry_run: bool,
    /// Shows how far the import has come.
    pub progress: &'a dyn Fn(usize, usize),
}
