//! What the child process writes for its parent, one JSON value per line.

use galatea_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::document::{Block, Document, TOO_LARGE, UNREADABLE};

/// A line from the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Title(String),
    Block(Block),
    /// The document is complete. Without this line the child died on the way.
    End(usize),
    Refused(Refusal),
}

/// An error on its way to the parent.
#[derive(Debug, Serialize, Deserialize)]
struct Refusal {
    too_long: bool,
    message: String,
    cause: String,
    fix: Option<String>,
}

/// The outcome of a parse as lines.
pub(crate) fn encode(outcome: Result<Document>) -> String {
    let lines = match outcome {
        Ok(document) => {
            let count = document.blocks.len();
            let title = document.title.map(Line::Title);
            let blocks = document.blocks.into_iter().map(Line::Block);
            title.into_iter().chain(blocks).chain([Line::End(count)]).collect()
        }
        Err(error) => {
            let context: Vec<String> = error
                .context()
                .iter()
                .map(|(key, value)| match *key {
                    "cause" => value.clone(),
                    key => format!("{key} {value}"),
                })
                .collect();
            vec![Line::Refused(Refusal {
                too_long: error.kind() == ErrorKind::TooLong,
                message: error.message().to_owned(),
                cause: context.join(", "),
                fix: error.fix().map(str::to_owned),
            })]
        }
    };
    let lines: Vec<String> =
        lines.iter().filter_map(|line| serde_json::to_string(line).ok()).collect();
    lines.join("\n") + "\n"
}

/// Reads the child's lines. `None` if they are incomplete, because the child died.
///
/// # Errors
/// What the child reports. The child may have been taken over by its document, so its words are
/// bounded and shown as one line.
pub(crate) fn decode(output: &[u8]) -> Result<Option<Document>> {
    let mut document = Document::default();
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(Line::Title(title)) => document.title = Some(title),
            Ok(Line::Block(block)) => document.blocks.push(block),
            Ok(Line::End(count)) if count == document.blocks.len() && count > 0 => {
                return Ok(Some(document));
            }
            Ok(Line::Refused(refusal)) => return Err(refusal.into()),
            Ok(Line::End(_)) | Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// Longest text of a refusal, in characters.
const LONGEST: usize = 300;

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let line = |text: &str| -> String {
            galatea_core::visible::one_line(text).chars().take(LONGEST).collect()
        };
        let (kind, code) = if refusal.too_long {
            (ErrorKind::TooLong, TOO_LARGE)
        } else {
            (ErrorKind::Invalid, UNREADABLE)
        };
        let mut error = Self::new(kind, line(&refusal.message)).with_code(code);
        if !refusal.cause.is_empty() {
            error = error.with("cause", line(&refusal.cause));
        }
        match refusal.fix {
            Some(fix) => error.with_fix(line(&fix)),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_refusals_arrive() {
        let document = Document {
            title: Some("A".into()),
            blocks: vec![Block { text: "x\ny".into(), page: Some(2), ..Block::default() }],
        };
        let lines = encode(Ok(document.clone()));
        assert_eq!(decode(lines.as_bytes()).unwrap(), Some(document));
        let cut = lines.lines().next().unwrap();
        assert_eq!(decode(cut.as_bytes()).unwrap(), None, "a child that died on the way");
        assert_eq!(decode(b"garbage\n").unwrap(), None);
        let refused = crate::document::too_large("too much").with("limit", 3);
        let error = decode(encode(Err(refused)).as_bytes()).unwrap_err();
        assert_eq!(
            (error.kind(), error.code(), error.to_string().as_str()),
            (ErrorKind::TooLong, Some(TOO_LARGE), "too much (cause=limit 3)")
        );
        assert!(error.fix().is_some());
    }
}
