//! A document as it is stored: its title and its pieces.

use galatea_core::Result;

use crate::{
    chunk::{Chunk, chunks},
    document::{Limits, UnreadPages},
    format::Format,
    parse,
};

/// Kept parts of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pieces {
    /// The title that the document states; `None` if it states none.
    pub title: Option<String>,
    /// Its pieces, in reading order.
    pub chunks: Vec<Chunk>,
    /// Parts that cannot be read.
    pub unread: Option<UnreadPages>,
}

/// Parses a document and cuts it into pieces. Pure.
///
/// # Errors
/// `Invalid` ([`crate::refusal::UNREADABLE`]) for a damaged document or one without text,
/// `TooLong` ([`crate::refusal::TOO_LARGE`]) for one beyond the limits. Both name the fix.
pub(crate) fn pieces(format: Format, bytes: &[u8], limits: Limits) -> Result<Pieces> {
    let mut document = parse::parse(format, bytes, limits)?;
    let (title, unread) = (document.title.take(), document.unread);
    Ok(Pieces { title, chunks: chunks(document, limits.pieces)?, unread })
}
