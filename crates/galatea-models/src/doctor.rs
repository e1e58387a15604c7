//! The offline script: Weizenbaum's ELIZA (Communications of the ACM 9/1, 1966) with its own rules.
//! It answers when no model is configured.
//!
//! The algorithm is the published one. Keywords are ranked and put on a stack. Decomposition
//! patterns divide the sentence into parts, and reassembly rules, used in rotation, build an answer
//! from them. A rule may continue with another keyword (`goto`), with the next one on the stack
//! (`next`), or rephrase the sentence first (`restate`, PRE in the paper). If nothing matches, a
//! memory returns earlier topics. One thing differs: of several clauses, the one with the best
//! keyword is answered, not the first. The rules are a text file; [`script`] describes its format.
//!
//! A request contains the whole conversation, so this model has no state: the user's turns are
//! replayed, and a restart changes no answer.

mod engine;
mod pattern;
pub mod script;

pub use engine::TalkState;
pub use script::Script;

use std::collections::VecDeque;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, TextModel,
    model::{ChatRole, OnText, TextAnswer, TextRequest},
};

/// Most turns of the user that are replayed. Memory and the rotation of rules do not reach further
/// back.
const MAX_TURNS: usize = 64;
/// Most lines of a turn that are answered separately; longer texts are answered as a whole.
const MAX_LINES: usize = 4;

/// A [`TextModel`] that follows a script.
pub struct OfflineModel {
    info: ModelInfo,
    script: Script,
}

impl OfflineModel {
    /// Creates a model that follows `script`.
    pub fn new(script: Script) -> Self {
        let info = ModelInfo {
            provider: "offline".to_owned(),
            model: "script".to_owned(),
            scripted: true,
            ..ModelInfo::default()
        };
        Self { info, script }
    }

    /// The answer to the last of the user's `turns`, which are ordered oldest first. Never empty.
    pub fn answer<'a>(&self, turns: impl IntoIterator<Item = &'a str>) -> String {
        let mut state = TalkState::new(&self.script);
        let mut answer = String::new();
        for turn in turns {
            answer = self.turn(&mut state, turn);
        }
        if answer.is_empty() { self.script.greeting().to_owned() } else { answer }
    }

    fn turn(&self, state: &mut TalkState, text: &str) -> String {
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.len() > MAX_LINES {
            return engine::respond(&self.script, state, &lines.join(". "));
        }
        let mut replies: Vec<String> = Vec::new();
        for line in lines {
            let reply = engine::respond(&self.script, state, line);
            if !replies.contains(&reply) {
                replies.push(reply);
            }
        }
        if replies.is_empty() {
            engine::respond(&self.script, state, "")
        } else {
            replies.join("\n")
        }
    }
}

#[async_trait]
impl TextModel for OfflineModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let mut turns: VecDeque<String> = VecDeque::new();
        for message in request.messages.iter().filter(|message| message.role == ChatRole::User) {
            if turns.len() == MAX_TURNS {
                turns.pop_front();
            }
            turns.push_back(message.text());
        }
        let text = self.answer(turns.iter().map(String::as_str));
        if request.stream {
            on_text(&text);
        }
        Ok(TextAnswer { text, ..TextAnswer::default() })
    }
}

#[cfg(test)]
mod tests;
