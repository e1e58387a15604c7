//! A media model in use.

use serde::Serialize;

/// A media model in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MediaUse {
    /// elizaOS's name of the type, such as `TRANSCRIPTION`.
    pub kind: &'static str,
    /// Its provider.
    pub provider: &'static str,
    /// Its name there.
    pub name: String,
}
