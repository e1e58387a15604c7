//! JSON as models really write it: with words around it, with commas too many, with raw line breaks
//! and quotes, cut off anywhere.
//!
//! A sound document is read by `serde_json`; only a broken one by the forgiving reader below.

use serde_json::{Map, Number, Value};

/// A key longer than this is words.
pub const LONGEST_KEY: usize = 64;
/// Deeper values are dropped.
const MAX_DEPTH: usize = 32;

/// Fault of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mended {
    /// It was malformed, and was repaired.
    Broken,
    /// It was cut off in the middle.
    Torn,
}

/// A value, as far as it could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadValue {
    /// The value as read, repairs included.
    pub value: Value,
    /// Number of the text's bytes that it takes.
    pub length: usize,
    /// Mended faults; none for a sound value.
    pub mended: Option<Mended>,
}

/// Reads the value that `text` begins with. Never fails: what cannot be read is left out.
pub fn value_at(text: &str) -> ReadValue {
    let mut strict = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = strict.next() {
        return ReadValue { value, length: strict.byte_offset(), mended: None };
    }
    let mut reader = JsonReader { text, bytes: text.as_bytes(), at: 0, torn: false };
    let value = reader.value(0, Nesting::Top).unwrap_or(Value::Null);
    let mended = Some(if reader.torn { Mended::Torn } else { Mended::Broken });
    ReadValue { value, length: reader.at.min(text.len()), mended }
}

#[derive(Clone, Copy, PartialEq)]
enum Nesting {
    Top,
    Key,
    Member,
    Item,
}

/// A forgiving reader: every step consumes input, so it ends; nesting is bounded.
struct JsonReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    torn: bool,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at = self.text.len() - rest.trim_start().len();
    }

    fn end(&mut self) {
        self.at = self.bytes.len();
        self.torn = true;
    }

    fn value(&mut self, depth: usize, place: Nesting) -> Option<Value> {
        self.skip_space();
        if depth > MAX_DEPTH {
            self.end();
            return None;
        }
        match self.peek() {
            None => {
                self.torn = true;
                None
            }
            Some(b'{') => Some(Value::Object(self.object(depth))),
            Some(b'[') => Some(Value::Array(self.array(depth))),
            Some(_) => match self.quote() {
                Some(quote) => Some(Value::String(self.string(quote, place))),
                None => self.bare(),
            },
        }
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut map = Map::new();
        self.at += 1;
        loop {
            self.skip_space();
            match self.peek() {
                None => {
                    self.torn = true;
                    return map;
                }
                Some(b'}') => {
                    self.at += 1;
                    return map;
                }
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let key = match self.quote() {
                Some(quote) => self.string(quote, Nesting::Key),
                None => self.bare_key(),
            };
            self.skip_space();
            match self.peek() {
                Some(b':') => self.at += 1,
                Some(_) if key.is_empty() => {
                    self.step();
                    continue;
                }
                Some(_) => continue,
                None => {
                    self.torn = true;
                    return map;
                }
            }
            if let Some(value) = self.value(depth + 1, Nesting::Member) {
                map.insert(key, value);
            }
        }
    }

    fn array(&mut self, depth: usize) -> Vec<Value> {
        let mut list = Vec::new();
        self.at += 1;
        loop {
            self.skip_space();
            match self.peek() {
                None => {
                    self.torn = true;
                    return list;
                }
                Some(b']') => {
                    self.at += 1;
                    return list;
                }
                // The list was never closed, but what holds it is.
                Some(b'}') => return list,
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let before = self.at;
            if let Some(value) = self.value(depth + 1, Nesting::Item) {
                list.push(value);
            }
            if self.at == before {
                self.step();
            }
        }
    }

    fn step(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(1, char::len_utf8);
    }

    /// The closing counterpart of an opening quote here.
    fn quote(&self) -> Option<char> {
        match self.text[self.at..].chars().next() {
            Some('“') => Some('”'),
            Some(c @ ('"' | '\'')) => Some(c),
            _ => None,
        }
    }

    fn bare_key(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
            && self.at - start < LONGEST_KEY
        {
            self.at += 1;
        }
        self.text[start..self.at].to_owned()
    }

    fn bare(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let len = rest.find([',', '}', ']', '\n']).unwrap_or(rest.len());
        let word = rest[..len].trim();
        self.at += len;
        self.torn |= len == rest.len();
        match word {
            "" | "null" | "None" | "undefined" => (!word.is_empty()).then_some(Value::Null),
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            _ => Some(
                word.parse::<Number>()
                    .map_or_else(|_| Value::String(word.to_owned()), Value::Number),
            ),
        }
    }

    /// A string up to the quote that really ends it: one that is followed by what may follow a
    /// string here.
    fn string(&mut self, quote: char, place: Nesting) -> String {
        self.step();
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(stop) = rest.find(['\\', quote]) else {
                out.push_str(rest);
                self.end();
                return out;
            };
            out.push_str(&rest[..stop]);
            self.at += stop;
            if self.peek() == Some(b'\\') {
                self.escape(&mut out);
                continue;
            }
            let after = self.at + quote.len_utf8();
            if ends(&self.text[after..], place) {
                self.at = after;
                return out;
            }
            out.push(quote);
            self.at = after;
        }
    }

    fn escape(&mut self, out: &mut String) {
        let rest = &self.text[self.at + 1..];
        let Some(c) = rest.chars().next() else { return self.end() };
        self.at += 1 + c.len_utf8();
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\\' | '/' | '\'' | '\n' => out.push(c),
            'u' => self.unicode(out),
            other => {
                // `\(` and the like: the model forgot to double the backslash.
                out.push('\\');
                out.push(other);
            }
        }
    }

    fn unicode(&mut self, out: &mut String) {
        let Some(first) = self.hex4() else { return };
        let code = if (0xd800..0xdc00).contains(&first) {
            if !self.text[self.at..].starts_with("\\u") {
                if self.text.len() - self.at < 2 {
                    return self.end();
                }
                out.push(char::REPLACEMENT_CHARACTER);
                return;
            }
            self.at += 2;
            let Some(second) = self.hex4() else { return };
            // RFC 8259 §7: a character beyond U+FFFF is written as a pair of surrogates.
            0x10000 + ((first - 0xd800) << 10) + second.wrapping_sub(0xdc00).min(0x3ff)
        } else {
            first
        };
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4);
        let Some(code) = digits.and_then(|d| u32::from_str_radix(d, 16).ok()) else {
            if self.text.len() - self.at < 4 {
                self.end();
            }
            return None;
        };
        self.at += 4;
        Some(code)
    }
}

/// True if a string ends where `rest` begins.
fn ends(rest: &str, place: Nesting) -> bool {
    let rest = rest.trim_start();
    let Some(next) = rest.chars().next() else { return true };
    match (place, next) {
        (Nesting::Top, _) => true,
        (Nesting::Key, _) => next == ':',
        (_, '}' | ']') => true,
        (Nesting::Member, ',') => {
            let after = rest[1..].trim_start();
            after.is_empty() || after.starts_with('}') || begins_member(after)
        }
        (Nesting::Member, _) => begins_member(rest),
        (Nesting::Item, ',') => {
            let after = rest[1..].trim_start();
            after.is_empty()
                || after.starts_with(['"', '\'', '“', '{', '[', ']', '-', 't', 'f', 'n'])
                || after.starts_with(|c: char| c.is_ascii_digit())
        }
        (Nesting::Item, _) => false,
    }
}

/// True if a key with its colon comes next (or is cut off in the middle).
fn begins_member(rest: &str) -> bool {
    let quoted = rest.strip_prefix(['"', '\'', '“']);
    let key = quoted.unwrap_or(rest);
    let len = key
        .bytes()
        .take(LONGEST_KEY)
        .take_while(|b| b.is_ascii_alphanumeric() || b"_-. ".contains(b))
        .count();
    let after = key[len..].strip_prefix(['"', '\'', '”']).unwrap_or(&key[len..]).trim_start();
    if after.is_empty() { quoted.is_some() } else { len > 0 && after.starts_with(':') }
}
