//! Lines of the log.

use galatea_host::ops::logs::LogLine;
use serde::Serialize;
use utoipa::ToSchema;

/// A line of the log, with secrets masked.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LogLineView {
    /// Its number; numbers have gaps where lines of other levels are.
    seq: u64,
    at: i64,
    /// `trace`, `debug`, `info`, `warn` or `error`.
    level: String,
    /// The part of the program that wrote it.
    target: String,
    /// The message with its fields.
    text: String,
    /// The turn that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
}

impl From<&LogLine> for LogLineView {
    fn from(line: &LogLine) -> Self {
        Self {
            seq: line.seq,
            at: line.at.0,
            level: line.level.as_str().to_owned(),
            target: line.target.clone(),
            text: line.text.clone(),
            trace: line.turn.clone(),
        }
    }
}

super::list!(/// Lines of the log, oldest first.
    LogList of LogLineView);
