//! Decodes text in any of the usual encodings, or refuses it by name: text that was decoded wrongly
//! is found by no question and cited as rubbish.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use galatea_core::{Error, Result};
use std::borrow::Cow;

use crate::refusal::unreadable;

/// Bytes that are looked at to guess an encoding: a guess on more is no better.
const LOOKED_AT: usize = 256 << 10;
/// Bytes before the first one that is not ASCII which are looked at as well.
const BEFORE: usize = 1 << 10;
/// Valid characters for each invalid byte from which text counts as damaged UTF-8.
const PER_FAULT: usize = 4;

/// Decodes UTF-8, UTF-16 (with or without a byte order mark), or any encoding of the web (Encoding
/// Standard), guessed from the bytes.
///
/// # Errors
/// `Invalid` for bytes that are not text, and for text whose encoding cannot be told.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    if bytes.starts_with(&[0xff, 0xfe, 0, 0]) || bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err(unreadable("the text is in UTF-32, which is not read").with_fix(SAVE));
    }
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Ok(encoding.decode(bytes).0);
    }
    let has_zeros = bytes.contains(&0);
    match std::str::from_utf8(bytes) {
        // ISO-2022-JP consists of ASCII and escapes.
        Ok(text) if !has_zeros && !bytes.windows(2).any(|pair| pair == b"\x1b$") => {
            return Ok(Cow::Borrowed(text));
        }
        _ => {}
    }
    if has_zeros {
        return utf16(bytes).map(Cow::Owned).ok_or_else(|| {
            unreadable("the file holds binary data and not text")
                .with_fix("export it as PDF, DOCX, HTML or text, or leave it out")
        });
    }
    if is_damaged_utf8(bytes) {
        return Ok(UTF_8.decode_without_bom_handling(bytes).0);
    }
    let encoding = guess(bytes);
    let (text, has_faults) = encoding.decode_without_bom_handling(bytes);
    if has_faults && !is_nearly_whole(&text) || !is_plausible(&text) {
        return Err(unknown(encoding));
    }
    Ok(text)
}

const SAVE: &str = "save it as UTF-8";

fn unknown(likest: &'static Encoding) -> Error {
    let message = format!(
        "the encoding of the text cannot be told: read as {}, the likeliest, it is not words",
        likest.name()
    );
    unreadable(message).with_fix(SAVE)
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0).saturating_sub(BEFORE);
    let end = first.saturating_add(LOOKED_AT).min(bytes.len());
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[first..end], end == bytes.len());
    detector.guess(None, Utf8Detection::Deny)
}

/// True if most characters that are not ASCII are valid UTF-8. A text in another encoding has hardly
/// any such by chance.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut faults) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        faults += usize::from(!chunk.invalid().is_empty());
    }
    faults > 0 && valid >= faults.saturating_mul(PER_FAULT)
}

/// UTF-16 without a byte order mark. In one byte order it is letters, in the other signs of many
/// scripts; binary data is letters in neither.
fn utf16(bytes: &[u8]) -> Option<String> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    [UTF_16LE, UTF_16BE]
        .into_iter()
        .filter_map(|encoding| {
            let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
            let (mut letters, mut usual, mut others) = (0_usize, 0_usize, 0_usize);
            let (mut pairs, mut mixed, mut before) = (0_usize, 0_usize, None);
            for c in text.chars() {
                if is_foreign(c) {
                    return None;
                }
                match c {
                    ' ' | '\n' | '\r' | '\t' | '\u{3000}' => usual += 1,
                    c if c.is_alphanumeric() => {
                        letters += 1;
                        usual += usize::from(c.is_ascii());
                    }
                    _ => others += 1,
                }
                let script = script(c);
                if let (Some(one), Some(other)) = (before, script) {
                    pairs += 1;
                    mixed += usize::from(one != other);
                }
                before = script;
            }
            // Blanks, line breaks and ASCII tell the order where both are letters.
            (letters > 0 && letters >= others && mixed.saturating_mul(MIXED) <= pairs)
                .then(|| ((usual, letters), text.into_owned()))
        })
        .max_by_key(|(score, _)| *score)
        .map(|(_, text)| text)
}

/// From one pair of letters in this number whose scripts differ, characters are binary data. In text a
/// word of another script stands beside the rest with its two ends only.
const MIXED: usize = 3;

/// The script of a letter, by its Unicode blocks; the scripts that East Asian text mixes are one.
/// `None` for what stands in text of any script.
fn script(c: char) -> Option<u32> {
    let code = u32::from(c);
    match code {
        _ if !c.is_alphabetic() => None,
        // Latin with the letters of phonetics, whose ligatures stand apart.
        0..0x300 | 0x1d00..0x1f00 | 0xfb00..0xfb07 => Some(0),
        0x1100..0x1200 | 0x2e80..0xa000 | 0xac00..0xd800 | 0xf900..0xfb00 => Some(1),
        0xff00..0x10000 | 0x20000.. => Some(1),
        // Greek and Arabic.
        0x1f00..0x2000 => Some(3),
        0xfb50..0xff00 => Some(6),
        _ => Some(code >> 8),
    }
}

/// A character that no text has: controls, private use, and what stands for an undecoded byte.
fn is_foreign(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1a}'))
        || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fffd}'..='\u{ffff}' | '\u{fdd0}'..='\u{fdef}')
}

/// True if so few bytes could not be decoded that they are damage.
fn is_nearly_whole(text: &str) -> bool {
    let faults = text.chars().filter(|c| *c == '\u{fffd}').count();
    let rest = text.chars().filter(|c| !c.is_ascii()).count().saturating_sub(faults);
    faults.saturating_mul(50) <= rest
}

/// True if a decoded text looks like words: the wrong encoding puts signs and capitals into the
/// middle of them (`Gr”áe`, `fŸr`), or yields hardly any letters.
fn is_plausible(text: &str) -> bool {
    let (mut foreign, mut odd, mut beyond) = (0_usize, 0_usize, 0_usize);
    let (mut letters, mut signs) = (0_usize, 0_usize);
    let (mut before, mut chars) = (' ', text.chars().peekable());
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        if c.is_alphabetic() {
            letters += 1;
        } else if !c.is_whitespace() {
            signs += 1;
        }
        if !c.is_ascii() {
            beyond += 1;
            foreign += usize::from(is_foreign(c));
            let inner = is_latin(before) && is_latin(next);
            // A letter of another script there is as odd as a sign.
            let is_sign = !is_latin(c) && !JOINS.contains(c);
            let is_capital = c.is_uppercase() && before.is_lowercase() && next.is_lowercase();
            odd += usize::from(inner && (is_sign || is_capital));
        } else if is_foreign(c) {
            foreign += 1;
        }
        before = c;
    }
    let is_mostly_signs = beyond.saturating_mul(3) > letters + signs && signs > letters;
    foreign.saturating_mul(50) <= beyond && odd.saturating_mul(5) <= beyond && !is_mostly_signs
}

/// Signs that stand inside of words.
const JOINS: &str = "’‘ʼ´·‑‐–—…\u{ad}\u{a0}";

/// A Latin letter, or a mark that is written over one.
fn is_latin(c: char) -> bool {
    c.is_alphabetic() && matches!(u32::from(c), 0..0x250 | 0x1e00..0x1f00)
        || matches!(c, '\u{300}'..='\u{36f}')
}

/// Bytes at the beginning of markup that are searched for its encoding (HTML, "prescan a byte
/// stream to determine its encoding").
const PRESCANNED: usize = 1024;

/// Decodes markup, which may state its encoding. UTF-8 is taken for what it is, since pages that were
/// converted often state the encoding that they had before.
///
/// # Errors
/// As [`decode`].
pub(super) fn decode_markup(bytes: &[u8]) -> Result<Cow<'_, str>> {
    // ISO-2022-JP consists of ASCII and escapes.
    let is_utf8 = std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0x1b);
    if !is_utf8
        && Encoding::for_bom(bytes).is_none()
        && let Some(encoding) = stated(bytes)
    {
        let (text, has_faults) = encoding.decode_without_bom_handling(bytes);
        if !has_faults {
            return Ok(text);
        }
        return decode(bytes).or_else(|error| match is_nearly_whole(&text) {
            true => Ok(text),
            false => Err(error),
        });
    }
    decode(bytes)
}

/// The encoding that markup states: `<meta charset="…">`, `content="…; charset=…"`, or
/// `<?xml encoding="…"?>`. `None` for UTF-8 and UTF-16, which their bytes tell.
fn stated(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(PRESCANNED)]).to_ascii_lowercase();
    let label = ["charset", "encoding"].into_iter().find_map(|name| {
        start.split(name).skip(1).find_map(|rest| {
            let value = rest.trim_start().strip_prefix('=')?.trim_start();
            let value = value.trim_start_matches(['"', '\'']);
            value.split(|c: char| c.is_whitespace() || "\"'>;?/".contains(c)).next()
        })
    })?;
    Encoding::for_label_no_replacement(label.as_bytes())
        .filter(|encoding| ![UTF_8, UTF_16LE, UTF_16BE].contains(encoding))
}
