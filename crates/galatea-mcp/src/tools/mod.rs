//! Tools of servers: cleaned, pinned, named and found.

pub(crate) mod clean;
mod hash;
pub(crate) mod name;
pub(crate) mod pin;
pub(crate) mod search;
mod tool;

pub use tool::Tool;
pub(crate) use tool::cost;
