//! The signed blocks of an answer, which the service wants again.

/// Name of the format in [`Opaque`](galatea_core::model::Opaque).
pub(super) const FORMAT: &str = "anthropic";

/// The blocks of an answer that calls tools, for the request with their results; none where nothing
/// in them is signed (Anthropic, "Extended thinking", preserving thinking blocks).
pub(super) fn kept(blocks: Vec<serde_json::Value>) -> Option<galatea_core::model::Opaque> {
    let thinks = |block: &serde_json::Value| {
        matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
    };
    blocks.iter().any(thinks).then(|| crate::wire::opaque(FORMAT, blocks.into()))
}
