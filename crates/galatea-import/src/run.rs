//! Carries an import out.

use galatea_core::{Clock as _, Result, SystemClock};

use crate::{Count, Format, Import, Input, lines, read, write};

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
