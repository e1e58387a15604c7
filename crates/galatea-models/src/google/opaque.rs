//! The signed parts of an answer, which the service wants again.

/// Name of the format in [`Opaque`](galatea_core::model::Opaque).
pub(super) const FORMAT: &str = "google";
