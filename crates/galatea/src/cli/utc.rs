//! Times as in log lines.

use galatea_core::Timestamp;

/// RFC 3339 in seconds and UTC.
pub(super) fn utc(at: Timestamp) -> String {
    let time = time::OffsetDateTime::from_unix_timestamp(at.0 / 1000).ok();
    time.and_then(|t| t.format(&time::format_description::well_known::Rfc3339).ok())
        .unwrap_or_else(|| at.0.to_string())
}
