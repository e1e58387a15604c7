//! Turns `Outgoing` into lines. Pure.

use galatea_core::{Encoded, Error, ErrorKind, Outgoing, Result, TextUnit, split};

/// Longest text of a line, in bytes: of 512 the word, the room (64 at most) and the end of the line
/// take some.
pub(crate) const MAX_TEXT: usize = 400;

/// One line for each line of the text, in as many pieces as it takes: a line break would end the
/// command.
pub(crate) fn encode(outgoing: &Outgoing) -> Result<Vec<Encoded>> {
    match outgoing {
        Outgoing::Message { content, .. } => {
            Ok(lines(&content.text).into_iter().map(|line| Encoded(line.into())).collect())
        }
        Outgoing::Typing => Ok(Vec::new()),
        Outgoing::Edit { .. } | Outgoing::Delete { .. } | Outgoing::React { .. } => {
            Err(Error::new(ErrorKind::Unsupported, "this platform knows lines only"))
        }
    }
}

fn lines(text: &str) -> Vec<String> {
    // The unit that `Capabilities` claim is the one that is cut by.
    let Some(weight) = TextUnit::Bytes.weight() else { return Vec::new() };
    let mut pieces = Vec::new();
    for line in text.split(['\n', '\r']).filter(|line| !line.trim_start().starts_with("```")) {
        let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut rest = plain.trim();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(split::cut(rest, MAX_TEXT, weight));
            pieces.push(piece.trim_end().to_owned());
            rest = behind.trim_start();
        }
    }
    pieces
}
