//! Words by which known facts are looked for that say the same in other words.

use super::words;
use crate::{
    fold::fold,
    summary::numbers::{Token, tokens},
};

/// Words added at most.
const MOST: usize = 60;

/// A text with the words that may stand for its own: "moved" finds "lives in".
pub(crate) fn with_relatives(text: &str) -> String {
    let mut more: Vec<&str> = Vec::new();
    for token in tokens(text) {
        let Token::Word(word) = token else { continue };
        for relative in words::relatives(&fold(word)) {
            if more.len() < MOST && !more.contains(&relative) {
                more.push(relative);
            }
        }
    }
    more.sort_unstable();
    format!("{text} {}", more.join(" ")).trim_end().to_owned()
}
