//! Lines that the child process writes for its parent, one JSON value per line.

use galatea_core::{
    Error, ErrorKind, Result,
    visible::{one_line, visible},
};
use serde::{Deserialize, Serialize};

use std::io::{self, Write};

use crate::{
    chunk::Chunk,
    document::UnreadPages,
    pieces::Pieces,
    refusal::{TOO_LARGE, UNREADABLE},
};

/// A line from the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireLine {
    Title(String),
    Piece(Chunk),
    Unread(UnreadPages),
    /// The document is complete. Without this line the child died on the way.
    End(usize),
    Refused(WireRefusal),
}

/// An error on its way to the parent.
#[derive(Debug, Serialize, Deserialize)]
struct WireRefusal {
    too_long: bool,
    message: String,
    cause: String,
    fix: Option<String>,
}

/// Writes the outcome of reading a document, line by line.
///
/// # Errors
/// Those of `output`.
pub(crate) fn send(outcome: Result<Pieces>, output: &mut impl Write) -> io::Result<()> {
    let mut line = |line: WireLine| {
        serde_json::to_writer(&mut *output, &line)?;
        output.write_all(b"\n")
    };
    match outcome {
        Ok(Pieces { title, chunks, unread }) => {
            let count = chunks.len();
            unread.map_or(Ok(()), |unread| line(WireLine::Unread(unread)))?;
            title.map_or(Ok(()), |title| line(WireLine::Title(title)))?;
            chunks.into_iter().try_for_each(|chunk| line(WireLine::Piece(chunk)))?;
            line(WireLine::End(count))
        }
        Err(error) => line(WireLine::Refused(refusal(&error))),
    }
}

fn refusal(error: &Error) -> WireRefusal {
    let context: Vec<String> = error
        .context()
        .iter()
        .map(|(key, value)| match *key {
            "cause" => value.clone(),
            key => format!("{key} {value}"),
        })
        .collect();
    WireRefusal {
        too_long: error.kind() == ErrorKind::TooLong,
        message: error.message().to_owned(),
        cause: context.join(", "),
        fix: error.fix().map(str::to_owned),
    }
}

/// Collects the child's lines. The child may have been taken over by its document, so the number of
/// pieces is bounded here again, and what a reader does not see is left out again.
pub(crate) struct Receiver {
    pieces: Pieces,
    most: usize,
}

impl Receiver {
    /// Takes up to `most` pieces.
    pub(crate) fn new(most: usize) -> Self {
        Self { pieces: Pieces::default(), most }
    }

    /// Takes a line. `Some` with the last one: the pieces, or `None` if the line is malformed, there
    /// are too many, or some are missing.
    ///
    /// # Errors
    /// What the child reports. Its words are bounded and shown as one line.
    pub(crate) fn take(&mut self, line: &[u8]) -> Result<Option<Option<Pieces>>> {
        let pieces = &mut self.pieces;
        match serde_json::from_slice(line) {
            Ok(WireLine::Title(title)) => {
                pieces.title = Some(one_line(&title)).filter(|title| !title.is_empty())
            }
            Ok(WireLine::Unread(unread)) => pieces.unread = Some(unread),
            Ok(WireLine::Piece(Chunk { heading, page, text, .. }))
                if pieces.chunks.len() < self.most =>
            {
                let heading = heading.iter().map(|heading| one_line(heading)).collect();
                pieces.chunks.push(Chunk::new(heading, page, visible(&text).into_owned()));
            }
            Ok(WireLine::End(count)) if count == pieces.chunks.len() && count > 0 => {
                return Ok(Some(Some(std::mem::take(pieces))));
            }
            Ok(WireLine::Refused(refusal)) => return Err(refusal.into()),
            Ok(WireLine::End(_) | WireLine::Piece(_)) | Err(_) => return Ok(Some(None)),
        }
        Ok(None)
    }
}

/// Longest text of a refusal, in characters.
const LONGEST: usize = 300;

impl From<WireRefusal> for Error {
    fn from(refusal: WireRefusal) -> Self {
        let line = |text: &str| -> String { one_line(text).chars().take(LONGEST).collect() };
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

    fn receive(lines: &[u8], most: usize) -> Result<Option<Pieces>> {
        let mut receiver = Receiver::new(most);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            if let Some(end) = receiver.take(line)? {
                return Ok(end);
            }
        }
        Ok(None)
    }

    fn sent(outcome: Result<Pieces>) -> Vec<u8> {
        let mut lines = Vec::new();
        send(outcome, &mut lines).unwrap();
        lines
    }

    #[test]
    fn no_text_of_a_child_has_breaks_or_characters_that_no_reader_sees() {
        let chunk = Chunk::new(vec!["H\r\u{85}I".into()], None, "a\rb\u{2028}c\u{202e}\0".into());
        let pieces = Pieces { title: Some("A\nB".into()), chunks: vec![chunk], unread: None };
        let received = receive(&sent(Ok(pieces)), 1).unwrap().unwrap();
        let piece = &received.chunks[0];
        assert_eq!((received.title.as_deref(), &*piece.heading[0]), (Some("A B"), "H I"));
        assert_eq!(piece.text, "a\nb\nc");
        assert_eq!(*piece, Chunk::new(vec!["H I".into()], None, "a\nb\nc".into()), "and its hash");
    }

    #[test]
    fn pieces_and_refusals_arrive() {
        let chunk = |text: &str| Chunk::new(vec!["H".into()], Some(2), text.into());
        let pieces = Pieces {
            title: Some("A".into()),
            chunks: vec![chunk("x\ny"), chunk("\"z\"")],
            unread: Some(UnreadPages { unread: 3, pages: 5 }),
        };
        let lines = sent(Ok(pieces.clone()));
        assert_eq!(receive(&lines, 2).unwrap(), Some(pieces), "with the hashes");
        assert_eq!(receive(&lines, 1).unwrap(), None, "more pieces than the parent takes");
        let cut = lines.len() - 3;
        assert_eq!(receive(&lines[..cut], 2).unwrap(), None, "a child that died on the way");
        assert_eq!(receive(b"garbage\n", 2).unwrap(), None);
        let refused = crate::refusal::too_large("too much").with("limit", 3);
        let error = receive(&sent(Err(refused)), 2).unwrap_err();
        assert_eq!(
            (error.kind(), error.code(), error.to_string().as_str()),
            (ErrorKind::TooLong, Some(TOO_LARGE), "too much (cause=limit 3)")
        );
        assert!(error.fix().is_some());
    }
}
