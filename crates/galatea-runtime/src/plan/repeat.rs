//! Cuts what a model repeats: it may say a thing twice, and not a third time. Code blocks and tables
//! stay as they are.

use std::{collections::HashMap, ops::Range};
use unicode_segmentation::UnicodeSegmentation;

use super::types::Repairs;

/// Times that the same sentence or line may stand in a row.
const MOST: usize = 2;
/// Times for lines of a verse, as refrains have them.
const MOST_OF_VERSE: usize = 3;
/// Letters of a piece that may stand any number of times: "ha ha ha", "No. No. No."
const SHORT: usize = 12;
/// Letters of a line of verse.
const VERSE: usize = 48;
/// Letters of a sentence that prose does not need a third time.
const SENTENCE: usize = 14;
/// Sentences in a row that may be repeated together.
const LONGEST_LOOP: usize = 12;
/// Words in a row that may be repeated together inside of a sentence, the times that is too often, and
/// how many letters the repetition has at least.
const WORDS: (usize, usize, usize) = (12, 6, 60);
/// Times that a character may stand in a row, and how many of them stay.
const CHARACTERS: (usize, usize) = (120, 12);
/// Letters of a paragraph that is not said twice, wherever it stands.
const PARAGRAPH: usize = 60;

/// Words without the repetitions.
pub(super) fn cut(text: &str, repairs: &mut Repairs) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, part) in text.split("```").enumerate() {
        if place > 0 {
            out.push_str("```");
        }
        if place % 2 == 1 {
            out.push_str(part);
        } else {
            out.push_str(&of_prose(part));
        }
    }
    if out.len() == text.len() {
        return out;
    }
    repairs.note("repetitions cut off");
    out.trim().to_owned()
}

fn of_prose(text: &str) -> String {
    let text = without_runs(text);
    let text = without_paragraphs(&text);
    let text = without_sentences(&text);
    let text = until_circling(&text);
    without_words(text)
}

/// The text until a sentence of prose comes a third time, wherever the others stand: from there a
/// model goes round in circles. A refrain has lines of verse, which are shorter.
fn until_circling(text: &str) -> &str {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let is_prose = |range: &Range<usize>| {
        if is_paragraph(text, range) {
            return true;
        }
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[range.start..].find('\n').map_or(text.len(), |at| range.start + at);
        text[start..end].len() > VERSE
    };
    for (range, key) in pieces(text) {
        if key.len() <= VERSE && (key.len() <= SENTENCE || !is_prose(&range)) {
            continue;
        }
        let times = seen.entry(key).or_default();
        *times += 1;
        if *times > MOST {
            return text[..range.start].trim_end();
        }
    }
    text
}

/// True if a whole sentence stands as a paragraph of its own, which no verse does.
fn is_paragraph(text: &str, range: &Range<usize>) -> bool {
    let before = &text[..range.start];
    let piece = &text[range.clone()];
    (before.is_empty() || before.ends_with("\n\n"))
        && (range.end == text.len()
            || piece.ends_with("\n\n")
            || text[range.end..].starts_with('\n'))
        && piece.trim_end().ends_with(['.', '!', '?'])
}

/// Long runs of one character.
fn without_runs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut last, mut count, mut held) = ('\0', 0_usize, String::new());
    let mut flush = |held: &mut String, count: usize, last: char| {
        let keep = if count > CHARACTERS.0 { CHARACTERS.1 * last.len_utf8() } else { held.len() };
        out.push_str(&held[..keep]);
        held.clear();
    };
    for c in text.chars() {
        let may_run = matches!(c, '-' | '=' | '_' | '*' | '─' | '━' | '#' | '~');
        if c != last || may_run || c.is_whitespace() {
            flush(&mut held, count, last);
            count = 0;
        }
        (last, count) = (c, count + 1);
        held.push(c);
    }
    flush(&mut held, count, last);
    out
}

/// A long paragraph of one line that stands there a second time.
fn without_paragraphs(text: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    for paragraph in text.split("\n\n") {
        let key = key(paragraph);
        let counts = key.len() >= PARAGRAPH && !paragraph.trim().contains('\n');
        if counts && seen.contains(&key) {
            continue;
        }
        if counts {
            seen.push(key);
        }
        kept.push(paragraph);
    }
    kept.join("\n\n")
}

/// Sentences and lines, alone or several together, in a row.
fn without_sentences(text: &str) -> String {
    let pieces: Vec<(Range<usize>, String)> = pieces(text);
    let keys: Vec<&str> = pieces.iter().map(|(_, key)| key.as_str()).collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < pieces.len() {
        let most = |length: usize| {
            let is_verse = pieces[at..at + length].iter().all(|(range, key)| {
                key.len() <= VERSE
                    && text[range.clone()].ends_with('\n')
                    && !is_paragraph(text, range)
            });
            if is_verse { MOST_OF_VERSE } else { MOST }
        };
        let longest = LONGEST_LOOP.min((pieces.len() - at) / 2);
        let found = (1..=longest).find_map(|length| {
            let letters: usize = keys[at..at + length].iter().map(|key| key.len()).sum();
            if letters < SHORT {
                return None;
            }
            let times = times(&keys[at..], length);
            (times > most(length)).then_some((length, times))
        });
        match found {
            Some((length, times)) => {
                let kept = at + length;
                out.push_str(&text[pieces[at].0.start..pieces[kept - 1].0.end]);
                at += length * times;
                // The next repetition goes, too, where the answer ends in its middle.
                let rest = &keys[at..];
                let torn = rest.len() <= length
                    && rest.iter().zip(&keys[kept - length..kept]).all(|(a, b)| b.starts_with(a));
                if torn {
                    at = pieces.len();
                }
            }
            None => {
                out.push_str(&text[pieces[at].0.clone()]);
                at += 1;
            }
        }
    }
    out
}

/// Times that the first `length` of these stand in a row.
fn times<T: PartialEq>(items: &[T], length: usize) -> usize {
    let (first, mut count) = (&items[..length], 1);
    while items.get(count * length..(count + 1) * length).is_some_and(|next| next == first) {
        count += 1;
    }
    count
}

/// Sentences with their lines' ends, each with what it is compared by. Rows of tables are told apart
/// by their place.
fn pieces(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_row = line.trim_start().starts_with('|') || line.starts_with("    ");
        let mut number = None;
        for (offset, sentence) in line.split_sentence_bound_indices() {
            let start = number.take().unwrap_or(at + offset);
            let end = at + offset + sentence.len();
            // The number of a list belongs to what follows it.
            if is_number(sentence) && end < at + line.trim_end().len() {
                number = Some(start);
                continue;
            }
            let key = if is_row { format!("row {start}") } else { key(&text[start..end]) };
            match found.last_mut() {
                Some((range, _)) if key.is_empty() => range.end = end,
                _ => found.push((start..end, key)),
            }
        }
        at += line.len();
    }
    found
}

fn is_number(sentence: &str) -> bool {
    let digits = sentence.trim().strip_suffix(['.', ')']);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// The letters of a piece, without the number or mark of a list in front.
fn key(piece: &str) -> String {
    let bare = piece.trim().trim_start_matches(['-', '*', '•', '>', ' ']);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &bare[digits..];
    let bare = match behind.strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 && !rest.is_empty() => rest,
        _ => bare,
    };
    bare.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Words in a row inside of a sentence: "very very very very very very".
fn without_words(text: &str) -> String {
    let words: Vec<(usize, &str)> = text.split_word_bound_indices().collect();
    let spoken: Vec<(usize, &str)> =
        words.iter().copied().filter(|(_, w)| w.contains(char::is_alphanumeric)).collect();
    let keys: Vec<String> = spoken.iter().map(|(_, word)| word.to_lowercase()).collect();
    let (longest, often, letters) = WORDS;
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < spoken.len() {
        let most = longest.min((spoken.len() - at) / often);
        let found = (1..=most).find_map(|length| {
            let times = times(&keys[at..], length);
            let size: usize = keys[at..at + length].iter().map(String::len).sum();
            (times >= often && size * times >= letters).then_some((length, times))
        });
        match found {
            Some((length, times)) => {
                let end = |place: usize| spoken.get(place).map_or(text.len(), |(at, _)| *at);
                out.push_str(&text[copied..end(at + length * MOST)]);
                at += length * times;
                copied = end(at);
            }
            None => at += 1,
        }
    }
    out.push_str(&text[copied..]);
    out
}
