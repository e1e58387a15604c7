//! Scripts of the offline responder, written as text files in this format:
//!
//! ```text
//! # A line that begins with # is a comment. Indentation is for the eye.
//! greeting: Hello. What is on your mind?      what opens a conversation (required)
//! farewell: Goodbye.                          what answers a word of `quit`
//! quit: bye, goodbye
//! pre: dont = don't                           words replaced before anything else; both sides may be phrases
//! post: my = your                             words replaced in quoted parts of the sentence
//! post-end: you = me                          the same, only for the last words of such a part
//! class FAMILY: mother, father                words that patterns name as (/FAMILY)
//!
//! key 5: remember                             a keyword with its rank (0 if left out); the best in a sentence wins
//!   match: 0 i remember 0                     a pattern: 0 = any words, 2 = exactly two, (*a b) = a or b, (/FAMILY)
//!     say: Why do you think of {4} now?       an answer; {4} is what the fourth element covered; answers are used in turn
//!     goto: what                              go on with the rules of another keyword
//!     next                                    go on with the next keyword of the sentence
//!     restate: i think {4} => think           put the sentence differently, then use the rules of another keyword
//! key: recall = remember                      another word with the same rules
//!
//! memory: my                                  sentences with this keyword are remembered …
//!   match: 0 my 0
//!     say: Earlier you spoke of your {3}.     … and brought up again when nothing else matches
//!
//! none:                                       when there is no keyword (required)
//!     say: Please go on.
//! ```

mod parse;
mod rules;

pub use self::rules::Script;
pub(super) use self::rules::{AnswerStep, Match, Rule, Substitution, Template, TemplatePiece};
use galatea_core::{Error, Result};

/// Text of the built-in script.
const BUILT_IN: &str = include_str!("rules.txt");

impl Script {
    /// The built-in script.
    ///
    /// # Errors
    /// Never in a tested build: a test parses them.
    pub fn built_in() -> Result<Self> {
        Self::parse(BUILT_IN)
    }

    /// Reads a script.
    ///
    /// # Errors
    /// `Invalid` with line and column for anything the format above does not allow.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map_err(|fault| {
            Error::invalid(format!("the offline script is faulty: {}", fault.what))
                .with_code(crate::wire::codes::SCRIPT)
                .with("line", fault.line)
                .with("column", fault.column)
        })
    }

    /// The text that opens a conversation.
    pub fn greeting(&self) -> &str {
        self.greetings.first().map_or("Hello.", String::as_str)
    }

    /// Number of words that have rules.
    pub fn keywords(&self) -> usize {
        self.keys.len()
    }
}
