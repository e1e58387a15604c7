//! Texts of a file as errors show them.

use galatea_core::Timestamp;

/// The beginning of a text, with a sign if it is longer. `longest` is in characters.
pub(crate) fn clipped(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// A time in UTC (RFC 3339).
pub(crate) fn utc(at: Timestamp) -> String {
    let time = time::OffsetDateTime::from_unix_timestamp(at.0 / 1000).ok();
    time.and_then(|time| time.format(&time::format_description::well_known::Rfc3339).ok())
        .unwrap_or_else(|| at.0.to_string())
}
