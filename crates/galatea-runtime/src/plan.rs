//! The plan parser: whatever a model answers (tool calls, JSON, elizaOS XML, plain words, damaged
//! or cut off) → one typed [`Plan`].
//!
//! Pure and total: no input makes it fail or panic. What had to be mended is named in
//! [`Parsed::repairs`], so that `explain` can show it.

mod amid;
mod aside;
mod coerce;
mod envelope;
mod json;
mod names;
mod object;
mod own_name;
mod parse;
mod plain;
mod quoted;
mod respond;
mod shape;
mod tag;
#[cfg(test)]
mod tests;
mod think;
mod tree;
mod types;
mod whole;
mod xml;

pub(crate) use own_name::take_name_off;
pub use parse::parse;
pub use respond::{RespondDecision, parse_should_respond};
pub use types::{
    AnswerForm, MAX_ACTIONS, MAX_ANSWER, MAX_PROVIDERS, Parsed, Plan, PlanFormat, PlannedAction,
};
