//! Cuts blocks into pieces of 200 to 400 tokens, at the boundaries of the document itself.

use galatea_core::tokens::Family;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use unicode_segmentation::UnicodeSegmentation;

use crate::document::{Block, BlockKind, Document};

/// Largest piece in tokens, heading included. Pieces of 200 to 400 find best (Chroma, "Evaluating
/// chunking strategies").
const MOST: u64 = 400;
/// A piece of fewer tokens continues under the next heading.
const LEAST: u64 = 120;
/// A row of more tokens is cut between words after all: no embedding model takes it whole.
const LONGEST_ROW: u64 = 1_200;
/// Between the parts of a heading path.
pub(crate) const PATH: &str = " › ";

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above its text, outermost first.
    pub heading: Vec<String>,
    /// The page it begins on.
    pub page: Option<u32>,
    /// Its text.
    pub text: String,
    /// SHA-256 of heading and text in hexadecimal. Equal pieces have equal hashes.
    pub hash: String,
}

/// SHA-256 in hexadecimal.
pub fn hash(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
        digest.update([0]);
    }
    digest.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Cuts a document into pieces. Pure.
pub fn chunks(document: &Document) -> Vec<Chunk> {
    let mut cutter = Cutter::default();
    for block in &document.blocks {
        cutter.block(block);
    }
    cutter.flush();
    cutter.done
}

#[derive(Default)]
struct Cutter {
    done: Vec<Chunk>,
    heading: Vec<String>,
    page: Option<u32>,
    text: String,
    /// The text has more than lines of headings.
    has_body: bool,
    tokens: u64,
    last: Vec<String>,
}

fn tokens(text: &str) -> u64 {
    Family::Other.text(text)
}

impl Cutter {
    fn block(&mut self, block: &Block) {
        if block.heading != self.last {
            self.go_under(&block.heading);
        }
        let room = MOST.saturating_sub(tokens(&block.heading.join(PATH))).max(MOST / 2);
        match &block.kind {
            BlockKind::Prose => self.pieces(sentences(&block.text, room), " ", room, block),
            BlockKind::Code => {
                let lines = block.text.lines().flat_map(|line| split_at_words(line, room));
                self.pieces(lines.collect(), "\n", room, block);
            }
            BlockKind::Table { header } => self.rows(header, &block.text, room, block),
        }
    }

    /// A new heading. Small pieces go on, with the heading as a line of their text.
    fn go_under(&mut self, heading: &[String]) {
        let common = self.heading.iter().zip(heading).take_while(|(a, b)| a == b).count();
        // Pieces of different chapters stay apart, however small they are.
        let related = common > 0 || self.heading.is_empty() && self.text.is_empty();
        if self.tokens >= LEAST || !related {
            self.flush();
        }
        if self.text.is_empty() {
            self.heading = heading.to_vec();
        } else {
            let own = self.heading.split_off(common);
            // The piece now stands under the common headings only, so its own become lines.
            if !own.is_empty() && !self.text.starts_with('#') {
                self.text.insert_str(0, &format!("# {}\n", own.join(PATH)));
            }
            let line = format!("# {}", heading[common..].join(PATH));
            self.push(&line, "\n\n");
        }
        self.last = heading.to_vec();
    }

    fn pieces(&mut self, pieces: Vec<&str>, separator: &str, room: u64, block: &Block) {
        for (n, piece) in pieces.into_iter().enumerate() {
            if self.tokens + tokens(piece) > room {
                self.restart(block);
            }
            self.begin(block);
            self.push(piece, if n == 0 { "\n\n" } else { separator });
            self.has_body |= !piece.trim().is_empty();
        }
    }

    fn rows(&mut self, header: &str, rows: &str, room: u64, block: &Block) {
        let mut fresh = true;
        for row in rows.lines() {
            for part in
                split_at_words(row, if tokens(row) > LONGEST_ROW { room } else { LONGEST_ROW })
            {
                if self.tokens + tokens(part) + if fresh { tokens(header) } else { 0 } > room {
                    self.restart(block);
                    fresh = true;
                }
                self.begin(block);
                if std::mem::take(&mut fresh) && !header.is_empty() {
                    self.push(header, "\n\n");
                }
                self.push(part, "\n");
                self.has_body |= !part.trim().is_empty();
            }
        }
    }

    fn begin(&mut self, block: &Block) {
        if self.text.is_empty() {
            self.page = block.page;
        }
    }

    fn restart(&mut self, block: &Block) {
        self.flush();
        self.heading = block.heading.clone();
    }

    fn push(&mut self, text: &str, separator: &str) {
        if !self.text.is_empty() {
            self.text.push_str(separator);
        }
        self.text.push_str(text);
        self.tokens += tokens(text);
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.tokens = 0;
        // A heading without text makes no chunk. A document may consist of comments (`# …`), so the
        // text does not tell.
        if !std::mem::take(&mut self.has_body) {
            return;
        }
        let heading = self.heading.clone();
        let hash = hash(&[heading.join(PATH).as_bytes(), text.as_bytes()]);
        self.done.push(Chunk { heading, page: self.page, text, hash });
    }
}

/// Sentences and list items, each within `room` tokens.
fn sentences(text: &str, room: u64) -> Vec<&str> {
    if tokens(text) <= room {
        return vec![text];
    }
    text.lines()
        .flat_map(|line| line.split_sentence_bounds())
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
        .flat_map(|sentence| split_at_words(sentence, room))
        .collect()
}

/// Whether a text has more than `room` tokens. A token has three bytes at most, so a long text need
/// not be counted.
fn beyond(text: &str, room: u64) -> bool {
    u64::try_from(text.len()).unwrap_or(u64::MAX) > 3 * room || tokens(text) > room
}

/// Parts of a text within `room` tokens, cut between words, or inside of one that is too long.
fn split_at_words(text: &str, room: u64) -> Vec<&str> {
    if tokens(text) <= room {
        return vec![text];
    }
    let (mut parts, mut start, mut end) = (Vec::new(), 0, 0);
    for (at, word) in text.split_word_bound_indices() {
        let next = at + word.len();
        if beyond(&text[start..next], room) && end > start {
            parts.push(text[start..end].trim());
            start = end;
        }
        end = next;
        // A single word of any length, such as encoded data.
        while beyond(&text[start..end], room) {
            let most = usize::try_from(room).unwrap_or(usize::MAX);
            let cut = text[start..end].char_indices().nth(most).map_or(end, |(at, _)| start + at);
            if cut == end {
                break;
            }
            parts.push(&text[start..cut]);
            start = cut;
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(heading: &[&str], kind: BlockKind, text: impl Into<String>) -> Block {
        Block {
            heading: heading.iter().map(|h| (*h).to_owned()).collect(),
            page: None,
            kind,
            text: text.into(),
        }
    }

    fn cut(blocks: Vec<Block>) -> Vec<Chunk> {
        chunks(&Document { title: None, blocks })
    }

    #[test]
    fn comments_are_no_headings() {
        let comments = "# Copyright Ann\n# All rights reserved";
        for kind in [BlockKind::Code, BlockKind::Prose, BlockKind::Table { header: String::new() }]
        {
            let pieces = cut(vec![block(&[], kind.clone(), comments)]);
            assert_eq!(pieces.len(), 1, "{kind:?}");
            assert!(pieces[0].text.contains("Copyright Ann"), "{kind:?}");
        }
    }

    #[test]
    fn pieces_are_neither_tiny_nor_large_and_keep_their_headings() {
        let sentence = "The lighthouse keeper wrote a line into the book every evening. ";
        let blocks = vec![
            block(&["Coast"], BlockKind::Prose, "A short beginning."),
            block(&["Coast", "Light"], BlockKind::Prose, sentence.repeat(60)),
            block(&["Harbour"], BlockKind::Prose, "Boats."),
        ];
        let pieces = cut(blocks);
        assert!(pieces[0].text.starts_with("A short beginning.\n\n# Light\n\nThe lighthouse"));
        assert_eq!(pieces[0].heading, ["Coast"]);
        assert_eq!(pieces[1].heading, ["Coast", "Light"]);
        let last = pieces.last().unwrap();
        assert_eq!(
            (last.heading.as_slice(), last.text.as_str()),
            (["Harbour".to_owned()].as_slice(), "Boats.")
        );
        let long = &pieces[..pieces.len() - 2];
        assert!(
            long.iter().all(|p| (200..=MOST).contains(&tokens(&p.text))),
            "{:?}",
            long.iter().map(|p| tokens(&p.text)).collect::<Vec<_>>()
        );
        assert!(pieces.iter().all(|piece| piece.text.ends_with('.')), "cut between sentences");
    }

    #[test]
    fn rows_stay_whole_and_every_piece_repeats_the_header() {
        let rows: Vec<String> =
            (0..100).map(|n| format!("part {n} | a screw of steel | {n} mm")).collect();
        let kind = BlockKind::Table { header: "name | what | size".into() };
        let pieces = cut(vec![block(&[], kind, rows.join("\n"))]);
        assert!(pieces.len() > 2);
        let mut seen = Vec::new();
        for piece in &pieces {
            let (header, body) = piece.text.split_once('\n').unwrap();
            assert_eq!(header, "name | what | size");
            seen.extend(body.lines().map(str::to_owned));
        }
        assert_eq!(seen, rows);
    }

    #[test]
    fn a_megabyte_without_a_space_is_cut_in_one_pass() {
        let pieces = cut(vec![block(&[], BlockKind::Prose, "a".repeat(1 << 20))]);
        let letters = |piece: &Chunk| piece.text.matches('a').count();
        assert_eq!(pieces.iter().map(letters).sum::<usize>(), 1 << 20);
    }

    #[test]
    fn equal_text_under_equal_headings_has_one_hash() {
        let of = |heading| cut(vec![block(&[heading], BlockKind::Prose, "Same.")])[0].hash.clone();
        assert_eq!(of("A"), of("A"));
        assert_ne!(of("A"), of("B"));
        assert_eq!(of("A").len(), 64);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn nothing_is_lost_and_nothing_is_too_large(
            texts in prop::collection::vec(("[a-c]{1}", "[a-zé日. \n|]{0,900}", 0..3_u8), 0..12),
            long in "[a-z]{0,4000}",
        ) {
            let mut blocks: Vec<Block> = texts.iter().map(|(heading, text, kind)| {
                let kind = match kind { 0 => BlockKind::Prose, 1 => BlockKind::Code, _ => BlockKind::Table { header: String::new() } };
                block(&[heading], kind, text.clone())
            }).collect();
            blocks.push(block(&[], BlockKind::Prose, long));
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
            let given: usize = blocks.iter().map(|b| letters(&b.text)).sum();
            let pieces = cut(blocks);
            let kept: usize = pieces.iter().map(|p| p.text.lines().filter(|l| !l.starts_with("# ")).map(letters).sum::<usize>()).sum();
            prop_assert_eq!(given, kept);
            prop_assert!(pieces.iter().all(|p| tokens(&p.text) <= LONGEST_ROW + MOST));
        }
    }
}
