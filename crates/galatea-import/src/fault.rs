//! Faults of a file that is imported.

use galatea_core::Error;
use std::path::Path;

/// Where a file cannot be read, and what can be.
pub(crate) fn unreadable(path: impl AsRef<Path>, cause: &str) -> Error {
    Error::invalid("this file cannot be imported")
        .with_code("GAL-MEMORY-IMPORT")
        .with("where", path.as_ref().display().to_string())
        .with("cause", cause)
        .with_fix(
            "give an export of `galatea memory export`, a chat log (one JSON object with time, \
             speaker and text a line), the JSON export of Telegram Desktop or of \
             DiscordChatExporter, or a dump of elizaOS's database made by `pg_dump`",
        )
}

/// Why a line is malformed JSON or lacks a field. Column 0 is none.
pub(crate) fn misread(error: &serde_json::Error) -> String {
    let message = error.to_string();
    // The parser counts from the beginning of the line.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    match error.column() {
        0 => message.to_owned(),
        column => format!("column {column}: {message}"),
    }
}
