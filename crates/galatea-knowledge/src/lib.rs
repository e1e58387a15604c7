//! Knowledge: documents become pieces that an agent finds and cites.

mod added;
mod child;
mod chunk;
mod cite;
mod citing;
pub mod document;
mod embed;
mod fit;
mod follow_up;
mod format;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod ingest;
mod library;
mod moved;
mod omitted;
mod parse;
mod pieces;
mod problem;
mod provider;
mod question;
mod refusal;
mod relevance;
mod rows;
pub mod sandbox;
mod scan;
mod search;
mod sent;
mod sentence;
mod service;
mod settings;
mod source;
mod sync;
mod synced;
mod terms;
mod wire;

pub use child::Parser;
pub use chunk::{Chunk, hash};
pub use document::Limits;
pub use embed::embedding_cost;
pub use format::Format;
pub use library::{Library, LibraryParts};
pub use pieces::Pieces;
pub use problem::Problem;
pub use question::{Meanings, Questions};
pub use relevance::{is_relevant, relevant};
pub use rows::{Piece, Record, Stored, shared_agent};
pub use search::{Meaning, RankedPiece, search};
pub use sent::SentFiles;
pub use settings::{VARIABLES, configured};
pub use source::{Origin, Place, Source, of_character};
pub use synced::{Look, Progress, Step, Synced};

use galatea_core::Plugin;
use std::{sync::Arc, time::Duration};

/// Name of the plugin, under which its small values are stored.
pub const NAME: &str = "knowledge";
/// Purpose of the plugin, in one sentence.
pub const PURPOSE: &str = "Documents that the agent finds and cites";

/// Creates the plugin of one agent: the provider `KNOWLEDGE`, the check of citations, and the
/// service that reads documents and looks for changed ones after each `every` (never if zero).
pub fn plugin(library: Library, every: Duration) -> Plugin {
    Plugin::new(NAME, env!("CARGO_PKG_VERSION"), PURPOSE)
        .declares(VARIABLES)
        .provider(provider::Knowledge::new(library.clone()))
        .middleware(citing::Citing)
        .file_reader(SentFiles::new(library.parts.parser.clone()))
        .service(Arc::new(service::Syncing::new(library, every)))
}
