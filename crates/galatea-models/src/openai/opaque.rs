//! The reasoning of an answer, which the service wants again.

/// Name of the format in [`Opaque`](galatea_core::model::Opaque).
pub(super) const FORMAT: &str = "chat";

/// What the service wants again of an answer.
pub(super) fn opaque(data: serde_json::Value) -> galatea_core::model::Opaque {
    crate::wire::opaque(FORMAT, data)
}
