//! Handles single surrogates: halves of characters, which JSON may contain as escapes and Rust
//! strings may not.
//!
//! JSON escapes a character beyond U+FFFF as two halves (RFC 8259 §7), and a stream may end a piece
//! between them: `"\ud83d"`, then `"\ude00"`. The parser refuses each half on its own. Before a
//! frame is parsed, single halves are therefore replaced by stand-ins: characters of the last
//! private plane. Where the pieces are joined, two stand-ins become one character, and a stand-in
//! without its other half becomes U+FFFD. Genuine characters among these 2,048 private ones, which
//! no font has, also become U+FFFD.

use std::borrow::Cow;

use galatea_core::model::OnText;
use serde::de::DeserializeOwned;

/// First surrogate; high surrogates come before low ones.
const HIGH: u32 = 0xD800;
const LOW: u32 = 0xDC00;
const END: u32 = 0xE000;
/// First stand-in. There is one for each surrogate, up to the last code point.
const STAND_IN: u32 = 0x10_F800;

/// Parses JSON that may contain single halves. Its strings then contain stand-ins, which [`Joined`]
/// resolves.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Option<T> {
    serde_json::from_str(&rewritten(json, |half| {
        char::from_u32(half - HIGH + STAND_IN).unwrap_or(char::REPLACEMENT_CHARACTER)
    }))
    .ok()
}

/// Does the same as [`parse`] for a whole body.
pub(crate) fn parse_bytes<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    parse(std::str::from_utf8(json).ok()?)
}

/// Replaces single halves in JSON text by U+FFFD. The arguments of a tool call are JSON inside a
/// JSON string, so they may contain escaped halves of their own.
pub(crate) fn mended(json: String) -> String {
    match rewritten(&json, |_| char::REPLACEMENT_CHARACTER) {
        Cow::Borrowed(_) => json,
        Cow::Owned(mended) => mended,
    }
}

/// Resolves the stand-ins in a whole text.
pub(crate) fn whole(text: &str) -> String {
    let mut joined = Joined::default();
    joined.push(text);
    joined.finish()
}

/// A text that is joined from pieces.
#[derive(Debug, Default, Clone)]
pub(crate) struct Joined {
    text: String,
    /// A high half whose low half may come with the next piece.
    open: Option<u32>,
}

impl Joined {
    /// Adds a piece and returns the text it added, without a half that is still open.
    pub(crate) fn push(&mut self, piece: &str) -> &str {
        let before = self.text.len();
        for c in piece.chars() {
            let half = u32::from(c).checked_sub(STAND_IN).map(|at| at + HIGH);
            match (self.open.take(), half) {
                (Some(high), Some(low)) if low >= LOW => {
                    let joined = 0x1_0000 + ((high - HIGH) << 10) + (low - LOW);
                    self.text.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (open, half) => {
                    if open.is_some() {
                        self.text.push(char::REPLACEMENT_CHARACTER);
                    }
                    match half {
                        Some(high) if high < LOW => self.open = Some(high),
                        Some(_) => self.text.push(char::REPLACEMENT_CHARACTER),
                        None => self.text.push(c),
                    }
                }
            }
        }
        &self.text[before..]
    }

    /// Adds a piece and shows what it added, unless that is nothing.
    pub(crate) fn show(&mut self, piece: &str, on_text: &OnText<'_>) {
        let added = self.push(piece);
        if !added.is_empty() {
            on_text(added);
        }
    }

    /// Returns the text. A half that is still open becomes U+FFFD.
    pub(crate) fn finish(mut self) -> String {
        if self.open.is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        self.text
    }
}

/// Replaces each single escaped half in JSON.
fn rewritten(json: &str, stand_in: impl Fn(u32) -> char) -> Cow<'_, str> {
    // Fast path for almost all JSON: halves are escapes that begin with `\ud`.
    if !json
        .as_bytes()
        .windows(3)
        .any(|w| w[0] == b'\\' && w[1] == b'u' && w[2].eq_ignore_ascii_case(&b'd'))
    {
        return Cow::Borrowed(json);
    }
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        let start = at + found;
        let Some(half) = escaped(&json[start..]) else {
            // The escaped character is one byte, or the start of a longer one, which contains no
            // backslash.
            at = json[start + 1..].chars().next().map_or(json.len(), |c| start + 1 + c.len_utf8());
            continue;
        };
        at = start + 6;
        if half < LOW && escaped(&json[at..]).is_some_and(|next| next >= LOW) {
            at += 6;
            continue;
        }
        out.push_str(&json[copied..start]);
        out.push(stand_in(half));
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[copied..]);
    Cow::Owned(out)
}

/// The surrogate whose escape the text begins with.
fn escaped(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let number = u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    (HIGH..END).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests;
