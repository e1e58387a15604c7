//! Imports memories of the past: an export of Galatea, a dump of elizaOS's database, a chat log, or
//! the export of a platform.
//!
//! A file takes three steps. [`recognise`] finds its format. A reader (`read/`) turns its bytes into
//! rows or messages, and names the place of each fault; readers know no store. A writer (`write/`)
//! stores what was read, some hundred rows in each commit, so that an import that was interrupted can
//! be repeated.

mod count;
mod fault;
mod format;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod import;
mod input;
mod lines;
mod moment;
mod place;
mod read;
mod run;
mod seen;
mod skipped;
mod text;
mod write;

pub use count::Count;
pub use format::{Format, PlatformReader, recognise};
pub use import::Import;
pub use input::Input;
pub use place::Place;
pub use skipped::Skipped;

#[cfg(test)]
mod tests;
