//! Imports memories of the past: an export of Galatea, a dump of elizaOS's database, a chat log, or
//! the export of a platform.
//!
//! A file takes three steps. [`recognise`] finds its format. A reader (`read/`) turns its bytes into
//! rows or messages, and names the place of each fault; readers know no store. A writer (`write/`)
//! stores what was read, some hundred rows in each commit, so that an import that was interrupted can
//! be repeated.

mod count;
mod format;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod input;
mod lines;
mod moment;
mod place;
mod read;
mod seen;
mod skipped;
mod text;
mod write;

use galatea_core::{AgentId, Clock as _, RemoteId, Result, Source, Store, SystemClock};

pub use count::Count;
pub use format::{Format, PlatformReader, recognise};
pub use input::Input;
pub use place::Place;
pub use skipped::Skipped;

/// What to import, and for whom. `progress` gets how much was stored, and of how much.
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

impl Import<'_> {
    /// Reads the file and stores what belongs to the agent. What cannot be read is left out and named
    /// in the count.
    ///
    /// # Errors
    /// `Invalid` (`GAL-MEMORY-IMPORT`) for a file of another agent or of another version,
    /// `Invalid` (`GAL-MEMORY-OWN`) for an `own` that fits nobody; those of the store.
    pub async fn run(&self, file: &Input, format: Format) -> Result<Count> {
        let now = SystemClock.now();
        match format {
            Format::Galatea => {
                read::own::refuse(self.own)?;
                let rows = read::galatea::Export::of(lines::lines(file), self.agent, now);
                write::rows::store(self, rows, file).await
            }
            Format::ElizaOs => {
                read::own::refuse(self.own)?;
                let rows = read::elizaos::Rows::of(|| lines::lines(file), self.agent, now);
                write::rows::store(self, rows, file).await
            }
            Format::Log => write::messages::log(self, file, now).await,
            Format::Platform { source, archive } => {
                write::messages::platform(self, source, archive, now).await
            }
        }
    }
}

#[cfg(test)]
mod tests;
