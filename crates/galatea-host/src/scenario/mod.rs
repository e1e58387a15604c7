//! Scenarios: conversations with an agent whose model answers by a script, and what is expected of each
//! answer. What `elizaos test` and `elizaos scenario` do, without a network and without a key.

mod compare;
mod file;
mod run;
mod script;
#[cfg(test)]
mod tests;

pub use compare::Difference;
pub use file::{Expect, Rule, Scenario, Step, read};
pub use run::{Failed, Outcome, run};
