//! The plan parser: whatever a model answers (tool calls, JSON, elizaOS XML, plain words, damaged
//! or cut off) → one typed [`Plan`].
//!
//! Pure and total: no input makes it fail or panic. What had to be mended is named in
//! [`Parsed::repairs`], so that `explain` can show it.

mod aside;
mod call_body;
mod calls;
mod coerce;
mod echo;
mod envelope;
mod form;
mod inner;
mod json;
mod json_plan;
mod loose;
mod names;
mod own_name;
mod parse;
mod pieces;
mod plain;
mod quoted;
mod repeat;
mod respond;
mod sentence;
mod tag;
mod talk;
mod template;
#[cfg(test)]
mod tests;
mod think;
mod tidy;
mod tree;
mod types;
mod visible;
mod voices;
mod whole;
mod xml;

pub(crate) use own_name::take_name_off;
pub use parse::parse;
pub use respond::{RespondDecision, parse_should_respond};
pub(crate) use sentence::whole_sentences;
pub(crate) use talk::Talk;
pub(crate) use tidy::tidy;
pub use types::{
    AnswerForm, MAX_ACTIONS, MAX_ANSWER, MAX_PROVIDERS, Parsed, Plan, PlanFormat, PlannedAction,
};
pub use visible::visible;
