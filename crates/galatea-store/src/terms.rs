//! What a text is searched by. One analysis for texts and questions of both databases: folded
//! words, their stems, and pairs of characters where a script has no spaces.

mod fold;
mod language;
mod names;
mod split;
mod stems;
mod stop;
mod unspaced;

pub(crate) use fold::folded;
pub(crate) use names::Names;

use galatea_core::{MemoryKind, MemoryScope};
use std::collections::HashSet;
use uuid::Uuid;

use self::{
    split::{Piece, head, pieces},
    stems::stem,
    stop::Language,
};

/// Bytes of a text that are searched: PostgreSQL takes a tsvector of at most 1 MiB
/// (<https://www.postgresql.org/docs/current/textsearch-limitations.html>), in which a term costs
/// its bytes and up to twelve more, and a word gives two terms.
const SEARCHED: usize = 64 << 10;
/// Words of a question that count.
const ASKED: usize = 48;

/// The terms of a text, separated by blanks: each word folded, then its stem if that differs, each
/// pair of characters of a script without spaces, and the last character of such a run.
pub(crate) fn of_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3 / 2);
    each(text, |term| {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(term);
    });
    out
}

/// FNV-1a, 64 bits. The codes of places are stored, so it has to give the same in every version.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Hands over each term of a text.
fn each(text: &str, mut add: impl FnMut(&str)) {
    let folded = folded(clipped(text));
    let words: Vec<Piece<'_>> = pieces(&folded);
    let stemmer = language::guess(&words).stemmer();
    for piece in words {
        match piece {
            Piece::Word(word) => {
                add(head(word));
                if let Some(stem) = stem(&stemmer, word) {
                    add(&stem);
                }
            }
            Piece::Run(run) => pairs(run, &mut add),
        }
    }
}

/// The word that says where a memory may be seen, and which sort it is: among its terms, so that
/// the index of the words finds both at once. Built in SQL too (`migrations/sqlite/0001_tables.sql`).
pub(crate) fn place(kind: MemoryKind, superseded: bool, scope: MemoryScope, owner: Uuid) -> String {
    let x = if superseded { "x" } else { "" };
    let letter = match scope {
        MemoryScope::Room => 'r',
        MemoryScope::World => 'w',
        MemoryScope::Agent => 'a',
        MemoryScope::Private => 'p',
    };
    format!("{x}{}{letter}{}", kind.as_str().replace('_', ""), owner.simple())
}

/// Stands between a word and its place in SQLite's index. U+01C0 is a letter to its tokenizer, without
/// another case. A word that contains it can only add a row to a search, which is checked like every
/// other.
pub(crate) const AT: char = 'ǀ';

/// A place in eight characters. If two places share a code, a search reads the rows of both and drops
/// those it may not show.
pub(crate) fn code(place: &str) -> String {
    let hash = hash(place.bytes());
    let digit = |n: u32| char::from_digit(u32::try_from((hash >> (5 * n)) & 31).unwrap_or(0), 32);
    (4..12).filter_map(digit).collect()
}

/// The terms of a text at a place, as SQLite's index has them: each with the place, and the place
/// alone.
pub(crate) fn placed(place: &str, text: &str) -> String {
    let code = code(place);
    let mut out = format!("{AT}{code}");
    let terms = of_text(text);
    for term in terms.split(' ').filter(|term| !term.is_empty()) {
        out.push(' ');
        out.push_str(term);
        out.push(AT);
        out.push_str(&code);
    }
    out
}

/// All terms of a row as PostgreSQL keeps them.
pub(crate) fn of_row(place: &str, text: &str) -> String {
    format!("{place} {}", of_text(text))
}

/// A part of a question: terms that stand for the same word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    /// The word as it was asked.
    pub(crate) exact: String,
    /// Its stems in the languages that come into question.
    pub(crate) stems: Vec<String>,
    /// The exact term stands for all that begin with it: one character of a script without spaces.
    pub(crate) prefix: bool,
}

/// What a question asks for, without words that say nothing (such as "what did … say about"), each
/// once. A question of such words only is asked as it is.
pub(crate) fn of_question(text: &str) -> Vec<Asked> {
    let folded = folded(clipped(text));
    let words: Vec<Piece<'_>> = pieces(&folded);
    let likely = language::likely(&words);
    let said: Vec<Piece<'_>> = said(&words, &likely);
    collect(if said.is_empty() { &words } else { &said }, &likely)
}

/// The words of a question that say something, and such parts of its runs.
fn said<'a>(words: &[Piece<'a>], languages: &[Language]) -> Vec<Piece<'a>> {
    let is_japanese = unspaced::is_japanese(words);
    let (mut out, mut follows_word) = (Vec::new(), false);
    for piece in words {
        match piece {
            Piece::Word(word) => {
                let stop = stop::languages(word);
                if !languages.iter().any(|language| stop.contains(*language)) {
                    out.push(*piece);
                }
            }
            Piece::Run(run) => {
                let contents = unspaced::contents(run, is_japanese, follows_word);
                out.extend(contents.into_iter().map(Piece::Run));
            }
        }
        follows_word = matches!(piece, Piece::Word(_));
    }
    out
}

fn collect(words: &[Piece<'_>], languages: &[Language]) -> Vec<Asked> {
    let stemmers: Vec<_> = languages.iter().map(|language| language.stemmer()).collect();
    let mut out: Vec<Asked> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for piece in words {
        match piece {
            Piece::Word(word) => {
                let mut stems: Vec<String> =
                    stemmers.iter().filter_map(|stemmer| stem(stemmer, word)).collect();
                stems.sort_unstable();
                stems.dedup();
                push(
                    &mut out,
                    &mut seen,
                    Asked { exact: head(word).to_owned(), stems, prefix: false },
                );
            }
            Piece::Run(run) if run.chars().count() == 1 => {
                push(
                    &mut out,
                    &mut seen,
                    Asked { exact: (*run).to_owned(), stems: Vec::new(), prefix: true },
                );
            }
            Piece::Run(run) => {
                for pair in both(run) {
                    push(
                        &mut out,
                        &mut seen,
                        Asked { exact: pair, stems: Vec::new(), prefix: false },
                    );
                }
            }
        }
    }
    out
}

fn push(out: &mut Vec<Asked>, seen: &mut HashSet<String>, asked: Asked) {
    if out.len() < ASKED && seen.insert(asked.exact.clone()) {
        out.push(asked);
    }
}

fn clipped(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SEARCHED)).unwrap_or(text)
}

fn both(run: &str) -> impl Iterator<Item = String> {
    run.chars().zip(run.chars().skip(1)).map(|(a, b)| String::from_iter([a, b]))
}

/// Pairs, then the last character: a question of one character is a prefix of a pair, or it.
fn pairs(run: &str, add: &mut impl FnMut(&str)) {
    for pair in both(run) {
        add(&pair);
    }
    let last = run.char_indices().next_back().map_or(0, |(at, _)| at);
    add(run.get(last..).unwrap_or(run));
}

#[cfg(test)]
mod tests;
