//! The signed items of an answer, which the service wants again.

/// Name of the format in [`Opaque`](galatea_core::model::Opaque).
pub(super) const FORMAT: &str = "responses";

/// The items of an answer that calls tools, for the request with their results; none where nothing
/// but the calls would be sent again.
pub(super) fn kept(items: Vec<serde_json::Value>) -> Option<galatea_core::model::Opaque> {
    let signed = |item: &serde_json::Value| {
        item["type"] == "reasoning" && item["encrypted_content"].is_string()
    };
    items.iter().any(signed).then(|| crate::wire::opaque(FORMAT, items.into()))
}
