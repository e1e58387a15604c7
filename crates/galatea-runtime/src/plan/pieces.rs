//! Pieces of documents in the form of the prompt: a number and a place, and indented words below.
//! A model that quotes one copies the form with it. The words are an answer, the form is none.

use super::{quoted::is_in_code, talk::Talk};

/// Indent of a piece's words in the prompt.
const INDENT: &str = "  ";
/// Line in front of a list of sources, as answers show it.
const LIST: &str = "Sources:";

/// The text without the heads and the indents of quoted pieces; none if it quotes none.
pub(super) fn without_form(text: &str, talk: &Talk) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    let (mut at, mut in_piece, mut found) = (0, false, false);
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let quotes = lines.peek().is_some_and(|next| next.starts_with(INDENT));
        if quotes && is_piece(line, talk) && !is_in_code(&text[..at]) {
            if kept.last().is_some_and(|before| before.trim() == LIST) {
                kept.pop();
            }
            (in_piece, found) = (true, true);
        } else {
            in_piece &= line.starts_with(INDENT);
            kept.push(if in_piece { line.trim_start() } else { line });
        }
        at += line.len() + 1;
    }
    found.then(|| kept.join("\n"))
}

fn is_piece(line: &str, talk: &Talk) -> bool {
    let line = line.trim();
    let number = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(n, _)| n);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        && talk.heads.iter().any(|head| head.eq_ignore_ascii_case(line))
}
