//! FileReader: reads the words of a document that a person sent.

use async_trait::async_trait;

use crate::error::{Error, Result};

/// A document that a person sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SentFile<'a> {
    /// Its name there, as the sender chose it.
    pub name: &'a str,
    /// Its media type, as the platform states it.
    pub media_type: Option<&'a str>,
}

/// Reads the words of documents that people send: PDF, Word, tables, text in any encoding.
///
/// Errors whose kind is `Invalid` or `TooLong` are about the file: their message, a sentence that
/// goes on from "not read: ", is shown to the model and so to the chat. It names no setting and no
/// path.
#[async_trait]
pub trait FileReader: Send + Sync {
    /// Largest file read, in bytes.
    fn largest(&self) -> usize;

    /// Why a file is not even downloaded, by its name and type; none if it may be a document.
    fn refuses(&self, file: SentFile<'_>) -> Option<Error>;

    /// Its words, not much more than `most` characters of them.
    ///
    /// # Errors
    /// `Invalid` and `TooLong` for the file; others if it can't be read now.
    async fn read(&self, file: SentFile<'_>, bytes: Vec<u8>, most: usize) -> Result<String>;
}
