//! Knowledge: documents become pieces that an agent finds and cites.

pub mod document;
mod format;
mod parse;

pub use document::{Block, BlockKind, Document, Limits};
pub use format::Format;
pub use parse::parse;
