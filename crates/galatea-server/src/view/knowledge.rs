//! Documents, uploads, and what a question finds.

use galatea_host::ops::{DocumentState, FoundPiece, ListedDocument, Upload};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::list;

/// A document of an agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct DocumentView {
    id: Uuid,
    agent: Uuid,
    title: String,
    /// Path or address.
    source: String,
    size: u64,
    pieces: usize,
    /// `queued`, `reading`, `ready` or `failed`.
    state: &'static str,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// Other agents find it.
    shared: bool,
    /// It was added, so it can be removed here.
    removable: bool,
}

impl From<ListedDocument> for DocumentView {
    fn from(document: ListedDocument) -> Self {
        let (code, fault) = match document.problem {
            Some((code, fault)) => (code, Some(fault)),
            None => (None, None),
        };
        Self {
            id: document.id,
            agent: document.agent.0,
            title: document.title,
            source: document.source,
            size: document.size,
            pieces: document.pieces,
            state: match document.state {
                DocumentState::Queued => "queued",
                DocumentState::Reading => "reading",
                DocumentState::Ready => "ready",
                DocumentState::Failed => "failed",
            },
            fault,
            code,
            shared: document.shared,
            removable: document.added,
        }
    }
}

list!(/// Documents.
    DocumentList of DocumentView);

/// An upload.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct UploadView {
    id: Uuid,
    agent: Uuid,
    name: String,
    /// Its bytes in all.
    size: u64,
    /// Bytes that are here: the offset of the next ones.
    received: u64,
    /// All bytes are here, and the agent reads it.
    done: bool,
}

impl From<Upload> for UploadView {
    fn from(upload: Upload) -> Self {
        Self {
            id: upload.id,
            agent: upload.agent.0,
            done: upload.received == upload.size,
            name: upload.name,
            size: upload.size,
            received: upload.received,
        }
    }
}

/// A piece of a document that a question finds.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PassageView {
    document: Uuid,
    /// Title of the document.
    title: String,
    /// Where it stands: title, heading and page.
    place: String,
    score: f32,
    text: String,
    /// The model would be shown it.
    relevant: bool,
}

impl From<FoundPiece> for PassageView {
    fn from(found: FoundPiece) -> Self {
        let piece = found.found.piece;
        Self {
            document: piece.document.0,
            place: piece.place(),
            title: piece.title,
            score: found.found.score,
            text: piece.text,
            relevant: found.relevant,
        }
    }
}

list!(/// Pieces that a question finds, the best first.
    PassageList of PassageView);
