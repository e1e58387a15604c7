//! Whoever reads an answer while a model writes it.

use std::{fmt, sync::Arc};

/// Takes the text of an answer as it comes. What it took is a draft: another attempt, or another model, may
/// begin anew, and only the answer itself counts.
pub trait DraftSink: Send + Sync {
    /// An attempt begins; what came before is void.
    fn begin(&self);
    /// The next piece of the model's text, which may contain a plan's own form.
    fn piece(&self, text: &str);
}

/// The reader of the drafts of a call. There is none by default. Requests are compared without it.
#[derive(Clone, Default)]
pub struct Drafts(Option<Arc<dyn DraftSink>>);

impl Drafts {
    /// Drafts that this sink takes.
    pub fn to(sink: Arc<dyn DraftSink>) -> Self {
        Self(Some(sink))
    }

    /// Called by the layer around one model before each attempt.
    pub fn begin(&self) {
        if let Some(sink) = &self.0 {
            sink.begin();
        }
    }

    /// Called by the layer around one model for each piece.
    pub fn piece(&self, text: &str) {
        if let Some(sink) = &self.0 {
            sink.piece(text);
        }
    }
}

impl fmt::Debug for Drafts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Drafts(…)" } else { "Drafts" })
    }
}

impl PartialEq for Drafts {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
