//! Surrogates: halves of characters that JSON may carry as escapes, and Rust's strings may not.
//!
//! JSON escapes a character beyond U+FFFF as two halves (RFC 8259 §7), and a stream may end one of
//! its pieces between them: `"\ud83d"`, then `"\ude00"`. The parser refuses each by itself. So
//! halves that stand alone are written as characters of the last private plane before a frame is
//! parsed, joined again where the pieces come together, and become U+FFFD where the other half
//! never comes. Characters that really are of those 2,048 in that plane, which no font has, become
//! U+FFFD, too.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Surrogates begin here, high ones first.
const HIGH: u32 = 0xD800;
const LOW: u32 = 0xDC00;
const END: u32 = 0xE000;
/// Stand-ins begin here, one for each surrogate, up to the last character there is.
const STAND_IN: u32 = 0x10_F800;

/// Parses JSON that may hold halves; strings in it hold stand-ins, see [`Joined`].
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Option<T> {
    serde_json::from_str(&rewritten(json, |half| {
        char::from_u32(half - HIGH + STAND_IN).unwrap_or(char::REPLACEMENT_CHARACTER)
    }))
    .ok()
}

/// [`parse`] of a whole body.
pub(crate) fn parse_bytes<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    parse(std::str::from_utf8(json).ok()?)
}

/// JSON text without halves: arguments of a tool call are a text of JSON in a text of JSON, so
/// their own escapes may be halves.
pub(crate) fn mended(json: String) -> String {
    match rewritten(&json, |_| char::REPLACEMENT_CHARACTER) {
        Cow::Borrowed(_) => json,
        Cow::Owned(mended) => mended,
    }
}

/// Text without stand-ins.
pub(crate) fn whole(text: &str) -> String {
    let mut joined = Joined::default();
    joined.push(text);
    joined.finish()
}

/// A text that comes together from pieces.
#[derive(Debug, Default, Clone)]
pub(crate) struct Joined {
    text: String,
    /// A high half whose other one may come with the next piece.
    open: Option<u32>,
}

impl Joined {
    /// Adds a piece and returns what has become of it, without a half that is still open.
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

    /// The text; a half that is still open stays one.
    pub(crate) fn finish(mut self) -> String {
        if self.open.is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        self.text
    }
}

/// The JSON with another character for each escaped half that stands alone.
fn rewritten(json: &str, stand_in: impl Fn(u32) -> char) -> Cow<'_, str> {
    // Nearly all of it: halves are escapes that begin with `\ud`.
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
            // The escaped character is one byte or the beginning of a longer one, which holds no
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

/// The surrogate whose escape a text begins with.
fn escaped(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let number = u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    (HIGH..END).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests;
