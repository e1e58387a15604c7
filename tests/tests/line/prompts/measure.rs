//! The cost of prompts: their tokens, and how many of these the provider of the model has just read
//! as the beginning of the prompt before.
#![allow(clippy::print_stdout, reason = "SHOW_PROMPT prints for people")]

use galatea_core::{
    Timestamp,
    model::{CacheFor, ChatMessage, ChatRole, TextRequest},
    tokens::Family,
};
use serde_json::{Value, json};

/// A prompt as providers read it: tools, instructions, messages.
pub(crate) struct Prompt {
    parts: Vec<String>,
    /// The part that holds for one turn only: what the program says last.
    turn: Option<usize>,
    tools: usize,
    has_system: bool,
    /// Parts up to the mark behind which nothing is cached; 0 without a mark.
    stable: usize,
    /// Time that the tools and instructions are cached.
    instructions: CacheFor,
}

impl Prompt {
    pub(crate) fn of(request: &TextRequest) -> Self {
        let tools = request
            .tools
            .iter()
            .map(|tool| format!("{}\n{}\n{}", tool.name, tool.description, tool.parameters));
        let messages = request.messages.iter().map(|message| message.text());
        let parts: Vec<String> = tools.chain(request.system.clone()).chain(messages).collect();
        let behind = request.messages.len() - request.stable;
        let late = |message: &ChatMessage| message.role == ChatRole::System;
        let late = request.messages.iter().rposition(late).filter(|at| *at >= request.leading());
        let late = late.map(|at| parts.len() - request.messages.len() + at);
        Self {
            turn: late,
            tools: request.tools.len(),
            instructions: request.cache_instructions,
            has_system: request.system.is_some(),
            stable: if request.stable > 0 { parts.len() - behind } else { 0 },
            parts,
        }
    }

    pub(crate) fn tokens(&self, family: Family) -> u64 {
        tokens(family, &self.parts)
    }

    /// Tokens of the parts that both prompts begin with.
    pub(crate) fn shared(&self, before: &Self, family: Family) -> u64 {
        let same = before.parts.iter().zip(&self.parts).take_while(|(b, now)| b == now).count();
        tokens(family, &self.parts[..same])
    }

    /// Tokens that the provider is asked to cache.
    pub(crate) fn marked(&self, family: Family) -> u64 {
        tokens(family, &self.parts[..self.stable])
    }

    /// Tokens of its sections: tools, instructions, the conversation, and the last message, which
    /// says what holds for this turn only. The conversation includes what is asked.
    fn sections(&self, family: Family) -> Value {
        let system = self.tools + usize::from(self.has_system);
        let messages = &self.parts[system..];
        let turn = self.turn.map_or(0, |turn| tokens(family, &self.parts[turn..=turn]));
        json!({
            "tools": tokens(family, &self.parts[..self.tools]),
            "instructions": tokens(family, &self.parts[self.tools..system]),
            "conversation": tokens(family, messages) - turn,
            "turn": turn,
        })
    }

    pub(crate) fn show(&self) {
        for part in &self.parts {
            let beginning: String = part.chars().take(60).collect();
            println!(
                "{} {}",
                tokens(Family::Other, std::slice::from_ref(part)),
                beginning.replace('\n', " ")
            );
        }
    }
}

fn tokens(family: Family, parts: &[String]) -> u64 {
    parts.iter().map(|part| family.text(part)).sum()
}

/// Figures of prompts, for `cargo xtask bench --prompts`: for each, counted as each family counts.
pub(crate) fn figures(asked: &[(Timestamp, TextRequest)], answers: &[String]) -> Value {
    let prompts: Vec<Prompt> = asked.iter().map(|(_, request)| Prompt::of(request)).collect();
    let of = |family: Family| -> Vec<Value> {
        let prompt = |n: usize| {
            let before = n.checked_sub(1);
            json!({
                "after": before.map(|b| (asked[n].0.0 - asked[b].0.0) / 1_000),
                "tokens": prompts[n].tokens(family),
                "shared": before.map_or(0, |b| prompts[n].shared(&prompts[b], family)),
                "marked": prompts[n].marked(family),
                "instructions_kept": match prompts[n].instructions {
                    CacheFor::Nothing => 0,
                    CacheFor::Minutes => 300,
                    CacheFor::Hour => 3_600,
                },
                "answer": family.text(&answers[n]),
                "sections": prompts[n].sections(family),
            })
        };
        (0..prompts.len()).map(prompt).collect()
    };
    json!({ "openai": of(Family::Other), "anthropic": of(Family::Claude) })
}
