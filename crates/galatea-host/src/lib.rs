//! Makes agents out of settings and character files, and runs them: the library behind the program
//! `galatea`, for programs that contain agents of their own.
//!
//! Nothing in it belongs to a whole process: no allocator, log, panic hook, signal handler, exit
//! code, or text on a terminal. A document is parsed in a child process, whose program the caller
//! names ([`agents::library::Shared`]).

pub mod agents;
pub mod catalogue;
pub mod characters;
pub mod config;
mod galatea;
mod log_ring;
pub mod look;
pub mod models;
pub mod ops;
pub mod platforms;
mod plugin_list;
pub mod process;
pub mod readiness;
pub mod report;
pub mod scenario;
pub mod storage;

pub use agents::Platforms;
pub use galatea::{
    AddAgent, Agent, AgentHealth, AgentLimits, AgentSource, Answering, Builder, Callbacks, Galatea,
    KeyCheck, Listener, Meeting, SystemStatus,
};
pub use platforms::{Answer, Message, Person, Piece};

/// The examples of the guide are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Guide;

/// Entry points of the fuzzer (`fuzz/`).
#[cfg(feature = "fuzz")]
pub mod fuzz {
    pub use crate::config::fuzz::dotenv;
}
