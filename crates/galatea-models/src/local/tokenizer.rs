//! WordPiece as BERT's, from a `tokenizer.json` of Hugging Face. A tokenizer of another kind is
//! refused rather than read wrongly.

use std::collections::HashMap;

use galatea_core::Result;
use serde_json::Value;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::unusable;

/// Longest word that is looked up, in characters, where the file does not say.
const WORD: usize = 100;
/// Longest word that a file may ask for, in characters. The time for a word grows with the square of
/// its length.
const LONGEST_WORD: usize = 200;

/// Cuts texts into tokens.
pub(super) struct Tokenizer {
    vocabulary: HashMap<String, usize>,
    /// Before the pieces of a word behind its first.
    prefix: String,
    /// Words of more characters are unknown.
    longest_word: usize,
    lowercase: bool,
    strip_accents: bool,
    /// Chinese characters are words of their own.
    chinese: bool,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// `Invalid` for a tokenizer of another kind.
    pub(super) fn of(file: &Value) -> Result<Self> {
        let text = |path: &str| file.pointer(path).and_then(Value::as_str);
        let flag = |path: &str| file.pointer(path).and_then(Value::as_bool);
        let kinds = [
            text("/model/type").unwrap_or("WordPiece"),
            text("/normalizer/type").unwrap_or("BertNormalizer"),
            text("/pre_tokenizer/type").unwrap_or("BertPreTokenizer"),
        ];
        if kinds != ["WordPiece", "BertNormalizer", "BertPreTokenizer"] {
            return Err(unusable("the tokenizer is of another kind than BERT's WordPiece")
                .with("kind", kinds.join(", ")));
        }
        let unknown = text("/model/unk_token").unwrap_or("[UNK]");
        let vocabulary = file
            .pointer("/model/vocab")
            .and_then(Value::as_object)
            .ok_or_else(|| unusable("tokenizer.json has no vocabulary"))?
            .iter()
            // Unknown words have no part in an embedding.
            .filter(|(token, _)| *token != unknown)
            .filter_map(|(token, id)| Some((token.clone(), usize::try_from(id.as_u64()?).ok()?)))
            .collect();
        let normalizes = file.get("normalizer").is_some_and(|part| !part.is_null());
        let lowercase = normalizes && flag("/normalizer/lowercase").unwrap_or(true);
        Ok(Self {
            vocabulary,
            prefix: text("/model/continuing_subword_prefix").unwrap_or("##").to_owned(),
            longest_word: file
                .pointer("/model/max_input_chars_per_word")
                .and_then(Value::as_u64)
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(WORD)
                .min(LONGEST_WORD),
            lowercase,
            // BERT strips accents where it lowers letters, unless the file says otherwise.
            strip_accents: flag("/normalizer/strip_accents").unwrap_or(lowercase),
            chinese: normalizes && flag("/normalizer/handle_chinese_chars").unwrap_or(true),
        })
    }

    /// The largest id.
    pub(super) fn largest(&self) -> Option<usize> {
        self.vocabulary.values().max().copied()
    }

    /// The ids of a text's known tokens, without marks of beginning and end.
    pub(super) fn token_ids<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        text.split_whitespace()
            .flat_map(|word| self.split_words(word))
            .flat_map(|word| self.pieces(&word))
    }

    /// A run without spaces, cleaned, as words and punctuation marks.
    fn split_words(&self, run: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut end = true;
        for c in self.normalised(run).chars() {
            if c.is_control() || c == '\u{fffd}' {
                continue;
            }
            let alone = is_punctuation(c) || self.chinese && is_chinese(c);
            if alone || end {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(c);
            }
            end = alone;
        }
        words.retain(|word| !word.is_empty());
        words
    }

    fn normalised(&self, text: &str) -> String {
        let bare: String = if self.strip_accents {
            text.nfd().filter(|c| !is_combining_mark(*c)).collect()
        } else {
            text.to_owned()
        };
        if self.lowercase { bare.to_lowercase() } else { bare }
    }

    /// The longest known pieces from the left. None if a part of the word is unknown.
    fn pieces(&self, word: &str) -> Vec<usize> {
        if word.chars().count() > self.longest_word {
            return Vec::new();
        }
        let (mut ids, mut rest) = (Vec::new(), word);
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let known = ends.into_iter().find_map(|end| {
                let piece = &rest[..end];
                let id = if ids.is_empty() {
                    self.vocabulary.get(piece)
                } else {
                    self.vocabulary.get(&format!("{}{piece}", self.prefix))
                };
                id.map(|id| (end, *id))
            });
            let Some((end, id)) = known else { return Vec::new() };
            ids.push(id);
            rest = &rest[end..];
        }
        ids
    }
}

/// Punctuation: all of ASCII's symbols, as BERT has it, and the common marks of other scripts.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
            | '\u{37e}' | '\u{387}' | '\u{55a}'..='\u{55f}' | '\u{589}' | '\u{58a}' | '\u{5be}'
            | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{66a}'..='\u{66d}' | '\u{6d4}'
            | '\u{964}' | '\u{965}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}'
            | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{30fb}'
            | '\u{ff01}'..='\u{ff03}' | '\u{ff05}'..='\u{ff0a}' | '\u{ff0c}'..='\u{ff0f}'
            | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' | '\u{ff20}' | '\u{ff3b}'..='\u{ff3d}'
            | '\u{ff5b}' | '\u{ff5d}' | '\u{ff5f}'..='\u{ff65}')
}

/// The blocks that BERT's tokenizer cuts into single characters.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b820}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
