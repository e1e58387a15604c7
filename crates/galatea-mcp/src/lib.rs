//! The client and the server of the Model Context Protocol: tools of other programs as actions of an
//! agent, and an agent as tools for other programs.
//!
//! A server's words are hostile. Its owner approves its command or address and each of its tools as it
//! is; what changes is off until then. Its process is confined and leaves nothing behind, its answers
//! are bounded while they are read, and its failures are the model's to read.

mod actions;
pub mod child;
mod client;
pub mod config;
pub mod login;
mod outcome;
pub mod places;
mod plugin;
mod probe;
pub mod serve;
mod tools;

pub use actions::menu::budget;
pub use client::{
    Surroundings,
    listing::{Item, Listing},
    server::{Offer, Server},
    view::{Phase, ServerView},
};
pub use outcome::Outcome;
pub use plugin::{AgentServers, plugin_name};
pub use probe::{Probed, probe};
pub use tools::{
    Tool,
    pin::{Approval, Pinned},
};
